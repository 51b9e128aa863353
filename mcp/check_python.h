/*
 * Python's own opinion about a Python file: the sandbox's interpreter compiles it, without running or importing
 * anything.
 */
#pragma once

#include <stddef.h>

#include "mcp/check.h"

struct tool_call;

enum { PYTHON_TIMEOUT_MS = 10 * 1000 };

/* Without an interpreter, after a timeout or a crash the verdict is CHECK_UNKNOWN. Blocks: worker threads only. */
void check_python(struct tool_call *call, const char *data, size_t len, struct check_result *res);
