/*
 * What an IPC namespace holds in its System V tables: shared memory, messages, semaphores. It is memory that no process need have mapped.
 * The kernel tells a process the sums of the namespace that it is in, so init goes there for a moment.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/attr.h"

struct watch_ipc {
	int ns_fd; /* the namespace; -EBADF: that of the process itself, or none */
	bool is_own;
	uint64_t shared, others; /* bytes at the last look: shared memory; messages and semaphores */
};

#define WATCH_IPC_NONE { .ns_fd = -EBADF }

/* The IPC namespace of the process itself: the descriptor of it, to go back to. 0 or -errno. */
int watch_ipc_open_home(int *ret_home_fd, int proc_fd) _must_check_;

/* Goes into a new IPC namespace, to be watched with @ipc. Needs CAP_SYS_ADMIN. 0, or -errno: then the process is where it was. */
int watch_ipc_enter(struct watch_ipc *ipc, int proc_fd) _must_check_;

/* Back to the namespace of the beginning. 0 or -errno. */
int watch_ipc_leave(int home_fd) _must_check_;

/* Measures. What cannot be had is 0. */
void watch_ipc_look(struct watch_ipc *ipc, int home_fd);

void watch_ipc_close(struct watch_ipc *ipc);
