/*
 * Answering refused calls, in the kernel: a child under the filter for commands gets from us what the plain filter would give.
 */
#include "runtime/kern/seccomp_notify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "tests/harness/unit.h"

/* Calls that the default filter refuses, harmless if they were made. */
static const struct {
	long nr, args[3];
	int errnum;
} calls[] = {
	{ SYS_mount, { 0, 0, 0 }, EPERM },
	{ SYS_unshare, { 0, 0, 0 }, EPERM },
	{ SYS_add_key, { 0, 0, 0 }, EPERM },
	{ SYS_ptrace, { 9999, 0, 0 }, EPERM },
	{ SYS_bpf, { 9999, 0, 0 }, EPERM },
	{ SYS_socket, { 38, 5, 0 }, EAFNOSUPPORT },   /* AF_ALG */
	{ SYS_socket, { 16, 3, 9 }, EAFNOSUPPORT },   /* AF_NETLINK, NETLINK_AUDIT */
};

/* What must never be told: it comes all the time, or says "not there". */
static const struct {
	long nr, args[3];
	int errnum;
} silent[] = {
	{ SYS_getpid, { 0, 0, 0 }, 0 },
	{ SYS_clone3, { 0, 0, 0 }, ENOSYS },
	{ SYS_io_uring_setup, { 0, 0, 0 }, ENOSYS },
	{ 999, { 0, 0, 0 }, ENOSYS },
};

static int call(long nr, const long args[3])
{
	return syscall(nr, args[0], args[1], args[2], 0, 0) < 0 ? errno : 0;
}

/* In a child: makes all calls under @program. The exit status is 0, or the number of the first one with another answer. */
static int under_filter(const struct seccomp_program *program, int sock)
{
	static const char word = 'x';
	int listener = -EBADF, silent_at = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_load_workload(program, sock < 0 ? NULL : &listener) < 0)
		return 101;
	if (sock >= 0 && (listener < 0 || fdpass_send(sock, &word, 1, &listener, 1) < 0 || seccomp_notify_guard() < 0))
		return 102;
	(void) close(listener);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (call(calls[i].nr, calls[i].args) != calls[i].errnum)
			return 1 + (int) i;
		if (call(silent[silent_at].nr, silent[silent_at].args) != silent[silent_at].errnum)
			return 51 + silent_at;
		silent_at = (silent_at + 1) % (int) ARRAY_LEN(silent);
	}
	return 0;
}

static pid_t start(const struct seccomp_program *program, int *ret_listener)
{
	int pair[2];
	char word;
	size_t nfds = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void) close(pair[0]);
		_exit(under_filter(program, ret_listener ? pair[1] : -1));
	}
	(void) close(pair[1]);
	if (ret_listener) {
		ck_assert_int_eq(fdpass_recv(pair[0], &word, 1, ret_listener, 1, &nfds), 1);
		ck_assert_uint_eq(nfds, 1);
		seccomp_notify_prepare(*ret_listener);
	}
	(void) close(pair[0]);
	return pid;
}

static int end(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(test_same_answers)
{
	const struct seccomp_program *program = seccomp_builtin(SECCOMP_DEFAULT);
	int listener = -EBADF;

	ck_assert_int_eq(end(start(program, NULL)), 0);
	pid_t pid = start(program, &listener);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct pollfd p = { .fd = listener, .events = POLLIN };
		struct seccomp_answer answer;

		ck_assert_int_eq(poll(&p, 1, 10000), 1);
		ck_assert_msg(p.revents & POLLIN, "the child ended at call %zu with %d", i, end(pid));
		ck_assert_int_eq(seccomp_notify_answer(listener, program, &answer), 1);
		ck_assert_uint_eq(answer.nr, (uint32_t) calls[i].nr);
		ck_assert_uint_eq(answer.errnum, (uint32_t) calls[i].errnum);
	}
	ck_assert_int_eq(end(pid), 0);
	/* Nobody is left who could call. */
	struct pollfd p = { .fd = listener, .events = POLLIN };
	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert_int_eq(p.revents, POLLHUP);
	(void) fd_close(listener);
}
END_TEST

/* A caller that is killed while it waits: nothing blocks, nothing is counted. */
START_TEST(test_caller_gone)
{
	const struct seccomp_program *program = seccomp_builtin(SECCOMP_DEFAULT);
	struct seccomp_answer answer;
	int listener = -EBADF;
	pid_t pid = start(program, &listener);
	struct pollfd p = { .fd = listener, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_le(seccomp_notify_answer(listener, program, &answer), 0);
	(void) fd_close(listener);
}
END_TEST

/* Under the guard nobody gets a listener, also when ours is closed; filters without one can be added. */
START_TEST(test_guard)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct rule { uint16_t code; uint8_t jt, jf; uint32_t k; } allow = { .code = 0x06, .k = 0x7fff0000 };
		struct { unsigned short len; struct rule *rule; } program = { 1, &allow };
		int listener = -EBADF;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), &listener) < 0 || seccomp_notify_guard() < 0)
			_exit(101);
		for (unsigned long flags = 8; flags < 64; flags = (flags + 1) | 8)
			if (syscall(SYS_seccomp, 1, flags, &program) >= 0 || errno != EBUSY)
				_exit(1);
		(void) close(listener);
		for (unsigned long flags = 8; flags < 64; flags = (flags + 1) | 8)
			if (syscall(SYS_seccomp, 1, flags, &program) >= 0 || errno != EBUSY)
				_exit(2);
		if (syscall(SYS_seccomp, 1, 0, &program) != 0 || prctl(PR_SET_SECCOMP, 2, &program) != 0)
			_exit(3);
		/* With no listener at all a refused call does not come back to life either. */
		_exit(syscall(SYS_unshare, 0) < 0 && errno == ENOSYS ? 0 : 4);
	}
	ck_assert_int_eq(end(pid), 0);
}
END_TEST

/* No room for a listener: the same filter without one. */
START_TEST(test_no_room)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct rlimit none = { 0, 0 };
		int listener = 0;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || setrlimit(RLIMIT_NOFILE, &none) < 0)
			_exit(101);
		if (seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), &listener) < 0 || listener >= 0)
			_exit(1);
		_exit(syscall(SYS_unshare, 0) < 0 && errno == EPERM ? 0 : 2);
	}
	ck_assert_int_eq(end(pid), 0);
}
END_TEST

START_TEST(test_possible)
{
	ck_assert(seccomp_notify_is_possible(seccomp_builtin(SECCOMP_DEFAULT)));
	ck_assert(seccomp_notify_is_possible(seccomp_builtin(SECCOMP_DEBUG)));
}
END_TEST

UNIT_MAIN("runtime/kern/seccomp_notify", test_same_answers, test_caller_gone, test_guard, test_no_room, test_possible)
