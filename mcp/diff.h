/*
 * Unified diffs that patch(1) applies.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum {
	DIFF_CONTEXT = 3,
	DIFF_EDITS_MAX =
		1000, /* line changes looked for one by one; beyond, the changed region is replaced as a whole */
	DIFF_NOTE_MAX = 200, /* bytes of the last line in brackets */
};

/*
 * Appends the difference from @a to @b of the file @name (relative, used behind a/ and b/). Nothing is added for equal
 * texts. What does not fit into @max bytes (at least DIFF_NOTE_MAX) is left out by whole hunks, and a last line in brackets tells
 * how many and where to look; the rest still applies. 0 or -ENOMEM.
 */
int diff_unified(struct buf *out, const char *name, const struct buf *a, const struct buf *b, size_t max) _must_check_;
