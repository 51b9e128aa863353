/*
 * The way from a socket's name to a connection that may be trusted.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/attr.h"
#include "runtime/spec/scopemsg.h"

/*
 * Connects to the first of @words ("bus=PATH", "direct=PATH"; NULL ends them) that takes a connection, and makes sure that its
 * listener is of our own identity and in our PID namespace: for another one, the number of a process means another process. Not
 * one byte goes to a listener that is not. Returns the descriptor, owned by the caller, and *@ret_direct: no message bus in
 * between; or a negative errno with @answer filled.
 */
int connect_manager(char *const *words, bool *ret_direct, struct scopemsg_answer *answer) _must_check_;
