/*
 * A scope from systemd: see scope.h. Runs in the launcher and, between clone and exec, in the child that becomes cloche-scope.
 *
 * cloche-scope is not believed. It has an empty environment and one socket, its answer is a fixed structure whose words are for
 * people, and where the process is now is read from the kernel.
 */
#include "runtime/life/scope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/life/host.h"

enum {
	GRACE_MS = 500, /* the helper's own deadline comes first, since its words say more */
	CGROUP_TEXT_MAX = 8192,
	EXIT_NO_EXEC = 126,
};

#define SEE_USER "see whether it runs, with systemctl --user status; "
#define LINGER "log in in a session of your own, or let one always run: loginctl enable-linger"
#define OWN_CGROUP "use --cgroup PATH with a cgroup that is handed to you"
#define WITHOUT "--cgroup none does without"

/* What to do about each cause. */
static const struct {
	enum err_code code;
	const char *user, *system; /* the manager that was asked; @system NULL: the same */
} repairs[SCOPEMSG_CAUSES] = {
	[SCOPEMSG_NO_BUS] = { ERR_UNSUPPORTED, SEE_USER LINGER, OWN_CGROUP },
	[SCOPEMSG_UNTRUSTED] = { ERR_UNSUPPORTED, "unset XDG_RUNTIME_DIR and DBUS_SESSION_BUS_ADDRESS, or " OWN_CGROUP, OWN_CGROUP },
	[SCOPEMSG_NO_MANAGER] = { ERR_UNSUPPORTED, LINGER, OWN_CGROUP },
	[SCOPEMSG_REFUSED] = { ERR_UNSUPPORTED, "its reason is in the journal (journalctl --user -n 20); or " OWN_CGROUP,
			       "its reason is in the journal (journalctl -n 20); or " OWN_CGROUP },
	[SCOPEMSG_TOO_OLD] = { ERR_UNSUPPORTED, "update systemd, or " OWN_CGROUP, NULL },
	[SCOPEMSG_JOB] = { ERR_SYSTEM, "its reason is in the journal: journalctl --user -n 20", "its reason is in the journal: journalctl -n 20" },
	[SCOPEMSG_TIMEOUT] = { ERR_SYSTEM, SEE_USER WITHOUT, WITHOUT },
	[SCOPEMSG_BROKEN] = { ERR_SYSTEM, SEE_USER WITHOUT, WITHOUT },
	[SCOPEMSG_OURSELVES] = { ERR_SYSTEM, WITHOUT, NULL },
};

/* The path of cloche-scope (the caller's), or NULL with @err filled. */
static char *find_program(struct err *err)
{
	struct host_program program = { .tree_fd = -EBADF };

	if (host_find_program(&program, "cloche-scope", NULL) < 0)
		(void) err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "the program 'cloche-scope', which asks systemd, is not installed: cloche was built without libsystemd. Install it "
			       "(Debian: apt-get install libsystemd-dev), then ./configure, make and make install");
	return program.path;
}

int scope_is_likely(const struct scope_request *request, struct err *err)
{
	struct scope_sockets sockets;

	if (access("/run/systemd/system", F_OK) < 0)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "systemd does not run this host ('/run/systemd/system' is missing): use --cgroup PATH with a cgroup that is handed to "
			       "you");
	int r = scope_sockets_find(&sockets, request->system, err);
	if (r < 0)
		return r;
	char *program = find_program(err);
	r = program ? 0 : -ENOENT;
	free(program);
	return r;
}

/* In the child: from here to the exec nothing is allocated. Its streams lead nowhere, since the client's are not its business. */
_noreturn_ static void become(const char *program, const struct scope_sockets *sockets, int fd, pid_t parent)
{
	const char *argv[1 + SCOPEMSG_SOCKETS_MAX + 1] = { "cloche-scope" };
	const char *const env[] = { NULL };
	int sock = fcntl(fd, F_DUPFD_CLOEXEC, SCOPEMSG_FD + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < sockets->count; i++)
		argv[1 + i] = sockets->words[i];
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (null != i && dup2(null, i) < 0)
			_exit(EXIT_NO_EXEC);
	if (dup2(sock, SCOPEMSG_FD) == SCOPEMSG_FD && fd_cloexec_from(SCOPEMSG_FD + 1) == 0 &&
	    chdir("/") == 0 && proc_reset_signals() == 0 && proc_die_with_parent(parent) == 0)
		(void) execve(program, (char *const *) (uintptr_t) argv, (char *const *) (uintptr_t) env);
	_exit(EXIT_NO_EXEC);
}

