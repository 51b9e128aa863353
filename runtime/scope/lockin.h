/*
 * How cloche-scope locks itself in, in three parts: before it connects, with the connection, and before it reads a byte of the bus.
 */
#pragma once

#include "runtime/base/attr.h"

/* No other descriptor, no new privileges, no core, not to be looked into, an end in time. 0 or -errno. */
int lockin_early(void) _must_check_;

/* No path, no process, no capability, little memory. 0 or -errno. */
int lockin_late(void) _must_check_;

/* The few system calls of a conversation (profiles/seccomp/scope.json). 0 or -errno. */
int lockin_filter(void) _must_check_;
