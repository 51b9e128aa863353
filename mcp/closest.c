/*
 * Where a text that was not found might have been meant: see closest.h. Pure functions; only for messages.
 *
 * First each line of the wanted text that occurs in the file (but for white space at its ends) votes for the place the
 * whole text would then have. When no line occurs at all, the longest one is compared with every line of the file by
 * its pairs of characters.
 */
#include "mcp/closest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/text.h"

enum {
	CLOSEST_VOTES_MAX = 2000000,    /* pairs of lines counted */
	CLOSEST_WANTED_MAX = 2000,      /* lines of the wanted text that vote */
	CLOSEST_WEIGHT_MAX = 40,        /* bytes of a line that count for its vote */
	CLOSEST_BYTES_MAX = 8 * 1024 * 1024, /* of the file compared by pairs */
	CLOSEST_COMPARED_MAX = 400,     /* bytes of a line compared by pairs */
	CLOSEST_PAIRS = 1024,           /* a power of two */
	CLOSEST_LIKE_PERCENT = 55,
};

/* --- votes -------------------------------------------------------------------------------------------------------- */

struct ballot {
	uint64_t hash;
	size_t line; /* of the wanted text */
};

static int by_hash(const void *a, const void *b)
{
	const struct ballot *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash ? 1 : x->line < y->line ? -1 : x->line > y->line;
}

static size_t first_ballot(const struct ballot *b, size_t count, uint64_t hash)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (b[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Fills @ballots (room for CLOSEST_WANTED_MAX) with the lines of @wanted that vote, sorted. Returns their number. */
static size_t hand_out(const struct lines *wanted, struct ballot *ballots)
{
	size_t count = 0;

	for (size_t i = 0; i < wanted->count && count < CLOSEST_WANTED_MAX; i++)
		if (wanted->at[i].core > 0)
			ballots[count++] = (struct ballot) { wanted->at[i].hash, i };
	qsort(ballots, count, sizeof(*ballots), by_hash);
	return count;
}

/* Adds up in @weight, one for each line of @file, what speaks for it. Returns the first heaviest line, or SIZE_MAX. */
static size_t count_votes(const struct lines *file, const struct lines *wanted, const struct ballot *ballots,
			  size_t count, uint32_t *weight)
{
	size_t votes = 0, best = SIZE_MAX;

	for (size_t i = 0; i < file->count && votes < CLOSEST_VOTES_MAX; i++) {
		const struct line *l = &file->at[i];
		for (size_t b = first_ballot(ballots, count, l->hash); b < count && ballots[b].hash == l->hash;
		     b++, votes++) {
			size_t begin = i - MIN(i, ballots[b].line);
			if (!lines_same_core(l, &wanted->at[ballots[b].line]))
				continue;
			weight[begin] += (uint32_t) MIN(l->core, (size_t) CLOSEST_WEIGHT_MAX);
			if (best == SIZE_MAX || weight[begin] > weight[best])
				best = begin;
		}
	}
	return best;
}

/* The line of the file where the wanted text begins by most votes, or SIZE_MAX. */
static size_t vote(const struct lines *file, const struct lines *wanted)
{
	struct ballot *ballots = calloc(CLOSEST_WANTED_MAX, sizeof(*ballots));
	uint32_t *weight = calloc(file->count + 1, sizeof(*weight));
	size_t best = SIZE_MAX;

	if (ballots && weight)
		best = count_votes(file, wanted, ballots, hand_out(wanted, ballots), weight);
	free(ballots);
	free(weight);
	return best;
}

/* --- pairs of characters ------------------------------------------------------------------------------------------ */

struct pairs {
	unsigned short seen[CLOSEST_PAIRS];
	size_t total;
};

/* Counts the pairs of characters of a line, white space left out. */
static void count_pairs(struct pairs *p, const struct line *l)
{
	const char *s = l->p + l->indent;
	unsigned char before = 0;

	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < l->core && i < CLOSEST_COMPARED_MAX; i++) {
		unsigned char c = (unsigned char) s[i];
		if (c == ' ' || c == '\t')
			continue;
		p->seen[(before * 31u + c) & (CLOSEST_PAIRS - 1)]++;
		p->total++;
		before = c;
	}
}

/* How alike two lines are, in percent (Dice's coefficient). */
static size_t likeness(const struct pairs *a, const struct pairs *b)
{
	size_t shared = 0;

	if (a->total + b->total == 0 || 3 * MIN(a->total, b->total) < MAX(a->total, b->total))
		return 0;
	for (size_t i = 0; i < CLOSEST_PAIRS; i++)
		shared += (size_t) MIN(a->seen[i], b->seen[i]);
	return 200 * shared / (a->total + b->total);
}

static size_t most_alike(const struct lines *file, const struct lines *wanted)
{
	size_t longest = 0, best = SIZE_MAX, best_likeness = CLOSEST_LIKE_PERCENT - 1, bytes = 0;
	struct pairs mine, theirs;

	for (size_t i = 0; i < wanted->count; i++)
		if (wanted->at[i].core > wanted->at[longest].core)
			longest = i;
	if (wanted->count == 0 || wanted->at[longest].core == 0)
		return SIZE_MAX;
	count_pairs(&mine, &wanted->at[longest]);
	for (size_t i = 0; i < file->count && bytes < CLOSEST_BYTES_MAX; i++) {
		const struct line *l = &file->at[i];
		bytes += MIN(l->core, (size_t) CLOSEST_COMPARED_MAX) + CLOSEST_PAIRS / 8;
		if (l->core == 0)
			continue;
		count_pairs(&theirs, l);
		size_t like = likeness(&mine, &theirs);
		if (like > best_likeness) {
			best_likeness = like;
			best = i - MIN(i, longest);
		}
	}
	return best;
}

/* --- the message -------------------------------------------------------------------------------------------------- */

static void show(struct buf *why, size_t number, char mark, const struct line *l)
{
	buf_addf(why, "\n%5zu %c ", number, mark);
	text_add_line(why, l->p, l->len, CLOSEST_LINE_MAX);
}

void closest_explain(struct buf *why, const struct lines *file, const struct lines *wanted)
{
	size_t begin = vote(file, wanted), same = 0;

	if (begin == SIZE_MAX)
		begin = most_alike(file, wanted);
	if (begin == SIZE_MAX) {
		buf_add_str(why, " Nothing in the file is similar: read it again with read_file.");
		return;
	}
	size_t end = MIN(begin + wanted->count, file->count);
	for (size_t i = begin; i < end; i++)
		same += lines_same_core(&file->at[i], &wanted->at[i - begin]) ? 1 : 0;
	buf_addf(why, " The closest place is line %zu", begin + 1);
	if (end > begin + 1)
		buf_addf(why, " to %zu (%zu of %zu lines are the same)", end, same, wanted->count);
	buf_add_str(why, "; '-' is 'old', '+' is the file:");
	size_t shown = 0;
	for (size_t i = begin; i < end && shown < CLOSEST_SHOWN_MAX; i++, shown++) {
		if (lines_same_core(&file->at[i], &wanted->at[i - begin])) {
			show(why, i + 1, ' ', &file->at[i]);
			continue;
		}
		show(why, i + 1, '-', &wanted->at[i - begin]);
		show(why, i + 1, '+', &file->at[i]);
	}
	if (begin + shown < end)
		buf_add_str(why, "\n      ...");
}
