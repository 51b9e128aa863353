/*
 * Mappings whose pages are counted by something else too: files of the folders in memory (watch_tmpfs.h), memfds that are open
 * somewhere (watch_files.h), System V segments (watch_ipc.h).
 */
#pragma once

#include <stdint.h>

#include "runtime/init/watch_processes.h"
#include "runtime/init/watch_tmpfs.h"

/*
 * This process's share of them in bytes; all when it has none any more, since it is about to end. Not all of it when the process has very
 * many mappings, or may not be looked into: the rest is then counted twice.
 */
uint64_t watch_maps_counted(int proc_fd, const struct watch_process *p, const struct watch_tmpfs *folders);
