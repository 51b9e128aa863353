/*
 * Holds commands to a share of the CPUs, where no cgroup does: init measures the CPU time they use, stops them (SIGSTOP) when their
 * share is used up and lets them go on (SIGCONT) when there is some again. Approximate by nature. What a command's own job control
 * has stopped stays stopped.
 *
 * A share fills up with time and is emptied by use; what was used too much is paid back. So over seconds the share is exact.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

/* Nanoseconds of CPU time that may be used now. */
struct throttle_share {
	uint64_t cpu_milli; /* thousandths of a CPU; 0 = no limit */
	int64_t left;       /* less than 0: to be paid back */
	bool is_spent;      /* nothing was left, and there is not enough again */
};

/* One command: @root and everything that descends from it. */
struct throttle_command {
	pid_t root; /* 0: unused; 1: everything but this process itself */
	struct throttle_share share;
	int64_t began_us;
	bool held;        /* is stopped now */
	uint64_t held_us; /* for how long it was, all in all */
	uint64_t used_ns; /* CPU time since its start */
	uint64_t since_ns, certain_ns; /* while that is measured */
	uint64_t secret_ns;            /* CPU time that nothing shows, by samples */
	uint64_t sampled_ns;           /* at this tick */
	struct {
		uint64_t used_before_ns, sampled_ns;
		unsigned int ticks;
	} window; /* in which samples are compared with what was measured */
};

struct throttle {
	struct throttle_share all; /* of all commands together */
	int proc_fd;               /* borrowed */
	unsigned int cpus;         /* of the machine that can be had */
	int64_t last_us;           /* of the last tick */
	uint64_t used_ns;          /* CPU time of all commands that there were */
};

/* @proc_fd: the watchdog's, borrowed. @cpu_milli: of all commands together, 0 = no limit; a limit of all CPUs there are is none. */
void throttle_open(struct throttle *t, int proc_fd, uint64_t cpu_milli);

/* A command has begun, which may use @cpu_milli by itself (0: no limit but that of all). */
void throttle_begin(const struct throttle *t, struct throttle_command *c, pid_t root, uint64_t cpu_milli);

/*
 * Measures, stops and lets go on. Returns the milliseconds after which it is to be called again, or -1 when nothing is limited or no
 * command is there. To be called when a command has begun, too.
 */
int throttle_tick(struct throttle *t, struct throttle_command *commands, size_t count);