/* A name that no other start has: of the launcher's number, for people who look, and a random one. */
static int name_unit(char unit[SCOPEMSG_UNIT_MAX])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t) sizeof(random))
		return -EIO;
	(void) snprintf(unit, SCOPEMSG_UNIT_MAX, SCOPEMSG_UNIT_PREFIX "%d-%016" PRIx64 SCOPEMSG_UNIT_SUFFIX, getpid(), random);
	return 0;
}

int scope_spawn_program(struct scope *s, const struct scope_request *request, const char *program, const struct scope_sockets *sockets,
			struct err *err)
{
	pid_t parent = getpid();
	int ends[2], r = name_unit(s->unit);

	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "no random name for a scope can be made: %m");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a socket for cloche-scope: %m");
	_cleanup_fd_ int ours = ends[0], theirs = ends[1];
	s->request = *request;
	s->pid = fork();
	if (s->pid < 0) {
		s->pid = 0;
		return err_set(err, ERR_SYSTEM, errno, "cannot start cloche-scope: %m");
	}
	if (s->pid == 0)
		become(program, sockets, theirs, parent);
	s->fd = TAKE_FD(ours);
	return 0;
}

int scope_spawn(struct scope *s, const struct scope_request *request, struct err *err)
{
	struct scope_sockets sockets;
	int r = scope_sockets_find(&sockets, request->system, err);
	char *program = r < 0 ? NULL : find_program(err);

	if (!program)
		return r < 0 ? r : -ENOENT;
	r = scope_spawn_program(s, request, program, &sockets, err);
	free(program);
	return r;
}

