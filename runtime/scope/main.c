/*
 * cloche-scope: asks a systemd manager to put one process into a transient scope. See spec/scopemsg.h for how it is asked.
 *
 * A child of cloche, with the caller's identity and nothing more, for the length of a start. It is the only program of ours that
 * parses bytes of the bus, and it locks itself in before it does: no path can be opened, no capability is left, memory and time are
 * short. Whoever takes it over can lie about whether there is a scope, and cloche believes only the kernel.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/str.h"
#include "runtime/scope/answer.h"
#include "runtime/scope/connect.h"
#include "runtime/scope/lockin.h"
#include "runtime/scope/manager.h"
#include "runtime/spec/scopemsg.h"

enum { EXIT_MISUSED = 125 };

static bool is_unit(const char name[SCOPEMSG_UNIT_MAX])
{
	size_t len = strnlen(name, SCOPEMSG_UNIT_MAX);
	size_t begin = strlen(SCOPEMSG_UNIT_PREFIX), suffix = strlen(SCOPEMSG_UNIT_SUFFIX);

	if (len == SCOPEMSG_UNIT_MAX || len <= begin + suffix || strncmp(name, SCOPEMSG_UNIT_PREFIX, begin) != 0 ||
	    strcmp(name + len - suffix, SCOPEMSG_UNIT_SUFFIX) != 0)
		return false;
	for (size_t i = begin; i < len - suffix; i++)
		if (!str_is_alnum(name[i]) && name[i] != '-')
			return false;
	return true;
}

/* Takes the request and passes it on. False when there is none: whoever asked is gone. */
static bool take_request(struct manager *m, struct scopemsg_answer *answer)
{
	struct scopemsg_request request;
	size_t fds;
	ssize_t n = fdpass_recv(SCOPEMSG_FD, &request, sizeof(request), NULL, 0, &fds);

	if (n == 0)
		return false;
	bool agreed = n == (ssize_t) sizeof(request) && is_unit(request.unit) && request.pid > 0 && request.pid <= INT32_MAX &&
		      request.reserved == 0;
	if (!agreed)
		(void) answer_set(answer, SCOPEMSG_OURSELVES, EPROTO, "the request has not the agreed form");
	else if (manager_ask(m, &request) < 0)
		return true; /* @answer says why */
	return true;
}

/* Until the scope is there or @answer says why it is not. False when whoever asked is gone. */
static bool converse(struct manager *m, struct scopemsg_answer *answer)
{
	struct pollfd fds[2] = { { .fd = SCOPEMSG_FD, .events = POLLIN } };
	int64_t end = clock_now_ms() + SCOPEMSG_LIFE_S * 1000;
	int timeout_ms, more = 0;

	while (answer->cause == SCOPEMSG_NO_CAUSE && !manager_is_done(m)) {
		int64_t left = end - clock_now_ms();
		if (left <= 0) {
			(void) answer_set(answer, SCOPEMSG_TIMEOUT, ETIMEDOUT, "no answer within %d seconds", SCOPEMSG_WAIT_MS / 1000);
			break;
		}
		if (manager_poll(m, &fds[1], &timeout_ms) < 0)
			break;
		timeout_ms = more > 0 ? 0 : timeout_ms < 0 ? (int) left : MIN(timeout_ms, (int) left);
		if (poll(fds, ARRAY_LEN(fds), timeout_ms) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents & (POLLHUP | POLLERR))
			return false;
		if (fds[0].revents & POLLIN) {
			if (!take_request(m, answer))
				return false;
			fds[0].events = 0;
			end = clock_now_ms() + SCOPEMSG_WAIT_MS;
		}
		more = manager_turn(m); /* its failure is in @answer */
	}
	return true;
}

static int open_locked_in(char *const *sockets, struct manager **ret, struct scopemsg_answer *answer)
{
	bool direct = false;
	int r = lockin_early();
	_cleanup_fd_ int fd = r < 0 ? -EBADF : connect_manager(sockets, &direct, answer);

	if (r == 0 && fd >= 0)
		r = lockin_late();
	if (r == 0 && fd >= 0)
		*ret = manager_open(TAKE_FD(fd), direct, answer);
	if (r == 0 && *ret)
		r = lockin_filter(); /* nothing has been read by now */
	return r < 0 ? answer_set(answer, SCOPEMSG_OURSELVES, -r, "cloche-scope cannot lock itself in: %s", strerror(-r)) : 0;
}

int main(int argc, char **argv)
{
	struct scopemsg_answer answer = { .cause = SCOPEMSG_NO_CAUSE };
	struct manager *m = NULL;
	socklen_t size = sizeof(int);
	int type = 0;

	if (argc < 2 || getsockopt(SCOPEMSG_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET) {
		(void) dprintf(STDERR_FILENO, "cloche-scope is a part of cloche, which calls it to ask systemd for a cgroup\n");
		return EXIT_MISUSED;
	}
	if (open_locked_in(argv + 1, &m, &answer) == 0 && m && !converse(m, &answer))
		return EXIT_FAILURE;
	return fdpass_send(SCOPEMSG_FD, &answer, sizeof(answer), NULL, 0) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
