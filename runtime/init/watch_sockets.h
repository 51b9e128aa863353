/*
 * What the sockets of the network namespace hold in their buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/init/watch_processes.h"

/* A socket to ask the kernel with (sock_diag(7)): descriptor or -errno. */
int watch_sockets_open(void) _must_check_;

/*
 * Adds the buffers of each socket to the process of @t that has it open, according to watch_files.h. Returns those of sockets that no
 * process has open: they are on their way from one to another, or are closed and have something left to send.
 */
uint64_t watch_sockets_read(int diag_fd, int proc_fd, struct watch_table *t);
