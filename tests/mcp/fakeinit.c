/*
 * A stand-in for cloche-init WITHOUT any isolation, for tests of cloche-mcp alone. Built for tests, never installed.
 *
 *     fakeinit [--exit-after N] [--denied NR ERRNO TIMES]... [--tell FIGURE NUMBER]... PROGRAM ARGUMENT…
 *
 * Starts PROGRAM with the socket of runtime/spec/initmsg.h on descriptor 3 and serves it: commands are started in a
 * process group of their own with posix_spawn(3) and killed as a group. Ends with the exit status of PROGRAM. With
 * --exit-after, it closes the socket after N commands have been asked for, as an init that dies would. With --denied it
 * tells of every command that this system call was refused so often; beyond eight, they only count. With --tell it says of every
 * command that this is what it used or may use at most, whatever is true: FIGURE is a name of the table below. A command's limits are
 * those told, or what was asked for, cut to the sandbox's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/str.h"
#include "runtime/spec/initmsg.h"

enum { SERVER_FD = 3, STRINGS_MAX = 1 + INITMSG_ARGC_MAX + INITMSG_ENVC_MAX };

static struct command {
	uint32_t id;
	pid_t pid; /* 0 = free */
	bool killed;
	struct initmsg_limits limits;
	struct timespec start;
} commands[INITMSG_COMMANDS_MAX];

static char packet[INITMSG_MAX];
static struct initmsg_denials denials;

/* What is told of every command, with the figures that are. */
static struct initmsg_exited told;

#define FIGURE(name, member) { name, offsetof(struct initmsg_exited, member), sizeof(((struct initmsg_exited *) NULL)->member), false }
static struct figure {
	const char *name;
	size_t offset, size;
	bool told;
} figures[] = {
	FIGURE("killed", killed), FIGURE("measured", metrics.measured), FIGURE("wall-us", metrics.wall_us),
	FIGURE("memory-peak", metrics.memory_peak), FIGURE("processes-peak", metrics.processes_peak),
	FIGURE("read-bytes", metrics.read_bytes), FIGURE("written-bytes", metrics.written_bytes),
	FIGURE("throttled-us", metrics.throttled_us), FIGURE("pids-refused", metrics.pids_refused),
	FIGURE("oom-kills", metrics.oom_kills), FIGURE("limit-memory", limits.memory), FIGURE("limit-cpu-milli", limits.cpu_milli),
	FIGURE("limit-pids", limits.pids), FIGURE("sandbox-memory", sandbox.memory), FIGURE("sandbox-cpu-milli", sandbox.cpu_milli),
	FIGURE("sandbox-pids", sandbox.pids),
};

static void die(const char *what)
{
	fprintf(stderr, "fakeinit: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void send_message(int sock, const void *m, size_t len)
{
	if (fdpass_send(sock, m, len, NULL, 0) < 0)
		errno = 0; /* the server is going; its end will be noticed */
}

static void send_refused(int sock, uint32_t id, uint32_t step, int errnum)
{
	struct initmsg_refused m = { { INITMSG_REFUSED, id }, step, (uint32_t) errnum };

	send_message(sock, &m, sizeof(m));
}

static struct command *find(uint32_t id, bool free_slot)
{
	for (size_t i = 0; i < INITMSG_COMMANDS_MAX; i++)
		if (free_slot ? commands[i].pid == 0 : commands[i].pid > 0 && commands[i].id == id)
			return &commands[i];
	return NULL;
}

/* The strings of the packet; false when counts and sizes do not agree exactly. */
static bool split(const struct initmsg_spawn *m, size_t len, char *strings[STRINGS_MAX])
{
	char *p = packet + sizeof(*m), *end = packet + len;

	if (len != sizeof(*m) + m->strings_size || m->argc < 1 || m->argc > INITMSG_ARGC_MAX ||
	    m->envc > INITMSG_ENVC_MAX)
		return false;
	for (uint32_t i = 0; i < 1 + m->argc + m->envc; i++) {
		char *nul = memchr(p, '\0', (size_t) (end - p));
		if (!nul)
			return false;
		strings[i] = p;
		p = nul + 1;
	}
	return p == end;
}

static int start(const char *cwd, char *const argv[], const int fds[INITMSG_SPAWN_FDS], pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;

	(void) sigemptyset(&none);
	(void) posix_spawnattr_init(&attr);
	(void) posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	(void) posix_spawnattr_setsigmask(&attr, &none);
	(void) posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < INITMSG_SPAWN_FDS; i++)
		(void) posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	(void) posix_spawn_file_actions_addchdir_np(&actions, cwd);
	int r = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv, environ);
	(void) posix_spawn_file_actions_destroy(&actions);
	(void) posix_spawnattr_destroy(&attr);
	return r;
}

