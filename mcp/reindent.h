/*
 * Giving a replacement the indentation of the lines it replaces.
 */
#pragma once

#include <stddef.h>

#include "mcp/lines.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

/*
 * Appends @new_lines to @out with the indentation of the place: @found are the file's lines that matched @old_lines one
 * by one, @file is all of the file. Lines are joined by @eol, without one behind the last. Blank lines become empty. 0
 * or -ENOMEM.
 */
int reindent(struct buf *out, const struct lines *file, const struct line *found, const struct lines *old_lines,
	     const struct lines *new_lines, const char *eol) _must_check_;
