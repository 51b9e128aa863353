/*
 * What holds commands to their limits and tells what they used: the one interface for serve.c and single.c.
 *
 * Two ways, and nobody above knows which: a cgroup for each command (leaf.h), exact; or, where the host gives none, init looks at
 * its processes from time to time (watchdog.h, throttle.h), approximate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/clock.h"
#include "runtime/init/command.h"
#include "runtime/init/leaf.h"
#include "runtime/init/throttle.h"
#include "runtime/init/watchdog.h"
#include "runtime/spec/initmsg.h"

enum { GOVERN_COMMANDS = INITMSG_COMMANDS_MAX };

/* What the launcher decided. */
struct govern_wishes {
	struct initmsg_limits sandbox; /* of all commands together; 0: none */
	struct initmsg_limits command; /* of one, unless it asks for others; 0: as the sandbox */
	const char *const *folders;    /* in memory, beside those that every sandbox has */
	size_t folder_count;
	bool shared_proc;              /* /proc shows processes that are not the sandbox's */
	bool single;                   /* there is one command only, and init itself is its shim */
};

struct governed {
	bool alive;
	bool entered;      /* init is in the IPC namespace that it made for it */
	pid_t root;        /* its shim; 1: all but init */
	struct leaf *leaf; /* NULL: none */
	struct initmsg_limits limits;
	uint32_t tasks_before; /* in the sandbox when it began, which count for its RLIMIT_NPROC */
	enum initmsg_killed killed;
	struct timespec start;
};

struct govern {
	struct govern_wishes wishes;
	struct leaves leaves;
	bool watches, throttles; /* what init does itself */
	struct watchdog watchdog;
	struct throttle throttle;
	struct governed commands[GOVERN_COMMANDS];
	struct watchdog_tree trees[GOVERN_COMMANDS];     /* beside commands */
	struct throttle_command shares[GOVERN_COMMANDS]; /* the same */
	int64_t next_look_ms, next_tick_ms, next_sweep_ms; /* on clock_now_ms() */
	int64_t sweep_pause_ms; /* 0: no leaf is waited for */
};

/*
 * Prepares for commands, in cgroups when @node_fd is the sandbox's (INITMSG_CGROUP_FD, borrowed). To be called before init's filter is
 * loaded. 0 or -errno, also when there is such a cgroup and it cannot be used.
 */
int govern_open(struct govern *g, const struct govern_wishes *wishes, int node_fd) _must_check_;

/* How limits are held, for the server: "exact", "approximate", or NULL when there are none. */
const char *govern_manner(const struct govern *g);

/*
 * Before the start of the command in row @i, which wants @wanted (0: as usual; cut to the sandbox's): fills what @request needs for
 * it. 0, or -errno: then it is not to be started. govern_begun() follows in any case but that.
 */
int govern_begin(struct govern *g, size_t i, const struct initmsg_limits *wanted, struct command_request *request) _must_check_;

/* It was started: @root is its shim, or 1 for a single command. Negative: it could not be, and is forgotten. */
void govern_begun(struct govern *g, size_t i, pid_t root);

/* Kills it because of a KILL. */
void govern_kill(struct govern *g, size_t i);

/* Does what is due. Returns the milliseconds that poll(2) may wait for what comes next, or -1. */
int govern_tick(struct govern *g);

/* It has ended, as @report tells: fills metrics, limits, sandbox and killed of @exited, and forgets it. */
void govern_end(struct govern *g, size_t i, const struct command_report *report, struct initmsg_exited *exited);

/* It was refused after it had begun: forgets it. */
void govern_forget(struct govern *g, size_t i);

/* A shim was reaped: its cgroup may be empty now. */
void govern_reaped(struct govern *g);
