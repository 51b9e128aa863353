/*
 * What a launch must know about the host: its base directories, the sources of binds, the places of our programs, and the
 * unprivileged identity. Runs in the launcher before anything is cloned.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/kern/mountplan.h"
#include "runtime/life/cgroup.h"
#include "runtime/life/janitor.h"
#include "runtime/life/protect.h"
#include "runtime/spec/spec.h"

/* A program of ours: its path and, when real root launches, a detached read-only view of it. */
struct host_program {
	char *path;  /* owned */
	int tree_fd; /* owned, or -EBADF: the child opens the path itself */
};

struct host {
	struct mountplan_facts facts;
	char workspace_path[SPEC_PATH_MAX]; /* canonical */
	char *mount_paths[SPEC_MOUNTS_MAX]; /* canonical sources of spec->mounts; owned */
	uid_t uid;                          /* the unprivileged host identity of the sandbox */
	gid_t gid;
	bool launched_by_root;
	struct host_program init, server;
	struct protect *protect;     /* owned; NULL: nothing is protected */
	char *repository_path;       /* canonical, of a linked working tree; owned */
	struct janitor janitor;      /* owned */
	struct cgroup_host cgroup;   /* owned */
};

/* Nothing is held yet. To be called before everything else. */
void host_init(struct host *host);
void host_done(struct host *host);

/*
 * Finds the program @name that belongs to cloche: beside our own executable (a build folder), in ../libexec/cloche of it (an
 * installed tree), or where configure said. Fills @program->path. 0, or -ENOENT with @err filled.
 */
int host_find_program(struct host_program *program, const char *name, struct err *err) _must_check_;

/*
 * Fills @host for @spec (with the MCP server's program only on demand) and, when the caller is real root, turns this
 * process into the unprivileged identity for good. With @for_real, protected paths that do not exist are occupied from now
 * on. 0, or -errno with @err filled.
 */
int host_prepare(struct host *host, const struct spec *spec, bool with_server, bool for_real, struct err *err) _must_check_;
