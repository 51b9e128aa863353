/*
 * The strict pre-scan in front of cJSON.
 *
 * One pass over a line validates it as exactly one JSON value and writes a repaired copy that cJSON understands as its
 * sender meant it: invalid UTF-8, lone surrogate escapes and U+0000 become U+FFFD, control characters in strings are
 * escaped. On the way it keeps what cJSON would lose: the request id, the progress token and the id of a cancellation
 * as raw JSON text (cJSON turns 9007199254740993 into another number), duplicate members where they could confuse, and
 * where a U+0000 stood.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/buf.h"

enum {
	SCAN_DEPTH_MAX = 128,             /* nesting of arrays and objects */
	SCAN_VALUES_MAX = 100000,         /* values in one message: bounds the tree's memory */
	SCAN_MEMBERS_MAX = 64,            /* members of an envelope, its params and their _meta */
	SCAN_RAW_MAX = 1024,              /* bytes of an id or token, with its quotes */
	SCAN_NUMBER_MAX = 60,             /* characters of a number: what cJSON reads at once */
	SCAN_TEXT_MAX = 32 * 1024 * 1024, /* bytes of the repaired copy */
	SCAN_NAME_MAX = 64,
};

enum scan_result {
	SCAN_OK,
	SCAN_SYNTAX, /* not one JSON value */
	SCAN_SIZE,   /* more than a message may hold */
};

enum scan_type {
	SCAN_ABSENT,
	SCAN_STRING,
	SCAN_NUMBER,
	SCAN_NULL,
	SCAN_OTHER,    /* true, false, an array or an object */
	SCAN_TOO_LONG, /* a string or number of more than SCAN_RAW_MAX bytes */
};

struct scan_raw {
	enum scan_type type;
	struct buf text; /* valid JSON text of a string or number as it was written */
};

struct scan {
	struct buf text;          /* the repaired copy; the three raw members are replaced by 0 in it */
	char top;                 /* first character of the value: '{' for an object */
	size_t values;            /* how many values there are, nested ones included */
	struct scan_raw id;       /* "id" */
	struct scan_raw token;    /* "params"."_meta"."progressToken" */
	struct scan_raw target;   /* "params"."requestId" */
	bool duplicate;           /* a member of the envelope, params or _meta is there twice */
	bool duplicate_id;        /* … and it is "id" */
	bool has_nul;             /* a string held U+0000 */
	char nul_name[SCAN_NAME_MAX + 1]; /* the first argument of tools/call it was in, or "" */
	const char *problem;      /* what is wrong, in a few words */
	size_t offset;            /* and where */
};

struct scan_slice {
	const char *p;
	size_t len;
};

/* Strips a byte order mark and the white space around the line; *@len 0 means there is nothing in it. */
void scan_trim(const char **line, size_t *len);

/*
 * Scans one message. Also when it fails, an id that was read before the problem is there. Release @out with scan_done()
 * in any case.
 */
enum scan_result scan_message(struct scan *out, const char *line, size_t len);

/* The same for any JSON value that is no message: no member is special. */
enum scan_result scan_value(struct scan *out, const char *text, size_t len);
void scan_done(struct scan *s);

/*
 * Finds the elements of the array that @line is, without repairing anything. *@ret_count is their number, which may
 * exceed @max; only the first @max are stored. @out tells problem and offset, and holds nothing to be released.
 */
enum scan_result scan_split(struct scan *out, const char *line, size_t len, struct scan_slice *slices, size_t max,
			    size_t *ret_count);
