/*
 * Denials in words for a model: behind the output of a command, in lines of our own that begin with "[Denied by the sandbox: ".
 */
#pragma once

#include "mcp/tool.h"

/*
 * Adds what was denied to the command of @res: the system calls that the filter refused, and, when it failed, well-known error
 * messages in its output that this sandbox is the reason for. Each is said once, only when it is true for this sandbox, and
 * never with a word of the output. Adds nothing when nothing was denied. Refused calls go into the result's _meta too.
 */
void explain_command(struct tool_call *call, const struct exec_result *res);

/*
 * Why a path of the workspace cannot be changed (EROFS, EBUSY), to go behind "File 'x' "; NULL for any other @errnum. The text
 * lives until the next call on the same thread.
 */
const char *explain_path(const struct facts *facts, int errnum);
