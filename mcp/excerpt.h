/*
 * What an answer shows of a command's output: all of it, or its beginning and its end, where a compiler's or a test's
 * verdict stands, with a line between them that says what is left out and how to see it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mcp/tool.h"
#include "runtime/base/buf.h"

enum {
	EXCERPT_NOTICE_MAX = 420, /* bytes of the line between the parts */
	EXCERPT_ROOM_MIN = 2 * EXCERPT_NOTICE_MAX,
};

/*
 * Appends the output of @res to @text as valid UTF-8, at most @room bytes of it (at least EXCERPT_ROOM_MIN). Cuts at the ends of lines
 * where these are not too long. Returns whether something is left out.
 */
bool excerpt_add(struct buf *text, const struct exec_result *res, size_t room);
