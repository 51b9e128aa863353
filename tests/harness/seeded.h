/*
 * Numbers for tests that try many inputs: always the same for the same seed, so that what fails once fails again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct seeded {
	uint64_t state; /* never 0 */
};

/* The next of 2^64 - 1 numbers (xorshift). */
static inline uint64_t seeded_next(struct seeded *s)
{
	s->state ^= s->state << 13;
	s->state ^= s->state >> 7;
	s->state ^= s->state << 17;
	return s->state;
}

/* A number from 0 to @bound - 1. */
static inline size_t seeded_below(struct seeded *s, size_t bound)
{
	return (size_t) (seeded_next(s) % bound);
}

/* A string of up to @max characters of @alphabet; @text has room for one more. */
static inline void seeded_text(struct seeded *s, const char *alphabet, size_t letters, char *text, size_t max)
{
	size_t len = seeded_below(s, max + 1);

	for (size_t i = 0; i < len; i++)
		text[i] = alphabet[seeded_below(s, letters)];
	text[len] = '\0';
}
