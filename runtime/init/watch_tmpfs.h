/*
 * What lies in the folders in memory (tmpfs) of the sandbox. It belongs to no command: a file stays when who wrote it has ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WATCH_TMPFS_MAX = 72 }; /* all that a specification can ask for, and those that every sandbox has */

struct watch_tmpfs {
	int fds[WATCH_TMPFS_MAX]; /* O_PATH; kept open for good */
	dev_t devices[WATCH_TMPFS_MAX];
	size_t count;
};

/* Finds them among the mounts of the calling process, in the procfs @proc_fd. To be called before init's filter is loaded. */
void watch_tmpfs_open(struct watch_tmpfs *t, int proc_fd);

/*
 * Bytes of all: contents, also of files that have no name any more, which are stored in *@ret_contents alone; and what the kernel holds
 * for each file.
 */
uint64_t watch_tmpfs_bytes(const struct watch_tmpfs *t, uint64_t *ret_contents);

/* Whether files with this st_dev are counted there. */
bool watch_tmpfs_has(const struct watch_tmpfs *t, dev_t device);
