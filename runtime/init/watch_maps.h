/*
 * Shared memory that a process has mapped and that nothing else counts: files of the folders in memory (watch_tmpfs.h), memfds that are
 * open somewhere (watch_files.h) and System V segments (watch_ipc.h) are counted there.
 */
#pragma once

#include <stdint.h>

#include "runtime/init/watch_processes.h"

/*
 * This process's share of it in bytes; 0 when it has no memory any more, since it is about to end. UINT64_MAX when it cannot be told: the
 * process may not be looked into, or has very many mappings. Files of other tmpfs than the sandbox's are the host's.
 */
uint64_t watch_maps_shared(int proc_fd, const struct watch_process *p);
