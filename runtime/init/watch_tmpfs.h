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

/* Those that every sandbox has, where they are in memory. To be called before init's filter is loaded, like the next one. */
void watch_tmpfs_open(struct watch_tmpfs *t);

/* The folder @path besides, if it is a tmpfs that was made for the sandbox. */
void watch_tmpfs_add(struct watch_tmpfs *t, const char *path);

/*
 * Bytes of all: contents, also of files that have no name any more, which are stored in *@ret_contents alone; and what the kernel holds
 * for each file.
 */
uint64_t watch_tmpfs_bytes(const struct watch_tmpfs *t, uint64_t *ret_contents);

/* Whether files with this st_dev are counted there. */
bool watch_tmpfs_has(const struct watch_tmpfs *t, dev_t device);
