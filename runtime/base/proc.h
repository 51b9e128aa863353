/*
 * Processes: waiting for one, and what a new program expects of its signals. Nothing here allocates: fine between fork
 * and exec.
 */
#pragma once

#include <sys/types.h>

#include "runtime/base/attr.h"

/* Waits for the end of the child @pid and reaps it. *@ret_status, unless NULL, is as of waitpid(2). 0 or -errno. */
int proc_wait(pid_t pid, int *ret_status);

/* The exit status by which a shell tells an end: the program's own, or 128 + n for signal n. */
int proc_exit_status(int wait_status);

/* Signals as a new program expects them: none blocked, none ignored, whatever was inherited. 0 or -errno. */
int proc_reset_signals(void) _must_check_;

/*
 * In a child of @parent, in the same PID namespace: has it killed when its parent ends, and ends it now when that has happened by
 * now. A change of identity, or the exec of a set-user-ID program, undoes it. 0 or -errno.
 */
int proc_die_with_parent(pid_t parent) _must_check_;

/* Closes the calling process to others of its identity: no tracing, no /proc/PID/mem, no core. 0 or -errno. */
int proc_hide(void) _must_check_;
