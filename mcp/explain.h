/*
 * Denials in words for a model: behind the output of a command, in lines of our own that begin with "[Denied by the sandbox: ". Lines
 * about limits (bounds.h) follow them.
 */
#pragma once

#include "mcp/tool.h"

/*
 * Adds to @lines what was denied to the command of @res: the system calls that the filter refused, and, when it failed, well-known error
 * messages in its output that this sandbox is the reason for. Each is said once, only when it is true for this sandbox, and
 * never with a word of the output. So are the limits that it felt. The last line has no line break; there is none when there is
 * nothing to tell, and lines for which @lines has no room are left out. Refused calls go into the _meta of the result of @call too.
 */
void explain_command(struct buf *lines, struct tool_call *call, const struct exec_result *res);

/* Whether the command of @res ended in another way than with status 0. */
bool explain_has_failed(const struct exec_result *res);

/* Whether what was kept of its output holds @sign. */
bool explain_output_has(const struct exec_result *res, const char *sign);

/*
 * Why a path of the workspace cannot be changed (EROFS, EBUSY), to go behind "File 'x' "; NULL for any other @errnum. The text
 * lives until the next call on the same thread.
 */
const char *explain_path(const struct facts *facts, int errnum);
