/*
 * refused: makes calls that the filter for commands refuses, in the ways of unusual programs, and says what came of them. For
 * tests of the notification of denials, which run it inside a sandbox and, for comparison, under the plain filter alone (with_filter).
 * Linked statically so that it needs nothing there. Needs no privilege; nothing it asks for would do anything.
 *
 *     refused MODE [COUNT]                    see the table of modes at the end
 *     refused under COMMAND [ARGUMENT...]     runs a command while this process listens to its system calls, and refuses none
 *
 * Prints one line: the mode, and the errno that all refused calls gave, or what was wrong. Exit status 0 when all
 * gave the same errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/str.h"

enum { THREADS = 8 };

static unsigned long count = 1;

/* Makes the call @times times. The errno of all, 0 when one worked, -1 when they differ. */
static int refused(long nr, unsigned long times)
{
	int first = -1;

	for (unsigned long i = 0; i < times; i++) {
		int now = syscall(nr, 0, 0, 0, 0, 0) < 0 ? errno : 0;
		if (i > 0 && now != first)
			return -1;
		first = now;
	}
	return first;
}

static int flood(void)
{
	return refused(SYS_add_key, count);
}

static void *thread(void *result)
{
	*(int *) result = refused(SYS_add_key, count);
	return NULL;
}

/* Many threads at once, while one of them installs a filter for all. */
static int threads(void)
{
	pthread_t ids[THREADS];
	int results[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, thread, &results[i]) != 0)
			return -1;
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		return -1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(ids[i], NULL) != 0)
			return -1;
	for (int i = 1; i < THREADS; i++)
		if (results[i] != results[0])
			return -1;
	return results[0];
}

/* A child that shares our memory while we stand still. */
static int in_vfork(void)
{
	volatile int result = -1;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		result = refused(SYS_add_key, count);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? result : -1;
}

static volatile sig_atomic_t ticks;

static void tick(_unused_ int sig)
{
	ticks++;
}

/*
 * Interrupted all the time, as programs in Go are, which restart what was interrupted. Whoever does not want that (@restart false)
 * may be told EINTR, as of any call that waits.
 */
static int interrupted(bool restart)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
	struct sigaction action = { .sa_handler = tick, .sa_flags = restart ? SA_RESTART : 0 };
	int result = -1;

	if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &often, NULL) < 0)
		return -1;
	for (unsigned long i = 0; i < count; i++) {
		int now = refused(SYS_add_key, 1);
		if (now == EINTR && !restart)
			continue;
		if (result >= 0 && now != result)
			return -1;
		result = now;
	}
	if (setitimer(ITIMER_REAL, &never, NULL) < 0 || ticks == 0)
		return -1;
	return result;
}

static int with_restart(void)
{
	return interrupted(true);
}

static int without_restart(void)
{
	return interrupted(false);
}

/* Under a filter of our own, which refuses getpid(2) and asks nobody about add_key(2): neither lets anything through. */
static int own_filter(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LEN(rules), rules };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0 || refused(SYS_getppid, 3) != EDOM)
		return -1;
	return refused(SYS_add_key, count);
}

/* A listener of our own: another thread would answer, and let the call through. */
static int own_listener(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LEN(rules), rules };
	int fd = (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);

	return fd < 0 ? errno : 0;
}

/* More kinds of calls than are remembered one by one. */
static int many_kinds(void)
{
	static const long nrs[] = { SYS_add_key, SYS_keyctl, SYS_request_key, SYS_unshare, SYS_mount, SYS_umount2, SYS_pivot_root,
				    SYS_chroot, SYS_bpf, SYS_perf_event_open, SYS_ptrace, SYS_swapon, SYS_reboot };

	for (size_t i = 0; i < ARRAY_LEN(nrs); i++)
		if (refused(nrs[i], count) != EPERM)
			return -1;
	return EPERM;
}

/* Every open descriptor beyond the standard streams; 0 when there is none. */
static int descriptors(void)
{
	for (int fd = STDERR_FILENO + 1; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return -1;
	return 0;
}

/* Leaves a process in a session of its own behind that goes on for ever. */
static int left_behind(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void) setsid();
		for (;;)
			(void) refused(SYS_add_key, 1000);
	}
	return pid > 0 ? refused(SYS_add_key, count) : -1;
}

/* The exit status of the command, which cannot have a listener of its own; 125 when that cannot be arranged. */
static int under(char *argv[])
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };
	int status;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0)
		return 125;
	pid_t pid = fork();
	if (pid == 0) {
		(void) execvp(argv[0], argv);
		_exit(125);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "flood", flood },               /* COUNT calls, one after the other */
	{ "threads", threads },           /* COUNT calls in each of many threads */
	{ "vfork", in_vfork },            /* in a child of vfork(2) */
	{ "signals", with_restart },      /* while signals come */
	{ "eintr", without_restart },     /* while signals come, to a program that does not restart calls */
	{ "filter", own_filter },         /* under one more filter */
	{ "listener", own_listener },     /* asks for a listener */
	{ "kinds", many_kinds },          /* thirteen kinds of calls */
	{ "descriptors", descriptors },   /* looks for descriptors that should not be there */
	{ "behind", left_behind },        /* a process stays and goes on */
};

static const char *errno_name(int errnum)
{
	switch (errnum) {
	case 0:
		return "worked";
	case EPERM:
		return "EPERM";
	case EBUSY:
		return "EBUSY";
	case ENOSYS:
		return "ENOSYS";
	default:
		return errnum < 0 ? "wrong" : "another errno";
	}
}

int main(int argc, char *argv[])
{
	uint64_t number = 1;

	if (argc > 2 && strcmp(argv[1], "under") == 0)
		return under(argv + 2);
	if (argc > 2 && str_to_uint(argv[2], 1, 1000000000, &number) < 0)
		argc = 1;
	count = (unsigned long) number;
	for (size_t i = 0; i < ARRAY_LEN(modes) && argc > 1; i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		int result = modes[i].run();
		printf("%s %s\n", modes[i].name, errno_name(result));
		return result < 0 ? 1 : 0;
	}
	(void) fprintf(stderr, "usage: refused MODE [COUNT]\n");
	return 2;
}
