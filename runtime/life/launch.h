/*
 * Makes a sandbox: clones the process that becomes its PID 1, which builds everything else on its own side (child.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/kern/mountplan.h"
#include "runtime/kern/userns.h"
#include "runtime/life/env.h"
#include "runtime/life/host.h"
#include "runtime/life/idhelper.h"
#include "runtime/life/spawnmsg.h"
#include "runtime/life/state.h"
#include "runtime/spec/spec.h"

enum {
	LAUNCH_INIT_ARGS_MAX = 96 + 2 * MOUNTPLAN_PROTECTED_MAX + 2 * SPEC_MOUNTS_MAX,
	LAUNCH_ARG_TEXT_MAX = 4096,
};

/* Everything the child needs, prepared before it exists, since it must not allocate. */
struct launch {
	const struct spec *spec;
	const struct spawnmsg *first; /* NULL: the MCP server */
	struct host host;
	struct mountplan plan;
	struct userns_map map;
	struct idhelper ids;
	struct env_block env;
	const char *init_argv[LAUNCH_INIT_ARGS_MAX + 1];
	size_t init_argc;
	char arg_text[LAUNCH_ARG_TEXT_MAX];
	size_t arg_text_len;
	int proc_fd;       /* the host's procfs */
	int views[INITMSG_VIEWS]; /* made by the child: see mountplan_facts.views */
	int policy_fd;     /* what the server tells of the sandbox, or -EBADF */
	int filter_fd;     /* the compiled form of the user's own system-call filter, or -EBADF */
	struct buf filter_notes; /* what of that filter has no effect: lines that each end in NUL */
	int report_fd;     /* write end: how the child says which step failed */
	int control_fd;    /* the child's end of the control socket */
	int supervisor_fd; /* our end; closed in the child */
	int ids_fd;        /* the child's end of a socket on which it waits for its ids, or -EBADF when it writes them itself */
	int ids_ours_fd;   /* our end; closed in the child */
};

/* A running sandbox as its supervisor holds it. */
struct sandbox {
	pid_t pid;      /* of cloche-init, in the caller's PID namespace; to be waited for */
	int pid_fd;     /* owned */
	int control_fd; /* owned: messages of initmsg.h; closing it ends the sandbox */
	struct state state; /* how `cloche ps` finds it */
	struct janitor janitor; /* what cleans up behind it on the host, if there is anything */
	struct cgroup_node cgroup; /* owned */
};

#define SANDBOX_NONE { .pid = -1, .pid_fd = -EBADF, .control_fd = -EBADF, .state = STATE_NONE, .janitor = JANITOR_NONE, \
		       .cgroup = CGROUP_NODE_NONE }

/*
 * Prepares what launch_start() prepares for a server, and stops before anything is made: for telling what a start would do. 0 with
 * *@ret to be released by launch_free(), or -errno with @err filled. Afterwards the calling process is unprivileged if it was real
 * root.
 */
int launch_plan(const struct spec *spec, struct launch **ret, struct err *err) _must_check_;

void launch_free(struct launch *l);

/* The CLONE_NEW* flags of every start. */
uint64_t launch_namespaces(void);

static inline void launch_freep(struct launch **l)
{
	launch_free(*l);
}

#define _cleanup_launch_ _cleanup_(launch_freep)

enum { LAUNCH_POLICY_MAX = 2 * 1024 * 1024 }; /* bytes */

/* Writes what the server shows an agent as the policy of the sandbox, JSON text, from the launch that is about to start. */
struct launch_teller {
	void (*write)(const struct launch *l, const void *userdata, struct buf *out);
	const void *userdata;
};

/*
 * Starts a sandbox that runs the command @first or, when that is NULL, the MCP server on our stdin and stdout, which tells what @teller
 * (or NULL) writes. On success cloche-init has been executed. 0, or -errno with @err filled; then nothing is left behind. Afterwards the
 * calling process is unprivileged if it was real root.
 */
int launch_start(const struct spec *spec, const struct spawnmsg *first, const struct launch_teller *teller, struct sandbox *ret,
		 struct err *err) _must_check_;
