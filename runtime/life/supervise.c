/*
 * The supervisor: see supervise.h. Runs on the host as the invoking user, without privilege, in the process that the caller
 * started. It holds no state but the sandbox's PID 1 and its control socket: when it dies, the kernel ends the sandbox.
 */
#include "runtime/life/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/spec/denial_text.h"
#include "runtime/spec/limits_text.h"

enum { GRACE_MS = 2000 }; /* between asking the server to end and killing the sandbox */

static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH };

static void signal_set(sigset_t *set)
{
	(void) sigemptyset(set);
	for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
		(void) sigaddset(set, passed_on[i]);
}

int supervise_block_signals(void)
{
	sigset_t set;

	signal_set(&set);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

/* One watch over a sandbox: what happened first? */
struct watch {
	struct sandbox *sandbox;
	int signal_fd;
	int timeout_ms; /* -1 = none */
};

enum event {
	EVENT_ENDED,   /* init is over */
	EVENT_SIGNAL,  /* *ret_signo */
	EVENT_MESSAGE, /* a message waits on the control socket */
	EVENT_TIMEOUT,
};

static enum event wait_event(struct watch *w, int *ret_signo)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = w->sandbox->control_fd, .events = POLLIN },
			{ .fd = w->signal_fd, .events = POLLIN },
			{ .fd = w->sandbox->pid_fd, .events = POLLIN },
		};
		int n = poll(fds, ARRAY_LEN(fds), w->timeout_ms);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return EVENT_TIMEOUT;
		/* A message may tell how the command ended, so it comes before the end of init. */
		if (fds[0].revents & POLLIN)
			return EVENT_MESSAGE;
		if (fds[2].revents)
			return EVENT_ENDED;
		if (fds[1].revents & POLLIN) {
			struct signalfd_siginfo info;
			if (read(w->signal_fd, &info, sizeof(info)) == (ssize_t) sizeof(info)) {
				*ret_signo = (int) info.ssi_signo;
				return EVENT_SIGNAL;
			}
		}
		if (fds[0].revents) /* hung up without a message: init is about to be over */
			w->sandbox->control_fd = fd_close(w->sandbox->control_fd);
	}
}

static void send_signal(const struct sandbox *sandbox, uint32_t id, int signo)
{
	struct initmsg_signal msg = { .head = { INITMSG_SIGNAL, id }, .signo = (uint32_t) signo };

	/* A failure means that init is over; the watch sees that by itself. */
	IGNORE_RESULT(fdpass_send(sandbox->control_fd, &msg, sizeof(msg), NULL, 0));
}

/* Ends whatever is left, waits for init and returns its wait status. */
static int finish(struct sandbox *sandbox)
{
	int status = 0;

	sandbox->control_fd = fd_close(sandbox->control_fd);
	(void) sysx_pidfd_send_signal(sandbox->pid_fd, SIGKILL);
	(void) proc_wait(sandbox->pid, &status);
	sandbox->pid_fd = fd_close(sandbox->pid_fd);
	(void) cgroup_node_finish(&sandbox->cgroup); /* what is left of it, a later launch removes */
	janitor_finish(&sandbox->janitor);
	state_done(&sandbox->state);
	return status;
}

/* What killed supervisors have left, now that the sandbox runs and there is nothing better to do. */
static void sweep_some(const struct sandbox *sandbox)
{
	state_sweep_some(&sandbox->state);
	cgroup_node_sweep_some(sandbox->cgroup.base_fd, sandbox->cgroup.name);
}

static int open_signals(struct err *err)
{
	sigset_t set;

	signal_set(&set);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_set(err, ERR_SYSTEM, errno, "cannot watch for signals: %m") : fd;
}

static int explain_refusal(const struct initmsg_refused *refused, const char *workdir, const char *command, struct err *err)
{
	int errnum = (int) refused->errnum;

	if (refused->step == INITMSG_STEP_CWD)
		return err_set(err, ERR_SYSTEM, errnum, "the working directory '%s' inside the sandbox: %m", workdir);
	if (refused->step != INITMSG_STEP_EXEC)
		return err_set(err, ERR_SYSTEM, errnum, "the sandbox cannot start a command: %m");
	if (errnum == ENOENT)
		return err_set(err, ERR_NOT_FOUND, errnum,
			       "'%s' was not found inside the sandbox. It sees the host's /usr and the workspace, nothing of your home: "
			       "give more with -v", command);
	return err_set(err, ERR_NOT_EXEC, errnum, "'%s' cannot be executed inside the sandbox: %m", command);
}

