/*
 * The sandbox's root as an ordered list of operations.
 *
 * mountplan_build() is pure: it turns a specification and a few facts about the host into the list and touches nothing.
 * mountapply.c performs the list in the launcher's child. Targets are relative to the new root (no leading slash).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/err.h"
#include "runtime/base/wall.h"
#include "runtime/spec/spec.h"

enum {
	MOUNTPLAN_PROTECTED_MAX = 384,
	MOUNTPLAN_OPS_MAX = 192 + MOUNTPLAN_PROTECTED_MAX,
	MOUNTPLAN_TEXT_MAX = 32768, /* bytes of made-up strings: mount data, file contents, targets */
	MOUNTPLAN_BASE_DIRS = 6,
	MOUNTPLAN_ENTRIES_MAX = 1024, /* of a folder that is shown entry by entry */
};

/* Where a command with a cgroup of its own finds its files (init/command.c); an empty directory without one. */
#define MOUNTPLAN_CGROUP "sys/fs/cgroup"

/* Processes that one may not look into, such as cloche-init, are invisible (proc(5), hidepid). */
#define MOUNTPLAN_PROC_OPTIONS (wall_stands(WALL_HIDEPID) ? "hidepid=2" : "")

enum mount_kind {
	MOUNT_DIR,     /* mkdir target, mode */
	MOUNT_FILE,    /* a small file with the given content */
	MOUNT_SYMLINK, /* target -> source */
	MOUNT_TMPFS,   /* data holds size, nr_inodes, mode */
	MOUNT_ENTRIES, /* a tmpfs over the folder target, with everything that is in the folder bound read-only by its name */
	MOUNT_VIEW,    /* a read-only view of the mount at target, hidden below it and open as *keep, for init/reprotect.h */
	MOUNT_WAIT,    /* until whoever prepares what the next ones need has closed the other end of tree_fd */
	MOUNT_PROTECT, /* what is at target, a folder, a file or a link, becomes a read-only mount of its own and cannot be moved */
	MOUNT_BIND,    /* source (or the ready detached tree_fd) at target, with everything mounted below it */
	MOUNT_DEVICE,  /* a device node of the host, checked to be the character device major:minor */
	MOUNT_PROC,    /* a new one or, when source names one, that, read-only with all that is mounted below it */
	MOUNT_DEVPTS,
	MOUNT_READ_ONLY, /* the mount at target (or the root itself, "") becomes read-only */
};

enum mount_flags {
	MOUNT_OPTIONAL = 1 << 0, /* a missing source is no error */
	MOUNT_WRITABLE = 1 << 1, /* a bind that stays writable */
	MOUNT_NOEXEC = 1 << 2,
	MOUNT_USER = 1 << 3,     /* the target was given by the caller: resolved step by step, never through a link */
	MOUNT_MAKE_TARGET = 1 << 4, /* create the mount point, a directory or a file like the source */
	MOUNT_SAME = 1 << 5,     /* the source must still be the object dev:ino that was checked before */
};

struct mount_op {
	enum mount_kind kind;
	unsigned int flags;  /* enum mount_flags */
	const char *source;
	const char *target;
	const char *data;    /* mount options, or the content of a MOUNT_FILE */
	uint32_t mode;
	int tree_fd;         /* MOUNT_BIND: a detached mount made by real root, or -EBADF. MOUNT_WAIT: a pipe. Borrowed */
	dev_t device;        /* MOUNT_DEVICE: its number; MOUNT_SAME: st_dev of the source */
	ino_t inode;         /* MOUNT_SAME: st_ino of the source */
	const int *result;   /* MOUNT_WAIT: 0 or -errno, then; in memory shared with whoever prepares. NULL: 0 */
	int *keep;           /* MOUNT_VIEW: where its descriptor goes (owned by whoever performs the plan) */
	const bool *absent;  /* MOUNT_PROTECT: the target may be missing, since nobody inside can make it either; the same. NULL: false */
};

struct mountplan {
	struct mount_op ops[MOUNTPLAN_OPS_MAX];
	size_t count;
	char text[MOUNTPLAN_TEXT_MAX];
	size_t text_len;
};

/* One of /bin /sbin /lib /lib32 /lib64 /libx32 as the host has it. */
struct mountplan_base {
	bool present;
	bool is_link;
	char link[64]; /* the link's text, e.g. "usr/bin" */
};

/* A source of a bind that was opened and checked before. */
struct mountplan_source {
	const char *path; /* as the caller wrote it, or resolved */
	int tree_fd;      /* see struct mount_op */
	dev_t device;
	ino_t inode;
};

/* A path that stays read-only in a writable folder of the host. */
struct mountplan_protected {
	const char *target; /* relative to the new root, through no link */
	const bool *absent; /* see struct mount_op */
};

/* What the plan must know about the host and the caller. */
struct mountplan_facts {
	struct mountplan_base base[MOUNTPLAN_BASE_DIRS];
	struct mountplan_source workspace;               /* unused with SPEC_WORKSPACE_NONE */
	bool workspace_lacks_target;                     /* a mount belongs at a name that the workspace does not have */
	struct mountplan_source mounts[SPEC_MOUNTS_MAX]; /* beside spec->mounts; unused for tmpfs */
	bool shows_repository;
	struct mountplan_source repository; /* of a linked working tree; shown at its own path */
	bool links_workspace;               /* git knows the workspace by its path on the host: that leads to it inside too */
	struct mountplan_protected protected[MOUNTPLAN_PROTECTED_MAX];
	size_t protected_count;
	int *views;       /* two, of workspace and repository, when what is protected shall be again; else NULL */
	int ready_fd;     /* what MOUNT_WAIT waits for before the protected paths, or -EBADF; borrowed */
	const int *ready; /* and its result */
};

/* Names of the base directories, in the order of mountplan_facts.base. */
extern const char *const mountplan_base_names[MOUNTPLAN_BASE_DIRS];

/* Fills @plan. 0, or -errno with @err filled (too many operations). The plan borrows strings from @spec and @facts. */
int mountplan_build(struct mountplan *plan, const struct spec *spec, const struct mountplan_facts *facts,
		    struct err *err) _must_check_;

/* What an operation does, for messages: into @ret of @cap bytes, cut when it does not fit. */
void mountplan_describe(const struct mount_op *op, char *ret, size_t cap);
