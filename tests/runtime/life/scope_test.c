/*
 * Asking systemd for a scope, with this program itself in the place of cloche-scope: started under that name, it behaves as its
 * first argument says (the first "socket"). What cloche-scope does is tested by tests/system/scope.sh.
 */
#include "runtime/life/scope.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "tests/harness/unit.h"

enum { PATH_SIZE = 512 };

extern char **environ;

/* --- the stand-in ------------------------------------------------------------------------------------------------------ */

/* What a helper finds when it begins: nothing but its socket. Exit status 1 when there is more. */
static void check_surroundings(void)
{
	char path[64];
	struct stat st;

	if (environ[0] || fcntl(SCOPEMSG_FD, F_GETFD) < 0 || fcntl(SCOPEMSG_FD + 1, F_GETFD) >= 0)
		_exit(1);
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (fstat(i, &st) < 0 || !S_ISCHR(st.st_mode))
			_exit(1);
	if (!getcwd(path, sizeof(path)) || strcmp(path, "/") != 0)
		_exit(1);
}

static void tell(const void *data, size_t len)
{
	if (fdpass_send(SCOPEMSG_FD, data, len, NULL, 0) < 0)
		_exit(1);
}

static void answer(enum scopemsg_cause cause, int errnum, const char *text)
{
	struct scopemsg_answer message = { .cause = (uint32_t) cause, .errnum = errnum };

	(void) snprintf(message.text, sizeof(message.text), "%s", text);
	tell(&message, sizeof(message));
}

static void take(struct scopemsg_request *request)
{
	size_t fds;

	if (fdpass_recv(SCOPEMSG_FD, request, sizeof(*request), NULL, 0, &fds) != (ssize_t) sizeof(*request))
		_exit(1);
}

static void act_early(void)
{
	answer(SCOPEMSG_NO_BUS, ENOENT, "'/nowhere' takes no connection");
	_exit(0); /* before the request can come */
}

static void act_sleep(void)
{
	(void) pause();
}

static void act_done(void)
{
	struct scopemsg_request request;

	take(&request);
	answer(SCOPEMSG_NO_CAUSE, 0, "");
}

static void act_refused(void)
{
	struct scopemsg_request request;

	take(&request);
	answer(SCOPEMSG_REFUSED, EACCES, "no\n\033[31mway");
}

static void act_short(void)
{
	tell("x", 1);
}

static void act_cause(void)
{
	answer(SCOPEMSG_CAUSES, EIO, "what is this?");
}

static void act_errnum(void)
{
	answer(SCOPEMSG_REFUSED, -5, "a success?");
}

static void act_unterminated(void)
{
	struct scopemsg_answer message = { .cause = SCOPEMSG_REFUSED, .errnum = EPERM };

	memset(message.text, 'x', sizeof(message.text));
	tell(&message, sizeof(message));
}

static void act_killed(void)
{
	(void) raise(SIGKILL);
}

static void act_nothing(void)
{
	_exit(3);
}

/* Tells what it was asked for. */
static void act_request(void)
{
	struct scopemsg_request request;

	take(&request);
	answer(SCOPEMSG_REFUSED, request.pid == (uint32_t) getppid() && request.reserved == 0 ? EACCES : EIO, request.unit);
}

static void act_pid(void)
{
	struct scopemsg_request request;
	char text[64];

	take(&request);
	(void) snprintf(text, sizeof(text), "asked for %u", request.pid);
	answer(SCOPEMSG_REFUSED, EACCES, text);
}

static const struct {
	const char *how;
	void (*act)(void);
} acts[] = {
	{ "early", act_early },   { "sleep", act_sleep }, { "done", act_done },     { "refused", act_refused },
	{ "short", act_short },   { "cause", act_cause }, { "errnum", act_errnum }, { "unterminated", act_unterminated },
	{ "killed", act_killed }, { "request", act_request }, { "nothing", act_nothing }, { "pid", act_pid },
};

