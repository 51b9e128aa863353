/*
 * Capabilities (capabilities(7)) through libcap. The sets are prepared once, so that they can be applied between fork and
 * exec without allocating.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/attr.h"

/* Allocates the sets that the functions below apply. Call before forking. 0 or -errno. */
int caps_prepare(void) _must_check_;

/*
 * Leaves what the calling process executes with what cloche-init needs: CAP_SYS_ADMIN in the sandbox's user namespace (nested namespaces
 * and /proc for each command), and when it is to @watch over memory, because no cgroup does, CAP_SYS_PTRACE there (who made himself
 * undumpable hides what he holds from everybody else). They travel in the ambient set; the bounding set is emptied, so that nothing
 * inside can ever gain a capability. 0 or -errno.
 */
int caps_keep_for_init(bool watch) _must_check_;

/* For cloche-init after its exec: what it executes must not inherit its capabilities. Drops what not to @watch spares. 0 or -errno. */
int caps_stop_inheritance(bool watch) _must_check_;

/* For a cloche-init that starts nothing any more but has to watch: keeps CAP_SYS_PTRACE alone, which it must have. 0 or -errno. */
int caps_keep_to_watch(void) _must_check_;

/* Empties every set of the calling process but the bounding set, which is empty inside since the launch. 0 or -errno. */
int caps_drop_all(void) _must_check_;
