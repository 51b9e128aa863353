/*
 * Owned file descriptors: see fd.h.
 */
#include "runtime/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <unistd.h>

#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"

int fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void) close(fd);
	errno = saved;
	return -EBADF;
}

static int wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				return -errno;
			int r = wait_for(fd, POLLOUT);
			if (r < 0)
				return r;
			continue;
		}
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

int fd_read_exact(int fd, void *data, size_t len)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = read(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPIPE;
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

ssize_t fd_read_text(int dirfd, const char *path, char *text, size_t cap)
{
	_cleanup_fd_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t len = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		if (len + 1 >= cap)
			return -E2BIG;
		ssize_t n = read(fd, text + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t) n;
	}
	if (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	return (ssize_t) len;
}

int fd_above_stdio(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int r = high < 0 ? -errno : high;
	(void) fd_close(fd);
	return r;
}

int fd_ensure_stdio(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is @fd: all below it are open. Standard streams are inherited, hence no O_CLOEXEC. */
		int opened = open("/dev/null", O_RDWR);
		if (opened < 0)
			return -errno;
		if (opened != fd)
			return -EBADF;
	}
	return 0;
}

int fd_cloexec_from(unsigned int first)
{
	return wall_stands(WALL_CLOSE_FDS) && sysx_close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

int fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

DIR *fd_list(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list)
		(void) fd_close(fd);
	return list;
}

void fd_list_done(DIR **list)
{
	if (*list)
		(void) closedir(*list);
	*list = NULL;
}
