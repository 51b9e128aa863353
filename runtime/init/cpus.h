/*
 * The CPUs that processes of the sandbox run on.
 */
#pragma once

#include "runtime/base/attr.h"

/*
 * How many processes of the sandbox can get: those of the machine, or of the container around us. Not only those that the calling
 * process is bound to: every process inside may undo that (sched_setaffinity(2)). At least 1. The caller's own binding is as before
 * when this returns.
 */
unsigned int cpus_reachable(void);

/*
 * Binds the calling process, and what it starts from then on, to @count of the CPUs that it may use; all when there are no more. Which
 * ones differs from sandbox to sandbox, so that several do not share some while others idle. 0 or -errno.
 */
int cpus_bind(unsigned int count) _must_check_;