/* Waits for the answer. 1, 0 when the helper ended without one, -ETIMEDOUT, or -errno. */
static int receive(int fd, struct scopemsg_answer *answer)
{
	struct pollfd from = { .fd = fd, .events = POLLIN };
	int64_t end = clock_now_ms() + SCOPEMSG_WAIT_MS + GRACE_MS;
	size_t fds;
	int n;

	do {
		n = poll(&from, 1, (int) MAX(end - clock_now_ms(), 0));
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -ETIMEDOUT;
	ssize_t len = fdpass_recv(fd, answer, sizeof(*answer), NULL, 0, &fds);
	/* The kernel tells first, and once, that the helper ended without reading the request; its answer lies behind that. */
	if (len == -ECONNRESET)
		len = fdpass_recv(fd, answer, sizeof(*answer), NULL, 0, &fds);
	if (len <= 0)
		return (int) len;
	bool whole = len == (ssize_t) sizeof(*answer) && answer->cause < SCOPEMSG_CAUSES && answer->text[SCOPEMSG_TEXT_MAX - 1] == '\0' &&
		     (answer->cause == SCOPEMSG_NO_CAUSE || answer->errnum > 0);
	return whole ? 1 : -EPROTO;
}

/* The helper ended without an answer: its exit status is all there is. */
static int explain_end(struct scope *s, struct err *err)
{
	int status = 0;

	/* Without its socket it is of no use, whatever it still does. An end that has begun keeps its status. */
	(void) kill(s->pid, SIGKILL);
	(void) proc_wait(TAKE_VALUE(s->pid, 0), &status);
	if (WIFSIGNALED(status))
		return err_set(err, ERR_SYSTEM, ECHILD, "cloche-scope, which asks systemd for a cgroup, was ended by signal %d. %s", WTERMSIG(status),
			       WITHOUT);
	return err_set(err, ERR_SYSTEM, ECHILD, "cloche-scope, which asks systemd for a cgroup, %s (exit status %d). %s",
		       WEXITSTATUS(status) == EXIT_NO_EXEC ? "cannot be executed" : "ended without an answer", WEXITSTATUS(status),
		       "Install cloche completely, or do without: --cgroup none");
}

static int explain_answer(const struct scope *s, const struct scopemsg_answer *answer, struct err *err)
{
	bool system = s->request.system && repairs[answer->cause].system;
	char words[SCOPEMSG_TEXT_MAX];
	size_t n = 0;

	/* Written by us, or by somebody who took the helper over. */
	for (const char *c = answer->text; *c; c++)
		words[n++] = *c >= ' ' && *c <= '~' ? *c : '?';
	words[n] = '\0';
	return err_set(err, repairs[answer->cause].code, answer->errnum, "the %s manager of systemd gave no scope: %s. What to do: %s",
		       s->request.system ? "system" : "user", words,
		       system ? repairs[answer->cause].system : repairs[answer->cause].user);
}

/* The path in the line of cgroup v2, "0::PATH", which is the last one wherever other hierarchies are; cut out of @text. */
static char *unified_path(char *text)
{
	char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");

	if (!line)
		return NULL;
	line = strchr(line, '/');
	if (line)
		line[strcspn(line, "\n")] = '\0';
	return line;
}

/* Where the kernel says that @pid is: that must be the scope, seen from here. */
static int read_path(const struct scope *s, pid_t pid, char *ret_path, size_t size, struct err *err)
{
	char file[32], text[CGROUP_TEXT_MAX];

	(void) snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	ssize_t n = fd_read_text(AT_FDCWD, file, text, sizeof(text));
	if (n < 0)
		return err_set(err, ERR_SYSTEM, (int) -n, "'%s' cannot be read: %m", file);
	const char *path = unified_path(text);
	const char *name = path ? strrchr(path, '/') + 1 : "";
	if (!path || strcmp(name, s->unit) != 0 || strstr(path, "/../") || strlen(path) >= size)
		return err_set(err, ERR_SYSTEM, ENOENT,
			       "systemd says that the sandbox is in the scope '%s', and the kernel says that it is in '%s': a manager of another "
			       "container, or a cgroup namespace? Use --cgroup PATH with a cgroup that is handed to you",
			       s->unit, path ? path : "no cgroup of version 2");
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}

int scope_place(struct scope *s, pid_t pid, char *ret_path, size_t size, struct err *err)
{
	struct scopemsg_request request = {
		.pid = (uint32_t) pid,
	};
	struct scopemsg_answer answer;

	memcpy(request.unit, s->unit, sizeof(request.unit));
	/* A helper that has failed by now is gone, and its answer lies here. */
	int r = fdpass_send(s->fd, &request, sizeof(request), NULL, 0);
	if (r == 0 || r == -EPIPE || r == -ECONNRESET)
		r = receive(s->fd, &answer);
	s->fd = fd_close(s->fd);
	if (r == 0)
		return explain_end(s, err);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cloche-scope, which asks systemd for a cgroup, does not answer as agreed: %m. " WITHOUT);
	if (answer.cause != SCOPEMSG_NO_CAUSE)
		return explain_answer(s, &answer, err);
	return read_path(s, pid, ret_path, size, err);
}

/* In the child: nothing but the socket is left open, and a message on it, or its end, is the holder's end. */
_noreturn_ static void hold(int fd, pid_t parent)
{
	char byte;

	if (dup2(fd, STDIN_FILENO) == STDIN_FILENO && sysx_close_range(STDIN_FILENO + 1, ~0U, 0) == 0 && chdir("/") == 0 &&
	    proc_hide() == 0 && proc_reset_signals() == 0 && proc_die_with_parent(parent) == 0)
		while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
			;
	_exit(0);
}

int scope_hold(struct scope *s, char *ret_path, size_t size, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a socket for a scope's holder: %m");
	_cleanup_fd_ int ours = ends[0], theirs = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot start a process to hold a scope: %m");
	if (pid == 0)
		hold(theirs, parent);
	s->holder_pid = pid;
	s->holder_fd = TAKE_FD(ours);
	return scope_place(s, pid, ret_path, size, err);
}

void scope_release(struct scope *s)
{
	/* Told, since another child of ours may keep a copy of our end open. Telling fails when it has ended. */
	if (s->holder_pid > 0) {
		IGNORE_RESULT(fdpass_send(s->holder_fd, "", 1, NULL, 0));
		(void) proc_wait(TAKE_VALUE(s->holder_pid, 0), NULL);
	}
	s->holder_fd = fd_close(s->holder_fd);
}

void scope_done(struct scope *s)
{
	scope_release(s);
	s->fd = fd_close(s->fd);
	if (s->pid <= 0)
		return;
	/* It ends at the loss of its socket. As one of root's it cannot be killed any more by now, and need not be. */
	(void) kill(s->pid, SIGKILL);
	(void) proc_wait(TAKE_VALUE(s->pid, 0), NULL);
}
