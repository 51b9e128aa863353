/*
 * Shared memory that no process shows: files in memory whose descriptor lies in the queue of a socket, or of which only a part is mapped
 * and nothing open; anonymous memory whose pages a process dropped, or that a child filled which has ended.
 *
 * Nothing tells how much it is. But the kernel tells how much shared memory there is on the whole machine. By as much as that has grown
 * since the commands began, beyond what they are known to have, they are blamed - only if they have a place where it may be.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/init/watch_processes.h"

struct watch_hidden {
	uint64_t others; /* bytes of shared memory on this machine that are not the sandbox's */
	uint64_t most;   /* the sandbox cannot have more than this: what there is on the machine, in memory and swapped out */
	bool is_sought;  /* the last look found something unexplained: queues of sockets are worth a look */
};

/* When the first command begins: the sandbox has @ours bytes of shared memory, in folders. */
void watch_hidden_begin(struct watch_hidden *h, int proc_fd, uint64_t ours);

/*
 * After a look that found @ours bytes of shared memory of the sandbox, which may have @limit bytes in all (0: any): adds what may be hidden
 * to the process of @t that has a place for it, unless it is little. Unless @exact, @ours may be too much.
 */
void watch_hidden_add(struct watch_hidden *h, int proc_fd, struct watch_table *t, uint64_t ours, uint64_t limit, bool exact);
