/*
 * Serves the requests of an MCP session: see serve.h. Runs in cloche-init.
 */
#include "runtime/init/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/init/die.h"
#include "runtime/init/request.h"

enum { CLIENTS = 2 };

enum client { CLIENT_SUPERVISOR, CLIENT_SERVER };

struct command {
	uint32_t id; /* 0 = this slot is free */
	enum client client;
	pid_t shim;
	int report_fd;
	struct command_report report; /* the last one */
};

struct serve {
	int clients[CLIENTS]; /* sockets, or -EBADF */
	int signal_fd;
	pid_t server;
	struct command commands[INITMSG_COMMANDS_MAX];
	struct initmsg_denials *denials; /* of each command; shared with the shims, which fill them */
	const struct command_limits *limits;
	const struct seccomp_program *filter;
	bool shared_proc;
	const struct reprotect *protected;
	const char *const *env;
	struct govern *govern; /* its rows are beside ours */
};

static union {
	struct initmsg_head head;
	struct initmsg_signal signal;
	char bytes[INITMSG_MAX];
} message;

/* A client that does not read its answers would stop us; it is ended instead, and the sandbox with it. */
static void answer(struct serve *s, enum client client, const void *data, size_t len)
{
	int r = fdpass_send(s->clients[client], data, len, NULL, 0);

	if (r < 0 && r != -EPIPE && r != -ECONNRESET && r != -EBADF)
		die("a client does not read its answers", -r);
}

static void refuse(struct serve *s, enum client client, uint32_t id, enum initmsg_step step, int errnum)
{
	struct initmsg_refused msg = { .head = { INITMSG_REFUSED, id }, .step = step, .errnum = (uint32_t) errnum };

	answer(s, client, &msg, sizeof(msg));
}

static struct command *find_command(struct serve *s, enum client client, uint32_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(s->commands); i++)
		if (s->commands[i].id == id && (id == 0 || s->commands[i].client == client))
			return &s->commands[i];
	return NULL;
}

static size_t row_of(const struct serve *s, const struct command *c)
{
	return (size_t) (c - s->commands);
}

static void start_command(struct serve *s, enum client client, size_t len, const int *fds, size_t nfds)
{
	static struct request req;

	if (nfds != INITMSG_SPAWN_FDS || request_parse(&req, &message, len, s->env) < 0 ||
	    find_command(s, client, req.id)) {
		refuse(s, client, message.head.id, INITMSG_STEP_REQUEST, EPROTO);
		return;
	}
	struct command *c = find_command(s, client, 0);
	if (!c) {
		refuse(s, client, req.id, INITMSG_STEP_REQUEST, EAGAIN);
		return;
	}
	struct command_request request = {
		.cwd = req.cwd, .argv = req.argv, .envp = req.envp, .stdio = fds, .limits = s->limits,
		.shared_proc = s->shared_proc,
		.filter = s->filter, .denials = &s->denials[row_of(s, c)],
	};
	*request.denials = (struct initmsg_denials) { 0 };
	reprotect_all(s->protected);
	*c = (struct command) { .client = client, .report_fd = -EBADF };
	pid_t shim = govern_begin(s->govern, row_of(s, c), &req.limits, &request);
	if (shim == 0) {
		shim = command_start(&request, &c->report_fd);
		govern_begun(s->govern, row_of(s, c), shim);
	}
	if (shim < 0) {
		refuse(s, client, req.id, INITMSG_STEP_SETUP, -shim);
		return;
	}
	c->id = req.id;
	c->shim = shim;
	/* What is reported of one that is killed before it could report. */
	c->report = (struct command_report) {
		.wait_status = SIGKILL, .cpu_user_us = INITMSG_UNKNOWN, .cpu_system_us = INITMSG_UNKNOWN,
		.read_bytes = INITMSG_UNKNOWN, .written_bytes = INITMSG_UNKNOWN,
	};
}

static void kill_command(struct serve *s, enum client client)
{
	struct command *c = find_command(s, client, message.head.id);

	/* One that is over already is no error. */
	if (message.head.id && c)
		govern_kill(s->govern, row_of(s, c));
}

static void pass_signal(struct serve *s, enum client client)
{
	int signo = (int) message.signal.signo;

	if (signo < 1 || signo > 31)
		return;
	if (message.head.id == 0) {
		if (client == CLIENT_SUPERVISOR && s->server > 0)
			(void) kill(s->server, signo);
		return;
	}
	struct command *c = find_command(s, client, message.head.id);
	if (c)
		(void) kill(c->shim, signo);
}

