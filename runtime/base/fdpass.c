/*
 * Messages with file descriptors: see fdpass.h. Allocates nothing.
 */
#include "runtime/base/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/base/fd.h"

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(FDPASS_MAX_FDS * sizeof(int))];
};

int fdpass_send(int sock, const void *data, size_t len, const int *fds, size_t nfds)
{
	struct iovec iov = { .iov_base = (void *) (unsigned long) data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control;

	if (nfds > FDPASS_MAX_FDS || len == 0)
		return -EINVAL;
	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = (__typeof__(msg.msg_controllen)) CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = (__typeof__(cmsg->cmsg_len)) CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
	}
	for (;;) {
		ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL);
		if (n >= 0)
			return (size_t) n == len ? 0 : -EMSGSIZE;
		if (errno != EINTR)
			return -errno;
	}
}

/*
 * Takes the descriptors out of @msg. Returns how many there were, closing those beyond @max_fds. The kernel puts all of a
 * message into one header, and no other kind of header was asked for (SO_PASSCRED and its like are off).
 */
static size_t take_fds(struct msghdr *msg, int *fds, size_t max_fds)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (size_t i = 0; i < count; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (i < max_fds)
			fds[i] = fd;
		else
			(void) fd_close(fd);
	}
	return count;
}

ssize_t fdpass_recv(int sock, void *data, size_t cap, int *fds, size_t max_fds, size_t *ret_nfds)
{
	struct iovec iov = { .iov_base = data, .iov_len = cap };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	if (max_fds > FDPASS_MAX_FDS)
		return -EINVAL;
	for (size_t i = 0; i < max_fds; i++)
		fds[i] = -EBADF;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	size_t seen = take_fds(&msg, fds, max_fds);
	int bad = 0;
	if (msg.msg_flags & MSG_TRUNC)
		bad = -EMSGSIZE;
	else if ((msg.msg_flags & MSG_CTRUNC) || seen > max_fds)
		bad = -EPROTO;
	if (bad) {
		for (size_t i = 0; i < max_fds; i++)
			fds[i] = fd_close(fds[i]);
		return bad;
	}
	*ret_nfds = seen;
	return n;
}
