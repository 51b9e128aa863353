/*
 * A text as an array of lines. A line ends at LF and nowhere else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"

enum { LINES_MAX = 1000000 };

struct line {
	const char *p;      /* in the text */
	size_t len;         /* with the line end, if it has one */
	size_t indent;      /* bytes of white space in front */
	size_t core;        /* bytes of what is between the white space at both ends; 0 for a blank line */
	uint64_t hash;      /* of the core */
};

struct lines {
	struct line *at;
	size_t count;
};

/* 0, -E2BIG for more than LINES_MAX lines, or -ENOMEM. The text must outlive the array. */
int lines_split(struct lines *l, const char *text, size_t len) _must_check_;
void lines_done(struct lines *l);

/* Whether two lines are equal but for white space at their ends. */
bool lines_same_core(const struct line *a, const struct line *b);

/* Columns of the indentation, with a tab stop at every eighth. */
size_t lines_columns(const struct line *l);
