/*
 * Settings to be made in a configuration file of a program that is not ours (an MCP client): how they arrive, ahead of the text of
 * the file. The form is in spec/compilemsg.h.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

enum {
	EDITS_MAX = 64,      /* of one file */
	EDIT_DEPTH_MAX = 6,  /* names of one path */
	EDIT_NEST_MAX = 64,  /* objects and arrays in one another in a file */
};

struct edit {
	const char *path[EDIT_DEPTH_MAX]; /* names of members, from the top; letters, digits, '-' and '_' only */
	size_t depth;
	const char *value; /* JSON on one line that is TOML too: a string, a number, an array of strings */
};

struct edits {
	struct edit list[EDITS_MAX];
	size_t count;
	const char *text; /* of the file */
	size_t len;
};

/* Makes the settings in @text, as far as it is valid. 0, or -errno with @err filled. */
typedef int (*edits_fn)(const struct edits *edits, struct buf *text, struct err *err);

/* Takes @input apart, has @edit make the settings in the text, and adds the new text to @out. 0, or -errno with @err filled. */
int edits_run(const char *input, size_t len, edits_fn edit, struct buf *out, struct err *err) _must_check_;

/* The number of the line, from 1, that @at is in. */
unsigned int edits_line(const char *text, size_t at);

/* What ends the lines of @text: that of its first line, or a newline. */
const char *edits_newline(const char *text, size_t len);

/* The blanks at the front of the line that @at is in; their number in *@ret_len. */
const char *edits_indent(const char *text, size_t at, size_t *ret_len);

/* Puts the @add_len bytes at @add in the place of those from @from to @to. */
void edits_replace(struct buf *text, size_t from, size_t to, const char *add, size_t add_len);
