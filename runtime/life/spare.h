/*
 * Empty folders that were stand-ins and can be again. They are kept in the user's folder for state, and moved instead of made and
 * removed, where that is on the file system of the workspace: elsewhere a move is not possible, and none of this is used.
 *
 * On a file system without a journal, making a folder means looking past all that were removed in the last minute, and removing
 * one may mean waiting for the disk; a move is neither.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

enum { SPARE_MAX = 64, SPARE_NAME_MAX = 20 };

struct spare {
	int fd; /* owned; -EBADF: there are none, and none can be kept */
	dev_t device;
	char names[SPARE_MAX][SPARE_NAME_MAX]; /* their inodes, in hexadecimal digits */
	size_t count;
};

/* Opens the folder of spares below @state_fd, which may be negative. Release with spare_close(). */
void spare_open(struct spare *s, int state_fd);
void spare_close(struct spare *s);
#define _cleanup_spare_ _cleanup_(spare_close)

/* Moves one to the free @name in @dir_fd, a folder of the file system @device. Its inode, or 0 when there is none or it cannot be moved. */
ino_t spare_take(struct spare *s, dev_t device, int dir_fd, const char *name);

/*
 * Keeps the folder @name of @dir_fd, open for reading as @fd, if it is empty: also after the move, or else it is moved back. False when
 * it was not taken.
 */
bool spare_give(struct spare *s, int fd, int dir_fd, const char *name);

/* Removes all. */
void spare_clear(int state_fd);