static uint64_t cut(uint64_t asked, uint64_t own, uint64_t sandbox)
{
	uint64_t limit = asked ? asked : own;

	return sandbox && (limit == 0 || limit > sandbox) ? sandbox : limit;
}

static struct initmsg_limits limits_of(const struct initmsg_limits *asked)
{
	return (struct initmsg_limits) {
		.memory = cut(asked->memory, told.limits.memory, told.sandbox.memory),
		.cpu_milli = (uint32_t) cut(asked->cpu_milli, told.limits.cpu_milli, told.sandbox.cpu_milli),
		.pids = (uint32_t) cut(asked->pids, told.limits.pids, told.sandbox.pids),
	};
}

static void spawn(int sock, size_t len, const int *fds, size_t nfds)
{
	struct initmsg_spawn m;
	char *strings[STRINGS_MAX + 1] = { NULL };
	struct command *c = find(0, true);

	memcpy(&m, packet, sizeof(m));
	if (nfds != INITMSG_SPAWN_FDS || !split(&m, len, strings))
		return send_refused(sock, m.head.id, INITMSG_STEP_REQUEST, EPROTO);
	if (!c)
		return send_refused(sock, m.head.id, INITMSG_STEP_REQUEST, EAGAIN);
	strings[1 + m.argc] = NULL;
	(void) clock_gettime(CLOCK_MONOTONIC, &c->start);
	pid_t pid = 0;
	int r = start(strings[0], strings + 1, fds, &pid);
	if (r != 0)
		return send_refused(sock, m.head.id, INITMSG_STEP_EXEC, r);
	c->id = m.head.id;
	c->pid = pid;
	c->killed = false;
	c->limits = limits_of(&m.limits);
	struct initmsg_started started = { { INITMSG_STARTED, m.head.id } };
	send_message(sock, &started, sizeof(started));
}

static void tell(struct initmsg_exited *m)
{
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		if (figures[i].told)
			memcpy((char *) m + figures[i].offset, (const char *) &told + figures[i].offset, figures[i].size);
}

static uint64_t microseconds(struct timeval tv)
{
	return (uint64_t) tv.tv_sec * 1000000 + (uint64_t) tv.tv_usec;
}

/* Reaps what ended. Returns the exit status of @server when it was among it, else -1. */
static int reap(int sock, pid_t server)
{
	struct rusage usage;
	int status;

	for (pid_t pid = wait4(-1, &status, WNOHANG, &usage); pid > 0; pid = wait4(-1, &status, WNOHANG, &usage)) {
		if (pid == server)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		for (size_t i = 0; i < INITMSG_COMMANDS_MAX; i++) {
			struct command *c = &commands[i];
			if (c->pid != pid)
				continue;
			struct timespec now;
			(void) clock_gettime(CLOCK_MONOTONIC, &now);
			struct initmsg_exited m = {
				.head = { INITMSG_EXITED, c->id },
				.wait_status = status,
				.killed = c->killed,
				.metrics.wall_us = (uint64_t) (now.tv_sec - c->start.tv_sec) * 1000000 +
					   (uint64_t) (now.tv_nsec / 1000 + 1000000 - c->start.tv_nsec / 1000) -
					   1000000,
				.metrics.cpu_user_us = microseconds(usage.ru_utime),
				.metrics.cpu_system_us = microseconds(usage.ru_stime),
				.metrics.max_rss = (uint64_t) usage.ru_maxrss * 1024,
				.metrics.read_bytes = INITMSG_UNKNOWN,
				.metrics.written_bytes = INITMSG_UNKNOWN,
				.metrics.throttled_us = INITMSG_UNKNOWN,
				.denials = denials,
			};
			tell(&m);
			m.limits = c->limits;
			(void) kill(-pid, SIGKILL); /* what it left in its group */
			c->pid = 0;
			send_message(sock, &m, sizeof(m));
		}
	}
	return -1;
}

