/*
 * Runs cloche-compile: see compile.h. Runs in the launcher, before anything is created; as real root while it still is one,
 * since the file was opened with root's rights.
 */
#include "runtime/life/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/life/host.h"

enum { STREAMS = 2 }; /* what it writes: the result, and its last words */

/* In the child: from here to the exec nothing is allocated. */
_noreturn_ static void become(const char *path, const char *what, const char *name, int input_fd, const int write_end[STREAMS],
			      pid_t parent)
{
	const char *const argv[] = { "cloche-compile", what, name, NULL };
	const char *const env[] = { NULL };
	int stdio[1 + STREAMS] = { input_fd, write_end[0], write_end[1] };

	for (int i = 0; i <= STREAMS; i++) {
		stdio[i] = fd_above_stdio(stdio[i]);
		if (stdio[i] < 0)
			_exit(125);
	}
	for (int i = 0; i <= STREAMS; i++)
		if (dup2(stdio[i], i) < 0)
			_exit(125);
	if (proc_reset_signals() == 0 && proc_die_with_parent(parent) == 0)
		(void) execve(path, (char *const *) (uintptr_t) argv, (char *const *) (uintptr_t) env);
	_exit(126);
}

/* Takes what has come on @fd. False at its end. */
static bool take(int fd, struct buf *to)
{
	char chunk[16384];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	buf_add(to, chunk, (size_t) n);
	return n > 0 && buf_error(to) == 0;
}

/* Reads both streams to their end. 0, or -ETIMEDOUT. */
static int collect(const int read_end[STREAMS], struct buf *const to[STREAMS])
{
	struct pollfd fds[STREAMS] = { { .fd = read_end[0], .events = POLLIN }, { .fd = read_end[1], .events = POLLIN } };
	int64_t end = clock_now_ms() + COMPILE_SECONDS_MAX * 1000;
	int open = STREAMS;

	while (open > 0) {
		int64_t left = end - clock_now_ms();
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(fds, STREAMS, (int) left) < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < STREAMS; i++) {
			if (fds[i].fd < 0 || !fds[i].revents || take(fds[i].fd, to[i]))
				continue;
			fds[i].fd = -1;
			open--;
		}
	}
	return 0;
}

static int explain(int failure, int status, const struct buf *words, const char *name, struct err *err)
{
	size_t line = strcspn(buf_cstr(words), "\n");

	if (failure == -ETIMEDOUT)
		return err_set(err, ERR_SYSTEM, ETIMEDOUT, "'%s' was not understood within %d seconds", name, COMPILE_SECONDS_MAX);
	if (failure < 0)
		return err_set(err, ERR_SYSTEM, -failure, "cloche-compile, which reads '%s', cannot be waited for: %m", name);
	if (WIFSIGNALED(status))
		return err_set(err, ERR_SYSTEM, ECHILD, "cloche-compile, which reads '%s', was ended by signal %d", name, WTERMSIG(status));
	if (line == 0)
		return err_set(err, ERR_SYSTEM, ECHILD, "cloche-compile, which reads '%s', failed without a word (exit status %d)", name,
			       WEXITSTATUS(status));
	return err_set(err, ERR_USAGE, EINVAL, "%.*s", (int) line, buf_cstr(words));
}

static int run(const char *path, const char *what, int input_fd, const char *name, struct buf *out, struct err *err)
{
	_cleanup_buf_ struct buf words = BUF_INIT(ERR_TEXT_MAX * 4);
	struct buf *const to[STREAMS] = { out, &words };
	int result[2], errors[2], status = 0;

	if (pipe2(result, O_CLOEXEC) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a pipe: %m");
	_cleanup_fd_ int result_read = result[0], result_write = result[1];
	if (pipe2(errors, O_CLOEXEC) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a pipe: %m");
	_cleanup_fd_ int errors_read = errors[0], errors_write = errors[1];
	const int read_end[STREAMS] = { result_read, errors_read };
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot start cloche-compile: %m");
	if (pid == 0)
		become(path, what, name, input_fd, (const int[STREAMS]) { result_write, errors_write }, parent);
	result_write = fd_close(result_write);
	errors_write = fd_close(errors_write);
	int r = collect(read_end, to);
	if (r < 0 || buf_error(out) < 0)
		(void) kill(pid, SIGKILL);
	(void) proc_wait(pid, &status);
	if (buf_error(out) < 0)
		return err_set(err, ERR_SYSTEM, -buf_error(out), "the result of '%s' cannot be taken: %m", name);
	return r < 0 || status != 0 ? explain(r, status, &words, name, err) : 0;
}

int compile_run(const char *what, int input_fd, const char *name, struct buf *out, struct err *err)
{
	struct host_program program = { .tree_fd = -EBADF };
	int r = host_find_program(&program, "cloche-compile", err);

	if (r == 0)
		r = run(program.path, what, input_fd, name, out, err);
	free(program.path);
	return r;
}
