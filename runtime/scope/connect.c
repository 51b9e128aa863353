/*
 * Connecting to systemd's manager: see connect.h. Runs in cloche-scope, before it locks itself in.
 *
 * The paths come from the asker's environment. What they lead to is judged by what the kernel says about the listener: for an
 * ordinary user, a process of the same user (the user manager listens on its sockets itself, the bus's included); for root, root.
 */
#include "runtime/scope/connect.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/scope/answer.h"

static int check_listener(int fd, const char *path, struct scopemsg_answer *answer)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return answer_set(answer, SCOPEMSG_OURSELVES, errno, "who listens at '%s' cannot be found out: %s", path, strerror(errno));
	if (peer.uid != geteuid())
		return answer_set(answer, SCOPEMSG_UNTRUSTED, EPERM, "at '%s' listens a process of uid %u, not of %u", path, peer.uid,
				  geteuid());
	if (peer.pid == 0)
		return answer_set(answer, SCOPEMSG_UNTRUSTED, EPERM, "who listens at '%s' lives outside this PID namespace", path);
	return 0;
}

/* A connected socket, or -errno. A listener whose queue is full counts as one that does not listen. */
static int connect_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(address.sun_path) || *path != '/')
		return -EINVAL;
	memcpy(address.sun_path, path, len);
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* The path in @word, or NULL when that has no known kind. */
static const char *path_in(const char *word, bool *ret_direct)
{
	*ret_direct = strncmp(word, SCOPEMSG_DIRECT, strlen(SCOPEMSG_DIRECT)) == 0;
	if (*ret_direct)
		return word + strlen(SCOPEMSG_DIRECT);
	return strncmp(word, SCOPEMSG_BUS, strlen(SCOPEMSG_BUS)) == 0 ? word + strlen(SCOPEMSG_BUS) : NULL;
}

int connect_manager(char *const *words, bool *ret_direct, struct scopemsg_answer *answer)
{
	const char *last = "no socket", *path;
	int fd = -ENOENT;

	for (size_t i = 0; i < SCOPEMSG_SOCKETS_MAX && words[i]; i++) {
		path = path_in(words[i], ret_direct);
		if (!path)
			return answer_set(answer, SCOPEMSG_OURSELVES, EINVAL, "'%s' is not understood", words[i]);
		last = path;
		fd = connect_path(path);
		if (fd < 0)
			continue;
		int r = check_listener(fd, path, answer);
		if (r == 0)
			return fd;
		(void) fd_close(fd);
		return r;
	}
	return answer_set(answer, SCOPEMSG_NO_BUS, -fd, "'%s' takes no connection: %s", last, strerror(-fd));
}
