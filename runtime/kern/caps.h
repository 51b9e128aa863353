/*
 * Capabilities (capabilities(7)) through libcap. The sets are prepared once, so that they can be applied between fork and
 * exec without allocating.
 */
#pragma once

#include "runtime/base/attr.h"

/* Allocates the sets that the functions below apply. Call before forking. 0 or -errno. */
int caps_prepare(void) _must_check_;

/*
 * Leaves what the calling process executes with the one capability that cloche-init needs, CAP_SYS_ADMIN in the sandbox's user
 * namespace (nested namespaces and /proc for each command). It travels in the ambient set; the bounding set is emptied, so
 * that nothing inside can ever gain a capability. 0 or -errno.
 */
int caps_keep_for_init(void) _must_check_;

/* For cloche-init after its exec: what it executes must not inherit its capability. 0 or -errno. */
int caps_stop_inheritance(void) _must_check_;

/* Empties every set of the calling process but the bounding set, which is empty inside since the launch. 0 or -errno. */
int caps_drop_all(void) _must_check_;
