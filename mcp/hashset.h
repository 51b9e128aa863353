/*
 * A set of 64-bit hashes with a maximum: open addressing, no removal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashset {
	uint64_t *slot; /* 0 is a free one */
	size_t size;    /* of the table: a power of two, or 0 */
	size_t used;
	size_t max;     /* hashes that are remembered at the most */
};

#define HASHSET_INIT(maximum) { .slot = NULL, .size = 0, .used = 0, .max = (maximum) }

void hashset_done(struct hashset *set);

/*
 * Remembers @hash (not 0); true when it was there. Once the maximum is reached, or without memory, nothing is remembered
 * any more and nothing found.
 */
bool hashset_add(struct hashset *set, uint64_t hash);
