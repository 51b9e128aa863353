/*
 * How cloche-compile locks itself in, before it reads a byte of what somebody else wrote.
 */
#pragma once

#include "runtime/base/attr.h"

/*
 * Keeps the standard streams and nothing else: no file to open, no process to start, no socket, bounded memory and time, no
 * identity of root. What is missing in this kernel is left out, but the system-call filter is required. 0 or -errno.
 */
int confine_self(void) _must_check_;
