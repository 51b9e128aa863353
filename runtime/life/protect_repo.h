/*
 * What of git's own folder is protected: its settings and hooks, and those of the repositories in it, of submodules (.git/modules) and
 * linked working trees (.git/worktrees), as deep as they go.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/life/protect.h"

/* Looks at the repository of @p, which is known. 0, or -errno: -E2BIG when there is more than is possible, and @p->whole can be raised. */
int protect_look_at_repository(struct protect *p) _must_check_;
