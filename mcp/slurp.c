/*
 * A whole file of the workspace in memory: see slurp.h. Runs in cloche-mcp, on a worker thread, without any capability.
 */
#include "mcp/slurp.h"

#include <errno.h>
#include <fcntl.h>

#include "runtime/base/fd.h"

int slurp_place(const struct ws_place *place, struct buf *content, struct stat *ret_st)
{
	struct stat st;
	/* The name has been resolved: a link here was put there since. */
	_cleanup_fd_ int fd =
		openat(place->dir_fd, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == ELOOP ? -ESTALE : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > SLURP_MAX)
		return -EFBIG;
	if (ret_st)
		*ret_st = st;
	return buf_read_fd(content, fd);
}
