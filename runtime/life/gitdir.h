/*
 * Where the repository of a workspace is whose .git is a file: a linked working tree (git-worktree(1)), or one that keeps its
 * repository beside its files.
 *
 * That file is the only thing of a workspace that the host side reads. An agent may have written it, so what it says is not
 * believed: a repository outside is taken only when the repository itself names this very file as its own, and everything in
 * between is what git makes and belongs to the workspace's owner.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/spec/spec.h"

enum { GITDIR_LINE_MAX = 4096 };

enum gitdir_kind {
	GITDIR_NONE,     /* .git is no file */
	GITDIR_WITHIN,   /* the repository lies in the workspace */
	GITDIR_LINKED,   /* it lies outside, and says that this is one of its working trees */
	GITDIR_UNPROVEN, /* it lies outside, and is not to be shown */
};

struct gitdir {
	enum gitdir_kind kind;
	int fd;                   /* O_PATH, owned: the repository (git's "common directory"); -EBADF for GITDIR_NONE and GITDIR_UNPROVEN */
	char host[SPEC_PATH_MAX]; /* its canonical path; for GITDIR_UNPROVEN what the file says, or "" */
	const char *why;          /* GITDIR_UNPROVEN: completes "… is not shown inside: " */
};

/* Looks at the workspace @fd with the canonical path @host, of the user @owner. Release @ret->fd. */
void gitdir_find(int fd, const char *host, uid_t owner, struct gitdir *ret);

/*
 * Reads the only line of the small regular file @path below @dir_fd, without its end. False when it is anything else, or has bytes
 * that no path of git's should have.
 */
bool gitdir_read_line(int dir_fd, const char *path, char line[static GITDIR_LINE_MAX], struct stat *ret) _must_check_;
