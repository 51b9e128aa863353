/*
 * Capabilities (capabilities(7)) through libcap. The sets are prepared once, so that they can be applied between fork and
 * exec without allocating.
 */
#pragma once

#include "runtime/base/attr.h"

/* Allocates the two sets that caps_keep_for_init() and caps_drop_all() apply. Call before forking. 0 or -errno. */
int caps_prepare(void) _must_check_;

/*
 * Leaves the calling process, and what it executes, with what cloche-init needs in the sandbox's user namespace:
 * CAP_SYS_ADMIN (nested namespaces and /proc for each command) and CAP_SETPCAP (to empty the bounding set of each command).
 * Everything else leaves the bounding set for good.
 */
int caps_keep_for_init(void) _must_check_;

/* For cloche-init after its exec: what it executes must not inherit its capabilities. */
int caps_stop_inheritance(void) _must_check_;

/* Empties every set of the calling process, the bounding set included. Needs CAP_SETPCAP. 0 or -errno. */
int caps_drop_all(void) _must_check_;