/* One message of a client. False when the client is gone. */
static bool take_message(struct serve *s, enum client client)
{
	int fds[INITMSG_SPAWN_FDS];
	size_t nfds = 0;
	ssize_t n = fdpass_recv(s->clients[client], &message, sizeof(message), fds, ARRAY_LEN(fds), &nfds);

	if (n == -EAGAIN)
		return true;
	if (n == -EMSGSIZE || n == -EPROTO) {
		refuse(s, client, 0, INITMSG_STEP_REQUEST, (int) -n);
		return true;
	}
	if (n < (ssize_t) sizeof(message.head))
		return false;
	if (message.head.type == INITMSG_SPAWN)
		start_command(s, client, (size_t) n, fds, nfds);
	else if (message.head.type == INITMSG_KILL && n == (ssize_t) sizeof(struct initmsg_kill))
		kill_command(s, client);
	else if (message.head.type == INITMSG_SIGNAL && n == (ssize_t) sizeof(struct initmsg_signal))
		pass_signal(s, client);
	else
		refuse(s, client, message.head.id, INITMSG_STEP_REQUEST, EPROTO);
	for (size_t i = 0; i < nfds; i++)
		(void) fd_close(fds[i]);
	return true;
}

static void free_command(struct command *c)
{
	c->report_fd = fd_close(c->report_fd);
	c->id = 0;
}

/* Nothing of a command is left. */
static void end_command(struct serve *s, struct command *c)
{
	struct initmsg_exited msg = {
		.head = { INITMSG_EXITED, c->id }, .wait_status = c->report.wait_status, .denials = s->denials[row_of(s, c)] };

	govern_end(s->govern, row_of(s, c), &c->report, &msg);
	answer(s, c->client, &msg, sizeof(msg));
	free_command(c);
}

/* Reads what a shim reports. */
static void take_report(struct serve *s, struct command *c)
{
	struct command_report report;
	ssize_t n = read(c->report_fd, &report, sizeof(report));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t) sizeof(report)) {
		/* Killed before it could report, by us or for want of memory: the end comes when the shim is reaped. */
		c->report_fd = fd_close(c->report_fd);
		return;
	}
	if (report.type == INITMSG_STARTED) {
		struct initmsg_started msg = { .head = { INITMSG_STARTED, c->id } };
		answer(s, c->client, &msg, sizeof(msg));
	} else if (report.type == INITMSG_REFUSED) {
		refuse(s, c->client, c->id, report.step, (int) report.errnum);
		govern_forget(s->govern, row_of(s, c));
		free_command(c);
	} else {
		c->report = report;
		end_command(s, c);
	}
}

/* A shim was reaped: what it may have reported comes first, else its command ends here. */
static void end_reaped(struct serve *s, struct command *c)
{
	while (c->id && c->report_fd >= 0)
		take_report(s, c);
	if (c->id)
		end_command(s, c);
}

_noreturn_ static void end_with_server(int status)
{
	_exit(proc_exit_status(status));
}

static void reap(struct serve *s)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(s->signal_fd, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->server)
			end_with_server(status);
		for (size_t i = 0; i < ARRAY_LEN(s->commands); i++)
			if (s->commands[i].id && s->commands[i].shim == pid)
				end_reaped(s, &s->commands[i]);
		govern_reaped(s->govern);
	}
}

_noreturn_ static void loop(struct serve *s)
{
	struct pollfd fds[CLIENTS + 1 + INITMSG_COMMANDS_MAX];

	for (;;) {
		for (size_t i = 0; i < CLIENTS; i++)
			fds[i] = (struct pollfd) { .fd = s->clients[i], .events = POLLIN };
		fds[CLIENTS] = (struct pollfd) { .fd = s->signal_fd, .events = POLLIN };
		for (size_t i = 0; i < INITMSG_COMMANDS_MAX; i++) {
			const struct command *c = &s->commands[i];
			fds[CLIENTS + 1 + i] = (struct pollfd) { .fd = c->id ? c->report_fd : -1, .events = POLLIN };
		}
		if (poll(fds, ARRAY_LEN(fds), govern_tick(s->govern)) < 0) {
			if (errno != EINTR)
				die("poll", errno);
			continue;
		}
		for (size_t i = 0; i < INITMSG_COMMANDS_MAX; i++)
			if (fds[CLIENTS + 1 + i].revents)
				take_report(s, &s->commands[i]);
		if (fds[CLIENTS].revents)
			reap(s);
		if (fds[CLIENT_SUPERVISOR].revents && !take_message(s, CLIENT_SUPERVISOR))
			_exit(0);
		if (fds[CLIENT_SERVER].revents && !take_message(s, CLIENT_SERVER))
			s->clients[CLIENT_SERVER] = fd_close(s->clients[CLIENT_SERVER]);
	}
}

/* A shim remembers here what was refused to its command, so that we know it also when we had to kill it. */
static struct initmsg_denials *share_denials(void)
{
	void *memory = mmap(NULL, sizeof(struct initmsg_denials) * INITMSG_COMMANDS_MAX, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("memory", errno);
	return memory;
}

_noreturn_ void serve(const struct serve_session *session)
{
	static struct serve s;

	s.clients[CLIENT_SUPERVISOR] = session->control_fd;
	s.clients[CLIENT_SERVER] = session->server_fd;
	s.signal_fd = session->signal_fd;
	s.server = session->server;
	s.limits = session->limits;
	s.filter = session->filter;
	s.env = session->env;
	s.protected = session->protected;
	s.shared_proc = session->shared_proc;
	s.govern = session->govern;
	s.denials = share_denials();
	loop(&s);
}
