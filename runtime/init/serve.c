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

#include "runtime/base/clock.h"
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
	struct initmsg_exited exited;
	struct timespec start;
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
	struct watchdog watchdog;
	int64_t next_look_ms; /* on clock_now_ms() */
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

static bool is_any_alive(const struct serve *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->commands); i++)
		if (s->commands[i].id)
			return true;
	return false;
}

static struct initmsg_denials *denials_of(const struct serve *s, const struct command *c)
{
	return &s->denials[c - s->commands];
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
		.filter = s->filter, .denials = denials_of(s, c),
	};
	*request.denials = (struct initmsg_denials) { 0 };
	bool was_idle = !is_any_alive(s);
	reprotect_all(s->protected);
	int report_fd = -EBADF;
	pid_t shim = command_start(&request, &report_fd);
	if (shim < 0) {
		refuse(s, client, req.id, INITMSG_STEP_SETUP, -shim);
		return;
	}
	*c = (struct command) { .id = req.id, .client = client, .shim = shim, .report_fd = report_fd };
	c->exited.head = (struct initmsg_head) { INITMSG_EXITED, req.id };
	c->start = clock_now();
	if (was_idle) /* the time of the next look is an old one */
		s->next_look_ms = clock_now_ms() + watchdog_pause_ms(&s->watchdog, 0, 0);
}

static void kill_command(struct serve *s, enum client client)
{
	struct command *c = find_command(s, client, message.head.id);

	/* The first process of a PID namespace takes all others with it. A command that is over already is no error. */
	if (message.head.id && c) {
		c->exited.killed = INITMSG_KILLED_ON_REQUEST;
		(void) kill(c->shim, SIGKILL);
	}
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
	c->exited.metrics.wall_us = clock_us_since(&c->start);
	c->exited.sandbox.memory = s->watchdog.limit;
	c->exited.denials = *denials_of(s, c);
	answer(s, c->client, &c->exited, sizeof(c->exited));
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
		c->exited.wait_status = SIGKILL;
		return;
	}
	if (report.type == INITMSG_STARTED) {
		struct initmsg_started msg = { .head = { INITMSG_STARTED, c->id } };
		answer(s, c->client, &msg, sizeof(msg));
	} else if (report.type == INITMSG_REFUSED) {
		refuse(s, c->client, c->id, report.step, (int) report.errnum);
		free_command(c);
	} else {
		c->exited.wait_status = report.wait_status;
		c->exited.metrics.cpu_user_us = report.cpu_user_us;
		c->exited.metrics.cpu_system_us = report.cpu_system_us;
		c->exited.metrics.max_rss = report.max_rss_kib * 1024;
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
	}
}

static void kill_for_memory(struct command *c)
{
	c->exited.killed = INITMSG_KILLED_MEMORY_ALL;
	(void) kill(c->shim, SIGKILL);
}

/* Looks how much memory the commands use, and kills the one with the most when it is too much. */
static void look_at_memory(struct serve *s)
{
	struct watchdog_tree trees[INITMSG_COMMANDS_MAX];
	struct timespec start = clock_now();
	size_t largest = 0;

	for (size_t i = 0; i < ARRAY_LEN(trees); i++)
		trees[i] = (struct watchdog_tree) { .root = s->commands[i].id ? s->commands[i].shim : 0 };
	uint64_t used = watchdog_look(&s->watchdog, trees, ARRAY_LEN(trees));
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		struct initmsg_exited *exited = &s->commands[i].exited;
		exited->metrics.memory_peak = MAX(exited->metrics.memory_peak, trees[i].bytes);
		if (trees[i].bytes > trees[largest].bytes)
			largest = i;
	}
	if (used > s->watchdog.limit && s->commands[largest].id)
		kill_for_memory(&s->commands[largest]);
	s->next_look_ms = clock_now_ms() + watchdog_pause_ms(&s->watchdog, used, clock_us_since(&start));
}

/* Milliseconds that poll(2) may wait: until the next look at the memory of the commands, if there are any. */
static int time_to_wait(struct serve *s)
{
	if (s->watchdog.limit == 0 || !is_any_alive(s))
		return -1;
	if (clock_now_ms() >= s->next_look_ms)
		look_at_memory(s);
	return (int) MAX(s->next_look_ms - clock_now_ms(), (int64_t) 0);
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
		if (poll(fds, ARRAY_LEN(fds), time_to_wait(s)) < 0) {
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
	s.watchdog = session->watchdog;
	s.denials = share_denials();
	loop(&s);
}
