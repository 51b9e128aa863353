/*
 * What a fresh /proc shows of the host's user and no namespace parts.
 */
#pragma once

#include "runtime/base/attr.h"

/*
 * Puts /dev/null over the list of keys (names and all) that the user holds outside, in the procfs at "proc" below @root_fd; "dev/null"
 * there is a device that was checked. Only a mount hides it, and a new /proc has none, so this goes with every one. Needs
 * CAP_SYS_ADMIN over the owner of the mount namespace; allocates nothing. 0 or -errno.
 */
int procmask_apply(int root_fd) _must_check_;