/* The limits that the command felt: memory at its end, others when it failed, perhaps for this reason. */
static void tell_limits(const struct initmsg_exited *exited, const char *command)
{
	_cleanup_buf_ struct buf lines = BUF_INIT(LIMITS_TEXT_MAX);
	const struct limits_told told = {
		.metrics = &exited->metrics, .limits = &exited->limits, .sandbox = &exited->sandbox, .killed = exited->killed,
		.failed = exited->wait_status != 0,
	};

	if (limits_out_of_memory(&told)) {
		limits_add_memory(&lines, &told);
		(void) dprintf(STDERR_FILENO, "cloche: '%s' was %s\n", command, buf_cstr(&lines));
		buf_clear(&lines);
	}
	if (told.failed && limits_add_others(&lines, &told, "cloche: limit of the sandbox: ", "\n") > 0)
		IGNORE_RESULT(fd_write_all(STDERR_FILENO, buf_cstr(&lines), lines.len)); /* nobody else to tell */
}

/* What the filter refused to a command that failed, perhaps for this reason. */
static void tell_denials(const struct initmsg_exited *exited)
{
	_cleanup_buf_ struct buf lines = BUF_INIT(DENIAL_TEXT_MAX);

	if (exited->wait_status != 0 && denial_text(&lines, &exited->denials, "cloche: denied by the sandbox: ", "\n") > 0)
		IGNORE_RESULT(fd_write_all(STDERR_FILENO, buf_cstr(&lines), lines.len)); /* nobody else to tell */
}

/* Takes one message of init. Returns true when the command is over, with *@ret its exit status or -errno. */
static bool take_message(struct sandbox *sandbox, const char *workdir, const char *command, int *ret, struct err *err)
{
	union {
		struct initmsg_head head;
		struct initmsg_refused refused;
		struct initmsg_exited exited;
	} msg;
	size_t nfds;
	ssize_t n = fdpass_recv(sandbox->control_fd, &msg, sizeof(msg), NULL, 0, &nfds);

	if (n == (ssize_t) sizeof(msg.exited) && msg.head.type == INITMSG_EXITED) {
		tell_limits(&msg.exited, command);
		tell_denials(&msg.exited);
		*ret = proc_exit_status(msg.exited.wait_status);
		return true;
	}
	if (n == (ssize_t) sizeof(msg.refused) && msg.head.type == INITMSG_REFUSED) {
		*ret = explain_refusal(&msg.refused, workdir, command, err);
		return true;
	}
	if (n <= 0)
		sandbox->control_fd = fd_close(sandbox->control_fd);
	return false;
}

static int watch_command(struct watch *w, const char *workdir, const char *command, struct err *err)
{
	for (;;) {
		int signo = 0, result;

		switch (wait_event(w, &signo)) {
		case EVENT_SIGNAL:
			send_signal(w->sandbox, SPAWNMSG_ID, signo);
			break;
		case EVENT_MESSAGE:
			if (take_message(w->sandbox, workdir, command, &result, err))
				return result;
			break;
		case EVENT_ENDED:
			return err_set(err, ERR_SYSTEM, ECHILD, "the sandbox was killed from outside before '%s' had ended", command);
		case EVENT_TIMEOUT:
			break;
		}
	}
}

int supervise_run(struct sandbox *sandbox, const char *workdir, const char *command, struct err *err)
{
	_cleanup_fd_ int signals = open_signals(err);
	int r = signals;

	sweep_some(sandbox);
	if (r >= 0) {
		struct watch w = { .sandbox = sandbox, .signal_fd = signals, .timeout_ms = -1 };
		r = watch_command(&w, workdir, command, err);
	}
	(void) finish(sandbox);
	return r;
}

int supervise_mcp(struct sandbox *sandbox, struct err *err)
{
	_cleanup_fd_ int signals = open_signals(err);
	struct watch w = { .sandbox = sandbox, .signal_fd = signals, .timeout_ms = -1 };
	bool over = signals < 0;

	sweep_some(sandbox);
	while (!over) {
		int signo = 0, ignored;

		switch (wait_event(&w, &signo)) {
		case EVENT_SIGNAL:
			if (signo == SIGUSR1 || signo == SIGUSR2 || signo == SIGWINCH)
				break;
			send_signal(sandbox, 0, SIGTERM);
			w.timeout_ms = GRACE_MS;
			break;
		case EVENT_MESSAGE:
			(void) take_message(sandbox, "", "", &ignored, NULL);
			break;
		case EVENT_ENDED:
		case EVENT_TIMEOUT:
			over = true;
			break;
		}
	}
	bool killed_by_us = w.timeout_ms >= 0;
	int status = finish(sandbox);
	if (signals < 0)
		return signals;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (killed_by_us)
		return 128 + SIGTERM;
	return err_set(err, ERR_SYSTEM, ECHILD, "the sandbox was killed from outside (signal %d)", WTERMSIG(status));
}
