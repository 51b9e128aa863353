/*
 * What the open files of processes hold: memory of memfds whether mapped or not, pipes, lists of watches (epoll,
 * inotify). It also remembers whose the sockets are (watch_sockets.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/init/watch_processes.h"

/* Open files that several descriptors may lead to, by their inode. */
enum watch_file_kind { WATCH_MEMORY = 1, WATCH_PIPE, WATCH_SOCKET, WATCH_LIST };

/*
 * Looks at the descriptors of every process of @t but those that are @trusted, and puts into its rows what they hold. An open file that
 * several have counts in the first one. It is given up after @budget_us microseconds of CPU time; then what is not reached
 * keeps the figure of the time before, and the next look begins there. With @queues it is also looked for sockets in whose queues
 * descriptors lie.
 */
void watch_files_read(struct watch_table *t, int proc_fd, uint64_t budget_us, bool queues);

/* A process with such a socket, or with descriptors that cannot be looked at; 0: the last look found none. */
pid_t watch_files_suspect(void);

/* How many of a kind the last look found. */
size_t watch_files_count(enum watch_file_kind kind);

/* The process (0: not found) in which the last look found this open file. */
pid_t watch_files_holder(enum watch_file_kind kind, uint64_t inode);

/* The st_dev of memfds, shared anonymous memory and System V segments; known after the first look. */
dev_t watch_files_device(void);

/* Bytes of all memfds that were found. */
uint64_t watch_files_memory(void);
