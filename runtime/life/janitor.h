/*
 * The janitor: a small process on the host that makes the stand-ins of a sandbox (placeholder.h) while the rest of it is being built,
 * and sees to it that they are removed when nothing of it runs any more, however the sandbox or its supervisor ended. Where real root
 * has made a cgroup for the sandbox, it removes that too, since the supervisor has given up the right to.
 *
 * It is started only when there is something to occupy or to remove. It is a copy of the launcher in a session of its own, with no
 * descriptor but a socket, the folders and their records, and the group that the cgroup is in. Started by real root, it has the id of the
 * workspace's owner and no capability; with a cgroup, CAP_DAC_OVERRIDE is held back and takes effect only for its removal, when all
 * else is done. It gets the pidfd of the sandbox's init. When the supervisor hangs up without a word, it waits for init to be gone,
 * which is when the kernel has ended all processes inside, and removes what is there.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/life/cgroup_node.h"
#include "runtime/life/placeholder.h"
#include "runtime/life/protect.h"

/* Whose the stand-ins shall be when real root starts the sandbox, and whose rights the janitor has. */
struct janitor_identity {
	bool change;
	uid_t uid;
	gid_t gid;
};

/* A cgroup that nobody else can remove. */
struct janitor_cgroup {
	int base_fd; /* of the group that it is in, owned; -EBADF: there is none */
	char name[CGROUP_NODE_NAME_MAX];
};

/* As launcher and supervisor hold it. */
struct janitor {
	pid_t pid;    /* to be waited for; -1: not started */
	int pid_fd;   /* owned */
	int fd;       /* the socket, owned; -EBADF: there is none */
	int its_fd, its_ready_fd; /* the janitor's ends of both, owned until it is started */
	int ready_fd; /* owned: closed at the other end when the stand-ins are there, or cannot be made */
	struct placeholder_folder folders[PROTECT_ROOTS]; /* their descriptors and, in the end, records are owned */
	struct janitor_cgroup cgroup;
	struct janitor_list *list; /* shared with the janitor; owned */
	struct janitor_identity identity; /* with change, the supervisor will not have the rights to remove anything */
};

#define JANITOR_NO_FOLDER { .fd = -EBADF, .record = -EBADF }
#define JANITOR_NONE { .pid = -1, .pid_fd = -EBADF, .fd = -EBADF, .its_fd = -EBADF, .its_ready_fd = -EBADF, .ready_fd = -EBADF, \
		       .folders = { JANITOR_NO_FOLDER, JANITOR_NO_FOLDER }, .cgroup = { .base_fd = -EBADF } }

/*
 * Has what of @p is to be occupied, if anything, occupied, while we go on: the facts say what the mount plan has to wait for, and
 * its protected paths (in the order of @p's items) where it is told of those that could not be made, and by nobody inside
 * either. 0, or -errno with @err filled; janitor_finish() in any case.
 */
int janitor_prepare(struct janitor *j, const struct protect *p, struct mountplan_facts *facts, const struct janitor_identity *identity,
		    struct err *err) _must_check_;

/*
 * Leaves it to the janitor to remove the cgroup @name in the group @base_fd (borrowed) at the end. As real root, before janitor_begin().
 * 0, or -errno with @err filled.
 */
int janitor_keep_cgroup(struct janitor *j, int base_fd, const char *name, const struct janitor_identity *identity,
			struct err *err) _must_check_;

/*
 * Starts it, if it is needed and not there yet. To be called when the sandbox's first process exists, which waits for the stand-ins
 * after it has built most of its root; as real root before that is given up. 0, or -errno with @err filled.
 */
int janitor_begin(struct janitor *j, struct err *err) _must_check_;

/* Why MOUNT_WAIT failed. Returns -errno with @err filled. */
int janitor_explain(const struct janitor *j, const struct protect *p, struct err *err);

/* Tells whose end to wait for. */
void janitor_watch(const struct janitor *j, int init_pidfd);

/*
 * Nothing of the sandbox runs any more: the stand-ins are removed when this returns. Does not wait for ever: a janitor that was stopped is
 * killed. Says on stderr what could not be removed.
 */
void janitor_finish(struct janitor *j);

/* In the sandbox's first process: closes what is the supervisor's. */
void janitor_forget(struct janitor *j);
