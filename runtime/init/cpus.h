/*
 * How many CPUs processes of the sandbox can get: those of the machine, or of the container around us.
 */
#pragma once

/*
 * Not only those that the calling process is bound to: every process inside may undo that (sched_setaffinity(2)). At least 1. The
 * caller's own binding is as before when this returns.
 */
unsigned int cpus_reachable(void);
