/*
 * Owned file descriptors. Every descriptor is born close-on-exec; "no descriptor" is -EBADF, so that passing it on by
 * mistake yields an honest error.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

/* Closes @fd if it is one, keeps errno, never retries (the descriptor is gone even on EINTR). Returns -EBADF. */
int fd_close(int fd);

static inline void fd_closep(int *fd)
{
	*fd = fd_close(*fd);
}

#define _cleanup_fd_ _cleanup_(fd_closep)
#define TAKE_FD(fd) TAKE_VALUE(fd, -EBADF)

/* Writes all of @len bytes, retrying on EINTR and short writes, waiting with poll(2) on EAGAIN. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t len) _must_check_;

/* Reads exactly @len bytes. 0, -EPIPE at an early end of file, or -errno. */
int fd_read_exact(int fd, void *data, size_t len) _must_check_;

/*
 * Reads a small file named @path below @dirfd into @text (capacity @cap), NUL-terminated, without its final newline.
 * Returns the length, -E2BIG when the file does not fit, or -errno. For files of /proc and /sys.
 */
ssize_t fd_read_text(int dirfd, const char *path, char *text, size_t cap) _must_check_;

/* Moves @fd to a number of at least 3 when it is lower (consumes it either way). New descriptor or -errno. */
int fd_above_stdio(int fd) _must_check_;

/* Opens /dev/null on each of 0, 1, 2 that is closed, so that no later open() lands there. 0 or -errno. */
int fd_ensure_stdio(void) _must_check_;

/* Marks every descriptor from @first up close-on-exec (close_range(2)). 0 or -errno. */
int fd_cloexec_from(unsigned int first) _must_check_;

/* Sets or clears O_NONBLOCK, which belongs to the open file and is seen by all who share it. 0 or -errno. */
int fd_set_nonblock(int fd, bool on) _must_check_;

/* The entries of the open folder @dir_fd (borrowed), with a position of its own, from the first one on. NULL with errno set. */
DIR *fd_list(int dir_fd) _must_check_;
void fd_list_done(DIR **list);
#define _cleanup_list_ _cleanup_(fd_list_done)
