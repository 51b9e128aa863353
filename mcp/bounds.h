/*
 * The limits that a command of a tool call has: what the call asks for, and lines for the model about those that were felt. They
 * stand in the answer as "[Limit of the sandbox: …]", and hold no word of a command.
 */
#pragma once

#include "mcp/tool.h"
#include "runtime/spec/limits_text.h"

#define BOUNDS_BEFORE "[Limit of the sandbox: "
#define BOUNDS_AFTER "]"

/* Reads the arguments memory, cpus and pids. False when the call was failed because one of them makes no sense. */
bool bounds_take(struct tool_call *call, struct initmsg_limits *ret) _must_check_;

/* What limits_text.h needs to know of the command of @res; points into @res. */
struct limits_told bounds_told(const struct tool_call *call, const struct exec_result *res);

/*
 * Adds a line for each limit but memory's kill that the command of @res felt, each ending in a line break: processes, CPU time, and
 * what was asked for and could not be given; when it failed, also open files and full folders in memory.
 */
void bounds_add_lines(struct buf *lines, const struct tool_call *call, const struct exec_result *res);