/* One message of the server. False at the end of its stream. */
static bool take_message(int sock, uint64_t *spawns)
{
	int fds[INITMSG_SPAWN_FDS];
	size_t nfds;
	ssize_t len = fdpass_recv(sock, packet, sizeof(packet), fds, INITMSG_SPAWN_FDS, &nfds);
	struct initmsg_head head;

	if (len < (ssize_t) sizeof(head))
		return false;
	memcpy(&head, packet, sizeof(head));
	struct command *c = find(head.id, false);
	if (head.type == INITMSG_SPAWN && (size_t) len >= sizeof(struct initmsg_spawn)) {
		++*spawns;
		spawn(sock, (size_t) len, fds, nfds);
	} else if (head.type == INITMSG_KILL && c) {
		c->killed = true;
		(void) kill(-c->pid, SIGKILL);
	}
	for (size_t i = 0; i < INITMSG_SPAWN_FDS; i++)
		(void) fd_close(fds[i]);
	return true;
}

static pid_t start_server(char **argv, int sock)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		sigset_t none;
		(void) sigemptyset(&none);
		(void) sigprocmask(SIG_SETMASK, &none, NULL);
		if (sock == SERVER_FD ? fcntl(sock, F_SETFD, 0) < 0 : dup2(sock, SERVER_FD) < 0)
			_exit(99);
		execv(argv[0], argv);
		_exit(98);
	}
	return pid;
}

static void kill_all(void)
{
	for (size_t i = 0; i < INITMSG_COMMANDS_MAX; i++)
		if (commands[i].pid > 0)
			(void) kill(-commands[i].pid, SIGKILL);
}

static void add_denial(char *const words[])
{
	uint64_t nr, errnum, times;

	if (str_to_uint(words[0], 0, UINT32_MAX, &nr) < 0 || str_to_uint(words[1], 1, UINT32_MAX, &errnum) < 0 ||
	    str_to_uint(words[2], 1, UINT32_MAX, &times) < 0)
		die("--denied");
	if (denials.kinds == INITMSG_DENIALS_MAX)
		denials.others += (uint32_t) times;
	else
		denials.rows[denials.kinds++] = (struct initmsg_denial) { (uint32_t) nr, (uint32_t) errnum, (uint32_t) times };
}

static void add_figure(const char *name, const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		uint64_t value;
		if (strcmp(figures[i].name, name) != 0)
			continue;
		if (str_to_uint(text, 0, figures[i].size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX, &value) < 0)
			break;
		uint32_t small = (uint32_t) value;
		memcpy((char *) &told + figures[i].offset, figures[i].size == sizeof(small) ? (void *) &small : (void *) &value,
		       figures[i].size);
		figures[i].told = true;
		return;
	}
	die("--tell");
}

int main(int argc, char **argv)
{
	uint64_t exit_after = UINT64_MAX, spawns = 0;
	sigset_t chld;
	int pair[2], status = -1, first = 1;

	if (argc > 3 && strcmp(argv[1], "--exit-after") == 0) {
		if (str_to_uint(argv[2], 0, 1000, &exit_after) < 0)
			die("--exit-after");
		first = 3;
	}
	for (; argc > first + 4 && strcmp(argv[first], "--denied") == 0; first += 4)
		add_denial(argv + first + 1);
	for (; argc > first + 3 && strcmp(argv[first], "--tell") == 0; first += 3)
		add_figure(argv[first + 1], argv[first + 2]);
	if (argc <= first || fd_ensure_stdio() < 0)
		die("usage: fakeinit [--exit-after N] PROGRAM ARGUMENT...");
	(void) sigemptyset(&chld);
	(void) sigaddset(&chld, SIGCHLD);
	(void) sigprocmask(SIG_BLOCK, &chld, NULL);
	(void) signal(SIGTERM, SIG_IGN);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	int signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	pid_t server = start_server(argv + first, pair[1]);
	(void) fd_close(pair[1]);
	int sock = pair[0];
	(void) close(STDIN_FILENO); /* the streams belong to the server alone */
	(void) close(STDOUT_FILENO);

	while (status < 0) {
		struct pollfd p[] = { { .fd = signals, .events = POLLIN }, { .fd = sock, .events = POLLIN } };
		struct signalfd_siginfo info;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			die("poll");
		if (p[0].revents && read(signals, &info, sizeof(info)) < 0)
			errno = 0;
		if (sock >= 0 && p[1].revents && (!take_message(sock, &spawns) || spawns >= exit_after))
			sock = fd_close(sock);
		status = reap(sock, server);
	}
	kill_all();
	return status;
}
