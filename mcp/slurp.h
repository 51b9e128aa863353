/*
 * A whole file of the workspace in memory, with a cap.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

#include "mcp/ws.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum { SLURP_MAX = 64 * 1024 * 1024 };

/*
 * Reads the regular file at @place into @content (which must allow SLURP_MAX). *@ret_st, unless NULL, describes what
 * was read. 0, -EFBIG when it has SLURP_MAX bytes or more, -EINVAL when it is not a regular file, or another negative
 * errno.
 */
int slurp_place(const struct ws_place *place, struct buf *content, struct stat *ret_st) _must_check_;
