/*
 * One edit of search_and_replace: finding the place of a text and putting another there.
 *
 * 1. Exactly: `old` occurs once, anywhere in a line. LF in it matches CRLF and the other way round. 2. Else by lines:
 * as many lines as `old` has, each equal but for white space at its ends, at one place only. `new` is then put in with
 * the file's indentation (reindent.h).
 *
 * Bytes that are not replaced never change; `new` gets the line ends of its place. A byte order mark in front of the
 * file is not part of the text. Nothing is done when the place is not unique.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/buf.h"

enum {
	EDIT_PLACES_MAX = 20, /* line numbers in one message */
	EDIT_WHY_MAX = 16 * 1024,
};

struct edit {
	size_t index;     /* as messages count: from 0 */
	const char *file; /* its name in messages */
	const char *old_text, *new_text;
	size_t old_len, new_len;
};

enum edit_result {
	EDIT_FAILED, /* @why says so */
	EDIT_EXACT,
	EDIT_FUZZY,
};

/* Applies @e to @text (without a byte order mark). @text changes only on success. */
enum edit_result edit_apply(struct buf *text, const struct edit *e, struct buf *why);
