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
	DIFF_TEXT_MAX = 64 * 1024,
};

/*
 * Appends the difference from @a to @b of the file @name (relative, used behind a/ and b/). Nothing is added for equal
 * texts. What does not fit into DIFF_TEXT_MAX is left out by whole hunks, and a last line in brackets tells how many;
 * the rest still applies. 0 or -ENOMEM.
 */
int diff_unified(struct buf *out, const char *name, const struct buf *a, const struct buf *b) _must_check_;