__attribute__((constructor)) static void act_as_helper(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[0], "cloche-scope") != 0)
		return;
	check_surroundings();
	for (size_t i = 0; i < ARRAY_LEN(acts); i++)
		if (strcmp(argv[1], acts[i].how) == 0)
			acts[i].act();
	_exit(0);
}

/* --- what the tests share ---------------------------------------------------------------------------------------------- */

static void spawn(struct scope *s, const struct scope_request *request, const char *program, const char *how)
{
	struct scope_sockets sockets = { .count = 1 };
	struct err err = { 0 };

	(void) snprintf(sockets.words[0], sizeof(sockets.words[0]), "%s", how);
	ck_assert_int_eq(scope_spawn_program(s, request, program, &sockets, &err), 0);
	ck_assert_int_ge(s->fd, 0);
	ck_assert_int_gt(s->pid, 0);
}

static void check_nothing_left(void)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

/* Asks a helper that behaves like @how, and wants -@errnum and both parts of the sentence. */
static void fails(const char *how, int errnum, enum err_code code, const char *part, const char *other)
{
	struct scope_request request = { .system = false };
	struct scope s = SCOPE_INIT;
	struct err err = { 0 };
	char path[PATH_SIZE];

	spawn(&s, &request, "/proc/self/exe", how);
	ck_assert_int_eq(scope_place(&s, getpid(), path, sizeof(path), &err), -errnum);
	ck_assert_int_eq(err.code, code);
	ck_assert_msg(strstr(err.text, part) && strstr(err.text, other), "%s: '%s'", how, err.text);
	for (const char *c = err.text; *c; c++)
		ck_assert_msg(*c >= ' ' && *c <= '~', "%s: '%s'", how, err.text);
	ck_assert_int_eq(s.fd, -EBADF);
	scope_done(&s);
	check_nothing_left();
}

/* --- tests ------------------------------------------------------------------------------------------------------------- */

START_TEST(test_refusals)
{
	fails("refused", EACCES, ERR_UNSUPPORTED, "user manager of systemd gave no scope: no??[31mway. What to do: ", "--cgroup PATH");
	fails("early", ENOENT, ERR_UNSUPPORTED, "'/nowhere' takes no connection", "loginctl enable-linger");
}
END_TEST

START_TEST(test_helpers_that_fail)
{
	fails("killed", ECHILD, ERR_SYSTEM, "was ended by signal 9", "--cgroup none");
	fails("nothing", ECHILD, ERR_SYSTEM, "ended without an answer (exit status 3)", "--cgroup none");
}
END_TEST

START_TEST(test_answers_of_another_form)
{
	fails("short", EPROTO, ERR_SYSTEM, "does not answer as agreed", "--cgroup none");
	fails("cause", EPROTO, ERR_SYSTEM, "does not answer as agreed", "--cgroup none");
	fails("errnum", EPROTO, ERR_SYSTEM, "does not answer as agreed", "--cgroup none");
	fails("unterminated", EPROTO, ERR_SYSTEM, "does not answer as agreed", "--cgroup none");
}
END_TEST

/* "Done" is not believed: the kernel says where a process is. */
START_TEST(test_a_lie)
{
	fails("done", ENOENT, ERR_SYSTEM, "and the kernel says that it is in '", "--cgroup PATH");
}
END_TEST

/* The cgroup that this test is in passes for a scope of that name. */
START_TEST(test_success)
{
	struct scope_request request = { .system = false };
	struct scope s = SCOPE_INIT;
	struct err err = { 0 };
	char text[8192], path[PATH_SIZE];
	char *line;

	ck_assert_int_gt(fd_read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)), 0);
	line = strstr(text, "0::/");
	ck_assert_msg(line != NULL, "a host without cgroup v2: '%s'", text);
	line += strlen("0::");
	line[strcspn(line, "\n")] = '\0';
	spawn(&s, &request, "/proc/self/exe", "done");
	(void) snprintf(s.unit, sizeof(s.unit), "%.60s", strrchr(line, '/') + 1);
	ck_assert_msg(scope_place(&s, getpid(), path, sizeof(path), &err) == 0, "%s", err.text);
	ck_assert_str_eq(path, line);
	scope_done(&s);
	check_nothing_left();
}
END_TEST

