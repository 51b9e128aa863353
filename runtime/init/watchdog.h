/*
 * Watches how much memory the commands use, where no cgroup does: init looks from time to time, the more often the nearer they
 * are to a limit, and kills. Approximate by nature: what is allocated between two looks is seen at the next one.
 *
 * What is looked at, each in a module of its own: processes (watch_processes.h), folders in memory (watch_tmpfs.h), open files
 * (watch_files.h), System V tables (watch_ipc.h), sockets (watch_sockets.h), and memory that none of these shows (watch_hidden.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/init/watch_hidden.h"
#include "runtime/init/watch_ipc.h"
#include "runtime/init/watch_tmpfs.h"

struct watchdog {
	uint64_t limit;        /* bytes of all commands together; 0 = no such limit */
	int proc_fd;           /* a procfs in which nobody can hide; -EBADF: nothing is watched */
	uint64_t bytes_per_ms; /* how fast memory can be taken: what the time between two looks is computed from */
	uint64_t total;        /* bytes found by the last look, those of no command included */
	uint64_t in_folders;   /* of them, those in folders in memory */
	unsigned int commands; /* that are alive */
	int64_t paused_ms;     /* when the last pause was asked for, on clock_now_ms() */
	uint64_t cost_us;      /* CPU time that the last look took */
	uint64_t credit_us;    /* for how long it may look without a rest */
	int64_t peaks_ms;      /* from when on exact figures are read for a peak, on clock_now_ms() */
	struct watch_tmpfs folders;
	int home_fd; /* init's own IPC namespace */
	struct watch_hidden hidden;
};

/* One command: @root and everything that descends from it. All zero but @root and @limit: watchdog_begin() does it. */
struct watchdog_tree {
	pid_t root;     /* 0: unused; 1: everything but this process itself */
	uint64_t limit; /* bytes of this command alone; 0 = no such limit */
	uint64_t bytes; /* found by the last look */
	uint64_t peak;  /* the most that was found */
	uint32_t tasks; /* processes and threads at the last look */
	uint32_t tasks_peak;
	uint64_t folders_before; /* bytes in folders in memory when it began */
	uint64_t folders;        /* of @bytes, what they grew by while it was the only command */
	struct watch_ipc ipc;
};

#define WATCHDOG_TREE_NONE { .ipc = WATCH_IPC_NONE }

/*
 * Prepares to watch over @limit bytes (0: only over limits of single commands, and what they use). Needs init's capabilities.
 * To be called before init's filter is loaded. 0 or -errno.
 */
int watchdog_open(struct watchdog *w, uint64_t limit) _must_check_;

/*
 * Around the start of a command that shall have an IPC namespace of its own. watchdog_enter() puts the calling process into a new one
 * and keeps it open in @tree: then the command is to be cloned without CLONE_NEWIPC. watchdog_leave() goes back. 0, or
 * -errno: then nothing has changed.
 */
int watchdog_enter(struct watchdog *w, struct watchdog_tree *tree) _must_check_;
void watchdog_leave(struct watchdog *w);

/* A command has begun: @tree is filled, but for what watchdog_enter() has put there. With a @root of 1 there was none. */
void watchdog_begin(struct watchdog *w, struct watchdog_tree *tree, pid_t root, uint64_t limit);

/* A command is over: lets go of what @tree holds, and makes it unused. */
void watchdog_end(struct watchdog *w, struct watchdog_tree *tree);

/* Sums up the memory of each of @count trees. Returns that of all together, also in @w->total; with what belongs to no tree. */
uint64_t watchdog_look(struct watchdog *w, struct watchdog_tree *trees, size_t count);

/*
 * The command that is to be killed after a look: one that is above its own limit, or, when all together are above theirs, the one
 * with the most. NULL when none is. With *@ret_all it is told whether it was for the limit of all.
 */
struct watchdog_tree *watchdog_offender(const struct watchdog *w, struct watchdog_tree *trees, size_t count, bool *ret_all);

/*
 * Milliseconds until the next look, when the last one took @w->cost_us: half the time in which what is left could be filled.
 * On the whole, looking takes no more than a twentieth of the time, near a limit a quarter; and for a while what it did not take before.
 */
int watchdog_pause_ms(struct watchdog *w, const struct watchdog_tree *trees, size_t count);

/* Processes and threads that are alive now, without those of this process. Reads them all: not for every loop. */
uint32_t watchdog_tasks(const struct watchdog *w);
