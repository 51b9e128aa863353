/*
 * The tokens of the strict pre-scan: a cursor over JSON text that leaves a repaired copy behind. Only for scan.c.
 *
 * Each function leaves the cursor behind what it read and returns false after recording the first problem. What is
 * repaired is told in scan.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mcp/scan.h"
#include "runtime/base/buf.h"

struct scan_token {
	const char *start, *p, *end;
	struct buf *to;  /* where the copy goes, NULL = nowhere */
	bool verbatim;   /* escapes are kept as they are */
	bool nul;        /* set when a string held U+0000, unless verbatim */
	enum scan_result result;
	const char *problem; /* of the first failure, a constant, and where it was */
	size_t offset;
};

/* Records a problem at the cursor unless there is one. Returns false. */
bool scan_token_fail(struct scan_token *s, enum scan_result result, const char *problem);

void scan_token_emit(struct scan_token *s, const char *data, size_t len);
void scan_token_skip_space(struct scan_token *s);

/* Takes the character @c behind white space, with its copy. False, with no problem recorded, when it is not there. */
bool scan_token_take(struct scan_token *s, char c);

/* A string whose quote is at the cursor, a number whose first character is, and one of the words of JSON. */
bool scan_token_string(struct scan_token *s);
bool scan_token_number(struct scan_token *s);
bool scan_token_word(struct scan_token *s, const char *text);