START_TEST(test_a_path_that_does_not_fit)
{
	struct scope_request request = { .system = false };
	struct scope s = SCOPE_INIT;
	struct err err = { 0 };
	char path[1];

	spawn(&s, &request, "/proc/self/exe", "done");
	ck_assert_int_eq(scope_place(&s, getpid(), path, sizeof(path), &err), -ENOENT);
	scope_done(&s);
}
END_TEST

START_TEST(test_system_manager)
{
	struct scope_request request = { .system = true };
	struct scope s = SCOPE_INIT;
	struct err err = { 0 };
	char path[PATH_SIZE];

	spawn(&s, &request, "/proc/self/exe", "request");
	ck_assert_int_eq(scope_place(&s, getpid(), path, sizeof(path), &err), -EACCES);
	ck_assert_msg(strstr(err.text, "the system manager") && strstr(err.text, s.unit), "'%s'", err.text);
	scope_done(&s);
}
END_TEST

START_TEST(test_program_that_is_none)
{
	struct scope_request request = { .system = false };
	struct scope s = SCOPE_INIT;
	struct err err = { 0 };
	char path[PATH_SIZE];

	spawn(&s, &request, "/nowhere/cloche-scope", "done");
	ck_assert_int_eq(scope_place(&s, getpid(), path, sizeof(path), &err), -ECHILD);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot be executed"));
	scope_done(&s);
	check_nothing_left();
}
END_TEST

/* A start that fails elsewhere lets go of a helper that hangs. */
START_TEST(test_done_ends_the_helper)
{
	struct scope_request request = { .system = false };
	struct scope s = SCOPE_INIT;
	struct timespec start = clock_now();

	spawn(&s, &request, "/proc/self/exe", "sleep");
	scope_done(&s);
	scope_done(&s);
	check_nothing_left();
	ck_assert_uint_lt(clock_us_since(&start), UINT64_C(10) * 1000 * 1000); /* it would sleep for ever */
}
END_TEST

