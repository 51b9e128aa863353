/*
 * What the sockets of the network namespace hold in their buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/init/watch_processes.h"

/*
 * Adds the buffers of each socket to the process of @t that has it open, according to watch_files.h. Returns those of sockets that no
 * process has open: they are on their way from one to another, or are closed and have something left to send. Nothing is found where the
 * kernel cannot be asked (sock_diag(7)).
 */
uint64_t watch_sockets_read(int proc_fd, struct watch_table *t);
