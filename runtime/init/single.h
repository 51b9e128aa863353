/*
 * The one command of `cloche run`.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/init/command.h"
#include "runtime/init/govern.h"

/*
 * Receives the SPAWN request that waits on @control_fd, runs it as a child and reports its end there. Ends the process, and
 * the sandbox with it, when the command has ended or the supervisor hangs up. @signal_fd is a signalfd for SIGCHLD.
 */
_noreturn_ void single(int control_fd, int signal_fd, const struct command_limits *limits, const struct seccomp_program *filter,
		       const char *const *env, struct govern *govern);
