/*
 * The way to one path of a workspace, name by name through descriptors. The kernel follows no symbolic link: each is read here, added
 * to what is protected, since it must go on leading where it leads, and followed no further than the workspace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "runtime/base/attr.h"
#include "runtime/life/protect.h"
#include "runtime/spec/spec.h"

enum protect_walk_end {
	WALK_FOUND,   /* @fd is the object, or an empty folder on the way to it */
	WALK_MISSING, /* the last name of @path is free */
	WALK_BLOCKED, /* @path is no folder, or one that may not be entered */
	WALK_OUTSIDE, /* a link leads out */
};

/* The way to one path, without following links but our own way. */
struct protect_walk {
	enum protect_root root;
	int at; /* the folder that was reached; owned. -EBADF: the root */
	int fd; /* the object; owned */
	struct stat st;
	char path[SPEC_PATH_MAX]; /* of what was reached, through no link */
	size_t len;
	char todo[2 * SPEC_PATH_MAX];
	size_t links;
};

/* Walks to @path below @root. How it ended, or -errno; @w is to be released in any case. */
int protect_walk(struct protect *p, struct protect_walk *w, enum protect_root root, const char *path) _must_check_;
void protect_walk_done(struct protect_walk *w);

/*
 * Whether the folder @fd has no entries: then it may be a stand-in of another sandbox, or was one that has just been removed. What
 * cannot be read is not.
 */
bool protect_is_empty_folder(int fd, const struct stat *st);
