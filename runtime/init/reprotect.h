/*
 * Protected paths, once more: when somebody on the host replaces a protected file (`git config` does it by renaming a new one over it),
 * the kernel takes the mount over the old one away, and the new one could be written. Before each command this is looked for and
 * mended, in init's own mount namespace, from which the command's is copied, and in which the server works.
 *
 * The new mount comes from a read-only view of the workspace that the launcher left open, below what is seen; init can make
 * nothing read-only itself. Names of the workspace are opened one by one, never through a link; what does not fit is left.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"

enum { REPROTECT_MAX = 384 };

struct reprotect {
	const char *targets[REPROTECT_MAX]; /* relative to the root */
	size_t count;
	const char *repository; /* where those are that are not in the workspace, or NULL */
};

/* Adds a path. -ENOSPC when there are too many. */
int reprotect_add(struct reprotect *r, const char *target) _must_check_;

/* Looks at all paths, and protects again those that lost their mount and are there. */
void reprotect_all(const struct reprotect *r);
