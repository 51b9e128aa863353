/*
 * The host's side of the sandbox's cgroup: which of the ways to one can be had here, and its life from the launch to the end.
 * Where a place for it is found: cgroup_find.h; the group itself: cgroup_node.h; what init does below it: init/leaf.h.
 *
 * Runs in the launcher, which becomes the supervisor. The layout and its reasons: docs/decisions/0020.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/kern/cgroup.h"
#include "runtime/life/cgroup_find.h"
#include "runtime/life/cgroup_node.h"
#include "runtime/life/scope.h"
#include "runtime/spec/spec.h"

/* The ways to a cgroup, strongest first but for the last resort at 0. */
enum cgroup_backend {
	CGROUP_NONE,    /* limits are held by init, approximately */
	CGROUP_OWN,     /* below a group that is delegated to the caller, or that --cgroup names */
	CGROUP_SYSTEMD, /* in a scope that systemd made for us */
	CGROUP_ROOT,    /* at the root of the mounted hierarchy, as root */
	CGROUP_BACKENDS,
};

/* What can be had, for doctor, explain and --require-limits. */
struct cgroup_report {
	enum cgroup_backend backend;
	unsigned int controllers; /* enum cgroup_controller: those that can hold limits in it; 0 when that is not known yet */
	bool is_certain;          /* it was tried. A plan only looks, and asks systemd for nothing */
	char base[SPEC_PATH_MAX]; /* the path of the group that it is made in; empty when there is none or it is not known yet */
	struct cgroup_miss missed[CGROUP_BACKENDS]; /* by back end, of those tried in vain. What makes all impossible is told once */
};

/* As the launcher holds it. */
struct cgroup_host {
	const struct spec *spec;
	struct cgroup_owner owner;
	struct cgroup_report report;
	struct cgroup_view view; /* owned */
	struct cgroup_node node; /* owned */
	struct scope scope;      /* owned */
	size_t next_way;
	int message_fd; /* owned: the child's end of the socket on which it waits for word of its cgroup, or -EBADF when it has none */
	int ours_fd;    /* owned: our end; closed in the child */
};

#define CGROUP_HOST_NONE { .view = CGROUP_VIEW_NONE, .node = CGROUP_NODE_NONE, .scope = SCOPE_INIT, .message_fd = -EBADF, \
			   .ours_fd = -EBADF }

/* "none", "own", "systemd", "root": what --json and the tests call it. */
const char *cgroup_backend_name(enum cgroup_backend backend);

/* The same for people: completes "limits are held by …". */
const char *cgroup_backend_describe(enum cgroup_backend backend);

/* The controllers (bits) that the limits of @spec need. */
unsigned int cgroup_needed(const struct spec *spec);

/*
 * Says in @err why the kernel would not hold the limits of @spec here, with the repair; 0 when it would. (A launch with
 * --require-limits asks this itself.)
 */
int cgroup_check_required(const struct spec *spec, const struct cgroup_report *report, struct err *err);

/*
 * Finds out what a sandbox of @spec would get by doing it: makes a cgroup with a process in it, asks systemd for a scope, and takes
 * it back. As --cgroup in @spec says. @owner is the identity that sandboxes have; as real root to be called before root is given up.
 */
void cgroup_probe(const struct spec *spec, const struct cgroup_owner *owner, struct cgroup_report *ret);

/*
 * Chooses the way and, with @for_real, makes the node or starts to ask systemd. To be called as real root before root is given up.
 * 0 (also for CGROUP_NONE), or -errno with @err filled when what was asked for by name, or required, cannot be had. To be
 * released by cgroup_done() in any case.
 */
int cgroup_prepare(struct cgroup_host *c, const struct spec *spec, const struct cgroup_owner *owner, bool for_real,
		   struct err *err) _must_check_;

/* Whether the sandbox may have a cgroup, so that its first process has to wait for word. */
static inline bool cgroup_is_wanted(const struct cgroup_host *c)
{
	return c->message_fd >= 0;
}

/* The cgroup (a descriptor) to clone the sandbox's first process into, or -EBADF: it is put there afterwards, or nowhere. */
int cgroup_clone_into(const struct cgroup_host *c);

/*
 * clone3() into it failed with @errnum. 1 when that had to do with the cgroup and another way is chosen now, which may be none: try
 * again. 0 when it had not. -errno with @err filled when this one was asked for by name, or is required.
 */
int cgroup_clone_failed(struct cgroup_host *c, int errnum, struct err *err) _must_check_;

/* What the child is told. */
struct cgroup_message {
	uint64_t device, inode; /* of the node; 0 when there is none after all */
	uint32_t is_required;   /* without it the start has to fail */
	char path[SPEC_PATH_MAX]; /* of the node, in the launcher's mount namespace */
};

/*
 * @pid is the sandbox's first process: puts it into its group if it is not there, sets the limits and tells it. 0, or -errno with @err
 * filled, as cgroup_prepare().
 */
int cgroup_place(struct cgroup_host *c, pid_t pid, struct err *err) _must_check_;

/* In the child: closes what is the supervisor's. */
void cgroup_forget(struct cgroup_host *c);

/* Releases everything, and removes the node if there is one. */
void cgroup_done(struct cgroup_host *c);

/* One leftover that `cloche gc` hears of: @r is 1 when it was removed (or would be), or -errno. */
typedef void cgroup_sweep_visitor(const char *path, int r, void *userdata);

/* Removes what killed supervisors have left anywhere in the hierarchy where the caller may; with @dry_run only tells of it. */
void cgroup_sweep_all(bool dry_run, cgroup_sweep_visitor *visit, void *userdata);
