/*
 * A procfs of cloche-init's own.
 */
#pragma once

#include "runtime/base/attr.h"

/*
 * Opens a procfs of the caller's PID namespace that is mounted nowhere: in it every process is visible, also those that hide
 * from a mount with hidepid. Needs CAP_SYS_ADMIN over the user namespace of that PID namespace. Descriptor of the directory
 * (close-on-exec) or -errno. See fsopen(2), proc(5).
 */
int procfs_open_detached(void) _must_check_;
