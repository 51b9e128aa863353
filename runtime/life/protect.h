/*
 * Which objects of a writable workspace stay read-only inside: the rules of runtime/spec/protected.h, applied to what is there.
 *
 * Only names and kinds of objects are looked at, through descriptors, one name at a time; a symbolic link is never followed by
 * the kernel, but component by component here, and no further than the workspace. What comes out is a list of paths through
 * no link. Runs in the launcher, as whoever started it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/kern/mountplan.h"
#include "runtime/spec/protected.h"
#include "runtime/spec/spec.h"

enum {
	PROTECT_TEXT_MAX = 65536,     /* bytes of paths */
	PROTECT_WARNINGS_MAX = 4096,  /* bytes */
	PROTECT_LINKS_MAX = 40,       /* symbolic links on the way to one path, as the kernel follows */
	PROTECT_DEPTH_MAX = 8,        /* folders below .git/modules */
	PROTECT_FOLDERS_MAX = 512,    /* folders below .git/modules and .git/worktrees that are looked into */
	PROTECT_FOLDERS_WHOLE = 8192, /* the same, when all that lies there is read-only: only for links that lead out of it */
};

/* Folders that paths are relative to. */
enum protect_root {
	PROTECT_WORKSPACE,
	PROTECT_REPOSITORY, /* git's own folder: in the workspace, or the one that a linked working tree belongs to */
	PROTECT_ROOTS,
};

struct protect_folder {
	int fd;             /* O_PATH, owned; -EBADF when there is none */
	const char *host;   /* canonical path */
	const char *inside; /* path inside, without the leading slash */
	dev_t device;
	ino_t inode;
};

struct protect_item {
	const char *path; /* through no link */
	enum protect_root root;
	enum protected_stand_in stand_in; /* PROTECTED_FOLDER, _FILE or _HERE */
	bool occupy;   /* the path is free, or taken by what may be a stand-in: one has to be there (janitor.h) */
	bool is_taken; /* it was there when it was looked at */
	bool is_link;
};

struct protect {
	const struct spec *spec;
	struct protect_folder roots[PROTECT_ROOTS];
	const char *repository_path; /* relative to the workspace; NULL when it lies outside, or there is none */
	struct protect_item items[MOUNTPLAN_PROTECTED_MAX];
	size_t count;
	size_t to_occupy; /* items with @occupy */
	size_t folders;   /* looked into so far */
	size_t whole;     /* of modules and worktrees, how many are read-only as a whole, having too much in them */
	bool in_whole;    /* while going through one of those */
	char text[PROTECT_TEXT_MAX];
	size_t text_len;
	struct buf warnings; /* lines for people, each with its newline */
	int error;           /* the first -errno of adding something */
};

/* Nothing is protected. To be called before everything else. */
void protect_init(struct protect *p, const struct spec *spec);
void protect_done(struct protect *p);

/*
 * Looks at the workspace @fd (borrowed, O_PATH) with the canonical path @host, and at the repository in it. 0 or -errno with @err filled.
 */
int protect_workspace(struct protect *p, int fd, const char *host, struct err *err) _must_check_;

/*
 * After that, when its .git is a file: the repository @fd (taken) with the canonical path @host. One outside of the workspace has
 * the same path inside. 0 or -errno with @err filled.
 */
int protect_repository(struct protect *p, int fd, const char *host, struct err *err) _must_check_;

/* Whether the repository has linked working trees. */
bool protect_has_worktrees(const struct protect *p);

/* The paths inside of what was found, for the mount plan: pointers into @p. Returns their number. */
size_t protect_list(struct protect *p, struct mountplan_protected ret[static MOUNTPLAN_PROTECTED_MAX]);

/* Adds an object, unless it is protected by what was added before. */
void protect_add(struct protect *p, struct protect_item item);

/*
 * The folder @path is left by ".." on a way that has to lead where it leads: it becomes read-only, unless something in it is protected, which
 * keeps it in its place.
 */
void protect_add_left(struct protect *p, enum protect_root root, const char *path);

/* Protects @path below @root, whatever is there. */
int protect_path(struct protect *p, enum protect_root root, const char *path, enum protected_stand_in stand_in) _must_check_;

/* Whether the caller has taken @path, a row of the list, out of what is protected. */
bool protect_is_unprotected(const struct protect *p, const char *path);

/* Adds one line to the warnings, whatever bytes are in it. */
void protect_warn(struct protect *p, const char *fmt, ...) _printf_(2, 3);

/* A formatted string that lives as long as @p; NULL when there is no room, which is remembered. */
_printf_(2, 3) const char *protect_text(struct protect *p, const char *fmt, ...);
