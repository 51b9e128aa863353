/*
 * Ending sandboxes from outside, for `cloche kill`: by asking their supervisors, then by force.
 *
 * A process id is a number that may belong to somebody else a moment later. So a descriptor of the process is opened first, and
 * then the kernel is asked once more which process holds the lock of the record: when that is still the same, the descriptor is
 * of this supervisor, and stays so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/life/state.h"

enum {
	STOP_AT_ONCE_MAX = 128,   /* sandboxes that are ended side by side: two descriptors each */
	STOP_PATIENCE_MS = 5000,  /* between asking and killing; `cloche mcp` itself gives its server two seconds */
	STOP_KILL_MS = 5000,      /* for the kernel to take a killed sandbox down */
};

enum stop_result {
	STOP_ENDED,   /* it ended when asked */
	STOP_KILLED,
	STOP_GONE,    /* it was over before anything was sent */
	STOP_STUCK,   /* killed, but something of it has not ended in time */
	STOP_REFUSED, /* see errnum */
};

struct stop_target {
	int dir_fd;  /* owned */
	char id[STATE_ID_LEN + 1];
	pid_t pid;   /* of the supervisor */
	pid_t init;  /* of the sandbox, by its own account; waited for when it really is a child of the supervisor */
	int pid_fd, init_fd; /* owned */
	enum stop_result result;
	int errnum;
};

/* Fills @target for the record of a living sandbox. 0 or -errno. */
int stop_prepare(struct stop_target *target, int dir_fd, const struct state_entry *entry) _must_check_;
void stop_done(struct stop_target *target);

/* Ends @count sandboxes (at most STOP_AT_ONCE_MAX), without asking when @by_force, and stores what became of each. */
void stop_all(struct stop_target *targets, size_t count, bool by_force);
