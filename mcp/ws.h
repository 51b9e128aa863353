/*
 * The workspace: the one module that resolves a path given by a client.
 *
 * Every path is resolved by the kernel in one step with openat2(2), RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, from a
 * descriptor of the workspace: "..", absolute symbolic links and links that lead outside cannot leave it, whatever a
 * concurrent process does to the tree meanwhile. There is no string-prefix test and no check-then-open. A path may be
 * relative to the workspace or absolute below its name ("/workspace/src/a.c"); so may the target of a symbolic link.
 *
 * Functions that take a call fail it, in the words of the contract, when they return an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

struct tool_call;

enum {
	WS_PATH_MAX = 4096, /* bytes of a path, with its NUL */
	WS_NAME_MAX = 255,
	WS_LINKS_MAX = 40,  /* symbolic links followed in one path, as in the kernel */
	WS_RETRY_MAX = 64,  /* openat2(2) calls while somebody renames under a ".." */
	WS_SHOWN_MAX = 160, /* bytes of a path in a message */
};

/*
 * Maps @path as a client gave it to a path relative to the workspace: "/workspace" or "" or "." becomes ".", the root's
 * name is cut off, duplicate slashes are left to the kernel. Returns a pointer into @path or a constant, or NULL with
 * the call failed (too long, absolute elsewhere: "outside the workspace boundary").
 */
const char *ws_relative(struct tool_call *call, const char *path) _must_check_;

/*
 * Opens @path with open(2) @flags (O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added, so that a FIFO or device never
 * blocks). Returns a descriptor, or -errno with the call failed. @what begins the message: "File", "Directory" or
 * "Path".
 */
int ws_open(struct tool_call *call, const char *what, const char *path, int flags) _must_check_;

/* Like ws_open() for reading, but regular files only: a directory, FIFO, socket or device fails the call at once. */
int ws_open_file(struct tool_call *call, const char *path, struct stat *ret_st) _must_check_;

/*
 * The same for a path the server found itself while it walked, without a message. ws_open_entry() follows no symbolic
 * link at all, ws_open_target() follows those that stay inside. Descriptor or -errno.
 */
int ws_open_entry(const struct tool_call *call, const char *rel, int flags) _must_check_;
int ws_open_target(const struct tool_call *call, const char *rel, int flags) _must_check_;

/*
 * Resolves @rel name by name, links followed that stay inside, and calls @step for each name with the folder in which it is
 * looked up (O_PATH), before it is: who watches these folders misses no change of what @rel leads to. A negative value of
 * @step ends the walk. Returns an O_PATH descriptor of what is there, or -errno; fails no call.
 */
typedef int (*ws_step_fn)(void *data, int dir_fd, const char *name);
int ws_walk(const struct tool_call *call, const char *rel, ws_step_fn step, void *data) _must_check_;

/*
 * Where a file is or will be: the directory that holds it, and its name in there. Symbolic links are followed, so that
 * a write replaces the target and not the link. Release with ws_place_done().
 */
struct ws_place {
	int dir_fd;                 /* O_PATH; -EBADF while the directory does not exist */
	char name[WS_NAME_MAX + 1]; /* "" for the workspace itself */
	char path[WS_PATH_MAX];     /* relative, without links, "." and ".." */
	size_t made;                /* directories that ws_place_make() has made */
	bool is_dir;                /* the path was written as that of a directory ("src/", ".", "..") */
};

#define WS_PLACE_INIT { .dir_fd = -EBADF }

/* Finds the place of @path, whether or not anything is there. 0, or -errno with the call failed. */
int ws_place_find(struct tool_call *call, const char *path, struct ws_place *place) _must_check_;

/*
 * Makes the directories that are missing. 0, or -errno with the call failed; ws_place_unmake() removes them, while
 * empty.
 */
int ws_place_make(struct tool_call *call, const char *path, struct ws_place *place) _must_check_;
void ws_place_unmake(struct tool_call *call, struct ws_place *place);
void ws_place_done(struct ws_place *place);
#define _cleanup_place_ _cleanup_(ws_place_done)

/* What is at the place itself, links not followed. 0 or -errno, without failing the call. */
int ws_place_stat(const struct ws_place *place, struct stat *ret_st) _must_check_;

/* -EROFS when what is at the place cannot be changed whatever its permissions, else 0. */
int ws_place_check_writable(const struct ws_place *place) _must_check_;

/* Fails the call for @errnum (positive) on @path: what, why and what to do. Returns -@errnum. */
int ws_fail(struct tool_call *call, const char *what, const char *path, int errnum);

/* Fails the call because @path is not a regular file; @st says what it is. Returns -EISDIR or -EINVAL. */
int ws_fail_type(struct tool_call *call, const char *path, const struct stat *st);

/* A path as messages show it: control characters as '?', cut when long. Use as ws_show(path).s */
struct ws_shown {
	char s[WS_SHOWN_MAX + 4];
};
struct ws_shown ws_show(const char *path);

/*
 * True for the six names that listings hide and searches prune: .git .venv .venv_container .mcp __pycache__ .ruff_cache
 */
bool ws_is_hidden_name(const char *name);
