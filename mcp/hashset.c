/*
 * A set of hashes: see hashset.h. Pure functions.
 */
#include "mcp/hashset.h"

#include <stdlib.h>

enum { HASHSET_FIRST_SIZE = 64 };

void hashset_done(struct hashset *set)
{
	free(set->slot);
	*set = (struct hashset) HASHSET_INIT(set->max);
}

/* The slot that holds @hash, or the free one where it belongs. */
static uint64_t *find(uint64_t *slot, size_t size, uint64_t hash)
{
	size_t at = hash & (size - 1);

	while (slot[at] && slot[at] != hash)
		at = (at + 1) & (size - 1);
	return &slot[at];
}

static bool grow(struct hashset *set)
{
	size_t size = set->size ? set->size * 2 : HASHSET_FIRST_SIZE;
	uint64_t *slot = size / 2 <= set->max ? calloc(size, sizeof(*slot)) : NULL;

	if (!slot)
		return false;
	for (size_t i = 0; i < set->size; i++)
		if (set->slot[i])
			*find(slot, size, set->slot[i]) = set->slot[i];
	free(set->slot);
	set->slot = slot;
	set->size = size;
	return true;
}

bool hashset_add(struct hashset *set, uint64_t hash)
{
	/* Never more than half full, so that a search ends soon. */
	if (2 * (set->used + 1) > set->size && !grow(set))
		return false;
	uint64_t *slot = find(set->slot, set->size, hash);
	if (*slot)
		return true;
	*slot = hash;
	set->used++;
	return false;
}
