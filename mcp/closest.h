/*
 * Where a text that was not found might have been meant.
 */
#pragma once

#include "mcp/lines.h"
#include "runtime/base/buf.h"

enum {
	CLOSEST_SHOWN_MAX = 12,   /* lines of the place in a message */
	CLOSEST_LINE_MAX = 200,   /* bytes of each */
};

/*
 * Appends to @why the place of @file that is most like @wanted, with line numbers and what differs; or that there is
 * none. Takes time in proportion to the file, up to a fixed amount of work.
 */
void closest_explain(struct buf *why, const struct lines *file, const struct lines *wanted);
