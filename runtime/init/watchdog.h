/*
 * Watches how much memory the commands use, where no cgroup does: init looks from time to time, the more often the nearer they
 * are to the limit, and kills. Approximate by nature: what is allocated between two looks is seen at the next one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

struct watchdog {
	uint64_t limit; /* bytes of all commands together; 0 = not watched */
	int proc_fd;
	uint64_t bytes_per_ms; /* how fast memory can be taken: what the time between two looks is computed from */
};

/* One command: @root and everything that descends from it. */
struct watchdog_tree {
	pid_t root;     /* 0: unused; 1: everything but this process itself */
	uint64_t bytes; /* found by the last look */
};

/* Prepares to watch over @limit bytes. Needs init's capability. 0 or -errno; with a @limit of 0 nothing is opened. */
int watchdog_open(struct watchdog *w, uint64_t limit) _must_check_;

/* Sums up the memory of each of @count trees. Returns that of all together, those of no tree included. */
uint64_t watchdog_look(struct watchdog *w, struct watchdog_tree *trees, size_t count);

/* Milliseconds until the next look, when @used bytes were found and the look took @cost_us microseconds. */
int watchdog_pause_ms(const struct watchdog *w, uint64_t used, uint64_t cost_us);
