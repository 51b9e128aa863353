/*
 * The kernel's own count of processes and threads, which it keeps for RLIMIT_NPROC (setrlimit(2)): of all that have our user id in our
 * user namespace and those below it, zombies included. (Before Linux 5.14 on the whole host: who meets the limit then may be somebody
 * else.) No file shows it; but by a new process that it refuses under a lower limit it can be asked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the kernel counts at least @number now. False when that cannot be told: where the kernel has no clone3(2) with a choice of
 * process id (Linux before 5.5), refuses new processes for other reasons too, or does not hold us to such limits (capabilities of the
 * host's). Changes the soft limit of this process for a moment. No process is made.
 */
bool nproc_is_at_least(uint32_t number);