/* The holder is asked for by its own pid, stays until it is let go, and leaves nothing. */
START_TEST(test_holder)
{
	struct scope_request request = { .system = true };
	struct scope s = SCOPE_INIT;
	struct err err = { 0 };
	char path[PATH_SIZE];
	siginfo_t info;

	spawn(&s, &request, "/proc/self/exe", "pid");
	ck_assert_int_eq(scope_hold(&s, path, sizeof(path), &err), -EACCES);
	char wanted[64];
	(void) snprintf(wanted, sizeof(wanted), "asked for %d.", s.holder_pid);
	ck_assert_msg(s.holder_pid > 0 && strstr(err.text, wanted), "'%s', not '%s'", err.text, wanted);
	info.si_pid = 0;
	ck_assert_int_eq(waitid(P_PID, (id_t) s.holder_pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	ck_assert_int_eq(info.si_pid, 0); /* it is still there */
	int copy = dup(s.holder_fd); /* as another child may have one */
	ck_assert_int_ge(copy, 0);
	scope_release(&s);
	scope_release(&s);
	scope_done(&s);
	(void) close(copy);
	check_nothing_left();
}
END_TEST

START_TEST(test_helper_dies_with_its_parent)
{
	int ends[2];
	char end;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct scope_request request = { .system = false };
		struct scope s = SCOPE_INIT;

		/* The helper holds the socket's other end, so that only the parent-death signal ends it. */
		spawn(&s, &request, "/proc/self/exe", "sleep");
		(void) !write(ends[1], &s.pid, sizeof(s.pid));
		(void) pause();
	}
	pid_t helper;
	ck_assert_int_eq(read(ends[0], &helper, sizeof(helper)), sizeof(helper));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	(void) close(ends[1]);
	ck_assert_int_eq(read(ends[0], &end, 1), 0);
	for (int i = 0; i < 1000 && kill(helper, 0) == 0; i++) {
		char name[64], stat[512];

		(void) snprintf(name, sizeof(name), "/proc/%d/stat", helper);
		if (fd_read_text(AT_FDCWD, name, stat, sizeof(stat)) < 0 || strstr(stat, ") Z"))
			return; /* whoever adopts it has not looked yet */
		(void) usleep(10000);
	}
	ck_assert_int_eq(kill(helper, 0), -1);
}
END_TEST

/* --- finding sockets --------------------------------------------------------------------------------------------------- */

static char scratch[64];

static void listen_at(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", scratch, name);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *) &address, sizeof(address)), 0);
}

static bool found(const struct scope_sockets *sockets, const char *kind, const char *name)
{
	char word[SCOPE_SOCKET_MAX];

	(void) snprintf(word, sizeof(word), "%s%s/%s", kind, scratch, name);
	for (size_t i = 0; i < sockets->count; i++)
		if (strcmp(sockets->words[i], word) == 0)
			return true;
	return false;
}

/* Whether an address that names the socket between these two parts is taken. */
static bool finds_session_bus(const char *before, const char *after)
{
	struct scope_sockets sockets;
	char address[256];

	(void) snprintf(address, sizeof(address), "%s%s%s", before, scratch, after);
	ck_assert_int_eq(setenv("DBUS_SESSION_BUS_ADDRESS", address, 1), 0);
	(void) !scope_sockets_find(&sockets, false, NULL);
	return found(&sockets, SCOPEMSG_BUS, "elsewhere");
}

START_TEST(test_sockets)
{
	struct scope_sockets sockets;
	char name[128];

	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-scope-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
	ck_assert_int_eq(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
	(void) snprintf(name, sizeof(name), "%s/systemd", scratch);
	ck_assert_int_eq(mkdir(name, 0700), 0);
	(void) snprintf(name, sizeof(name), "%s/bus", scratch);
	ck_assert_int_eq(mkdir(name, 0700), 0);
	(void) !scope_sockets_find(&sockets, false, NULL);
	ck_assert(!found(&sockets, SCOPEMSG_BUS, "bus")); /* a folder is no socket */
	ck_assert_int_eq(rmdir(name), 0);

	listen_at("elsewhere");
	listen_at("systemd/private");
	ck_assert_int_eq(scope_sockets_find(&sockets, false, NULL), 0);
	ck_assert(found(&sockets, SCOPEMSG_DIRECT, "systemd/private"));
	listen_at("bus");
	ck_assert_int_eq(scope_sockets_find(&sockets, false, NULL), 0);
	ck_assert(found(&sockets, SCOPEMSG_BUS, "bus"));
	(void) snprintf(name, sizeof(name), "direct=%s/systemd/private", scratch);
	ck_assert_str_eq(sockets.words[0], name); /* the manager itself first */

	ck_assert(finds_session_bus("unix:path=", "/elsewhere"));
	ck_assert(finds_session_bus("unix:path=", "/elsewhere,guid=0123456789abcdef"));
	ck_assert(!finds_session_bus("unixexec:path=", "/elsewhere"));
	ck_assert(!finds_session_bus("unix:path=", "/elsewhere;unixexec:path=/bin/sh"));
	ck_assert(!finds_session_bus("unix:path=", "/elsewhere,guid=0,runtime=yes"));
	ck_assert(!finds_session_bus("unix:path=", "/else%77here"));
	ck_assert(!finds_session_bus("unix:path=relative", ""));
	ck_assert(!finds_session_bus("unix:abstract=", "/elsewhere"));

	static const char *const names[] = { "bus", "elsewhere", "systemd/private", "systemd", "" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void) snprintf(name, sizeof(name), "%s/%s", scratch, names[i]);
		ck_assert_int_eq(remove(name), 0);
	}
}
END_TEST

UNIT_MAIN("runtime/life/scope", test_refusals, test_helpers_that_fail, test_answers_of_another_form, test_a_lie, test_success,
	  test_a_path_that_does_not_fit, test_system_manager, test_program_that_is_none, test_done_ends_the_helper, test_holder,
	  test_helper_dies_with_its_parent, test_sockets)
