/*
 * The one command of `cloche run`: see single.h. Runs in cloche-init.
 *
 * Init itself is what a shim is for the commands of an MCP session: the sandbox's PID namespace is the command's. It gives
 * up its capabilities as soon as the command runs (but for the one it needs to watch, caps.h), and is invisible to it (proc's hidepid).
 */
#include "runtime/init/single.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/sysx.h"
#include "runtime/init/die.h"
#include "runtime/init/request.h"
#include "runtime/kern/caps.h"

static char message[INITMSG_MAX];

_noreturn_ static void refuse(int control_fd, uint32_t id, uint32_t step, uint32_t errnum)
{
	struct initmsg_refused msg = { .head = { INITMSG_REFUSED, id }, .step = step, .errnum = errnum };

	/* Without a supervisor there is nobody to tell. */
	IGNORE_RESULT(fdpass_send(control_fd, &msg, sizeof(msg), NULL, 0));
	_exit(DIE_STATUS);
}

/* Waits for the request, puts its streams in place and parses it. */
static void receive(int control_fd, struct request *req, const char *const *env)
{
	int fds[INITMSG_SPAWN_FDS];
	size_t nfds = 0;
	ssize_t n = fdpass_recv(control_fd, message, sizeof(message), fds, ARRAY_LEN(fds), &nfds);

	if (n == 0)
		_exit(0);
	if (n < 0)
		die("the request", (int) -n);
	if (nfds != INITMSG_SPAWN_FDS || request_parse(req, message, (size_t) n, env) < 0)
		refuse(control_fd, 0, INITMSG_STEP_REQUEST, EPROTO);
	for (int i = 0; i < INITMSG_SPAWN_FDS; i++) {
		if (dup2(fds[i], i) < 0)
			refuse(control_fd, req->id, INITMSG_STEP_SETUP, (uint32_t) errno);
		(void) fd_close(fds[i]);
	}
}

/* Passes one signal on, or ends with the supervisor. */
static void take_signal(int control_fd, pid_t command)
{
	struct initmsg_signal msg;
	size_t nfds;
	ssize_t n = fdpass_recv(control_fd, &msg, sizeof(msg), NULL, 0, &nfds);

	if (n == (ssize_t) sizeof(msg) && msg.head.type == INITMSG_SIGNAL && msg.signo >= 1 && msg.signo <= 31)
		(void) kill(-command, (int) msg.signo);
	else if (n == 0 || (n < 0 && n != -EMSGSIZE && n != -EPROTO))
		_exit(0);
}

static void watch(int control_fd, int signal_fd, pid_t command, struct notify *notify, struct govern *govern, struct command_report *report)
{
	struct signalfd_siginfo info;

	while (!command_reap(command, report)) {
		struct pollfd fds[] = {
			{ .fd = signal_fd, .events = POLLIN },
			{ .fd = control_fd, .events = POLLIN },
			{ .fd = notify->listener, .events = POLLIN },
		};

		if (poll(fds, ARRAY_LEN(fds), govern_tick(govern)) < 0) {
			if (errno != EINTR)
				die("poll", errno);
			continue;
		}
		if (fds[0].revents)
			while (read(signal_fd, &info, sizeof(info)) > 0)
				;
		if (fds[1].revents)
			take_signal(control_fd, command);
		notify_ready(notify, fds[2].revents);
	}
}

_noreturn_ void single(int control_fd, int signal_fd, const struct command_limits *limits, const struct seccomp_program *filter,
		       const char *const *env, struct govern *govern)
{
	static struct request req;
	struct command_report report = { 0 };
	struct command_failure failure = { 0 };
	struct initmsg_denials denials = { 0 };
	struct notify notify;

	receive(control_fd, &req, env);
	struct command_request request = {
		.cwd = req.cwd, .argv = req.argv, .envp = req.envp, .limits = limits, .denials = &denials,
		.filter = filter,
	};
	int r = govern_begin(govern, 0, &req.limits, &request);
	if (r < 0)
		refuse(control_fd, req.id, INITMSG_STEP_SETUP, (uint32_t) -r);
	pid_t command = command_execute(&request, &notify, &failure);
	govern_begun(govern, 0, command < 0 ? command : 1);
	r = govern->watches ? caps_keep_to_watch() : caps_drop_all();
	if (r < 0)
		die("the capabilities", -r);
	/* The command's pipes must close when it closes them. */
	if (sysx_close_range(0, STDERR_FILENO, 0) < 0)
		_exit(DIE_STATUS);
	if (command < 0)
		refuse(control_fd, req.id, failure.step, failure.errnum);
	watch(control_fd, signal_fd, command, &notify, govern, &report);
	command_count_leftovers(&request, &report);
	struct initmsg_exited msg = { .head = { INITMSG_EXITED, req.id }, .wait_status = report.wait_status, .denials = denials };
	govern_end(govern, 0, &report, &msg);
	IGNORE_RESULT(fdpass_send(control_fd, &msg, sizeof(msg), NULL, 0));
	_exit(0);
}
