/*
 * A cgroup for each command: the kernel holds it and all that descends from it to its limits, and counts what it used.
 *
 * The launcher made the sandbox's node and, in it, `work` with the limits of all commands together; init makes work/cN for one
 * command, clones its first process straight into it, reads the counters at its end and removes it. Files: kern/cgroup.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/spec/initmsg.h"

enum {
	LEAVES_MAX = 2 * INITMSG_COMMANDS_MAX, /* of commands that are alive, and as many that do not go yet */
	LEAF_NAME_MAX = 16,
};

enum leaf_state {
	LEAF_NONE,
	LEAF_SPARE,   /* made in advance, so that a command does not wait for it */
	LEAF_USED,
	LEAF_LEAVING, /* to be removed */
};

struct leaf {
	enum leaf_state state;
	int fd; /* owned */
	char name[LEAF_NAME_MAX];
	struct initmsg_limits limits; /* as they are in its files; 0: none */
	uint64_t ooms_before, refused_before, throttled_before; /* of all commands together, when this one was taken */
};

struct leaves {
	int work_fd;              /* owned; -EBADF: there are no cgroups */
	unsigned int controllers; /* enum cgroup_controller: what holds in a leaf */
	uint32_t own_processes;   /* of init's in a leaf, beside the command's: its shim */
	uint64_t processes;       /* of all commands together, with what is init's of them; 0: no limit */
	uint64_t swap;            /* bytes that all commands may swap out, or CGROUP_MAX */
	uint32_t number;          /* of the last one that was made */
	uint32_t leaving;         /* rows in that state */
	struct leaf rows[LEAVES_MAX];
};

/*
 * Takes the groups below the directory @node_fd (borrowed; its owner keeps it open) into use, with @own_processes of init's in each
 * leaf. 0, or -errno: then there are none, and leaves_are_used() is false.
 */
int leaves_open(struct leaves *l, int node_fd, uint32_t own_processes) _must_check_;

bool leaves_are_used(const struct leaves *l);

/* Makes a spare leaf with @limits, unless there is one. What goes wrong shows when the next one is taken. */
void leaves_prepare(struct leaves *l, const struct initmsg_limits *limits);

/* Removes those of the leaving leaves that are empty; @l->leaving are left, for a later time. */
void leaves_sweep(struct leaves *l);

/*
 * A leaf for a command under @limits (0: none of that kind beside that of all together), without swap when @no_swap. Returns it, to
 * be given back with leaf_drop(), or NULL with errno set: EAGAIN when too many are in use.
 */
struct leaf *leaf_take(struct leaves *l, const struct initmsg_limits *limits, bool no_swap) _must_check_;

/* Kills all that is in it. */
void leaf_kill(const struct leaf *leaf);

/*
 * Puts what was used in it so far into @metrics: each figure that this kernel has; the others stay as they are. Returns why the
 * kernel killed something in it: INITMSG_KILLED_MEMORY, INITMSG_KILLED_MEMORY_ALL, or INITMSG_NOT_KILLED.
 */
enum initmsg_killed leaf_read(const struct leaves *l, const struct leaf *leaf, struct initmsg_metrics *metrics);

/* The command is over: the leaf goes with the first leaves_sweep() that finds it empty. */
void leaf_drop(struct leaves *l, struct leaf *leaf);
