/*
 * One sandbox's cgroup: made, limited, locked, removed, and swept when its supervisor was killed.
 *
 *     BASE/cloche-PID-RANDOM/   the node: a backstop around everything
 *       ├─ init/              cloche-init and cloche-mcp
 *       └─ work/              the totals of all commands; init makes one group for each below it
 *
 * The supervisor holds a lock (flock(2)) on the node's directory for its life. A node without processes whose lock can be had is
 * what a killed supervisor has left.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/kern/cgroup.h"
#include "runtime/spec/spec.h"

#define CGROUP_NODE_INIT "init"
#define CGROUP_NODE_WORK "work"

enum { CGROUP_NODE_NAME_MAX = 64 };

/* The identity of sandboxes, to whom a node is given that root makes. */
struct cgroup_owner {
	bool change; /* launched by real root: the rest counts */
	uid_t uid;
	gid_t gid;
};

struct cgroup_node {
	char name[CGROUP_NODE_NAME_MAX]; /* empty: there is none */
	int base_fd; /* owned: the group that it is in */
	int fd;      /* owned: carries the lock */
	int init_fd; /* owned: its group init/; closed when the sandbox's first process is in it */
	unsigned int controllers; /* those that are handed down in it */
	bool is_kept; /* others remove it: the janitor, who has the rights for it, or systemd with the scope around it */
};

#define CGROUP_NODE_NONE { .name = "", .base_fd = -EBADF, .fd = -EBADF, .init_fd = -EBADF }

/* Makes a node with its init/ below @base_fd (borrowed), and locks it. 0 or -errno; then nothing is left. */
int cgroup_node_make(struct cgroup_node *n, int base_fd) _must_check_;

/* Hands @controllers down from the node. Those that are now; best while no process is in it, which is fast. */
unsigned int cgroup_node_enable(struct cgroup_node *n, unsigned int controllers);

/* Where a limit was refused. */
struct cgroup_refusal {
	const char *group; /* below the node; "" is the node itself */
	const char *file;
};

/*
 * Makes work/ and sets the limits of @spec, as far as there are controllers for them. With @owner->change what init needs to make groups
 * in work/ is given away after that, and nothing else. 0, or -errno with @ret filled.
 */
int cgroup_node_limit(struct cgroup_node *n, const struct spec *spec, const struct cgroup_owner *owner,
		      struct cgroup_refusal *ret) _must_check_;

/* Nothing runs in it any more: removes it with all below it, unless the janitor does, and lets go of it. 0 or -errno. */
int cgroup_node_finish(struct cgroup_node *n);

/* In a process that does not hold it: closes its descriptors, and nothing else. */
void cgroup_node_forget(struct cgroup_node *n);

/* Removes the group @name below @base_fd with all below it, waiting a moment for the kernel to be done with its processes. 0 or -errno. */
int cgroup_node_remove(int base_fd, const char *name);

/* Whether @name is what cgroup_node_make() calls a node. */
bool cgroup_node_is_name(const char *name);

/* Whether @name below @base_fd is a leftover; unless @dry_run, it is removed. 1, 0 or -errno. */
int cgroup_node_sweep(int base_fd, const char *name, bool dry_run);

/* Removes a few leftovers below @base_fd, but never @own. */
void cgroup_node_sweep_some(int base_fd, const char *own);

/* cpu.weight for --cpu-shares as Docker counts them, 2 to 262144: 1 to 10000, converted as OCI runtimes do. 0: not said. */
uint64_t cgroup_node_weight(uint64_t shares);

/* What a whole sandbox may use: its commands' memory, its file systems in memory, and something for us. 0: no limit. Bytes. */
uint64_t cgroup_node_backstop(const struct spec *spec);
