/*
 * Processes: an end is told as a shell tells it, and a reset leaves no signal blocked or ignored.
 */
#include "runtime/base/proc.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tests/harness/unit.h"

/* How a child ends that exits with @status or, with @signo, kills itself. */
static int end_of_child(int status, int signo)
{
	int wait_status = -1;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (signo)
			(void) raise(signo);
		_exit(status);
	}
	ck_assert_int_eq(proc_wait(pid, &wait_status), 0);
	return proc_exit_status(wait_status);
}

START_TEST(test_exit_status)
{
	ck_assert_int_eq(end_of_child(0, 0), 0);
	ck_assert_int_eq(end_of_child(3, 0), 3);
	ck_assert_int_eq(end_of_child(255, 0), 255);
	ck_assert_int_eq(end_of_child(0, SIGKILL), 128 + SIGKILL);
	ck_assert_int_eq(end_of_child(0, SIGUSR2), 128 + SIGUSR2);
}
END_TEST

START_TEST(test_wait_reaps_once)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(proc_wait(pid, NULL), 0);
	ck_assert_int_eq(proc_wait(pid, NULL), -ECHILD);
}
END_TEST

START_TEST(test_signals_are_reset)
{
	sigset_t all, now;

	(void) sigfillset(&all);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &all, NULL), 0);
	ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	ck_assert(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(proc_reset_signals(), 0);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action;
		if (sigaction(sig, NULL, &action) < 0)
			continue; /* the C library keeps some for itself */
		ck_assert_msg(action.sa_handler == SIG_DFL, "signal %d", sig);
		ck_assert_msg(sigismember(&now, sig) == 0, "signal %d", sig);
	}
}
END_TEST

/* The child of a child is killed with its parent, and also when it asks for that too late: its end of a pipe closes. */
static void check_orphan(useconds_t parent_us, useconds_t child_us)
{
	int fds[2];
	char byte;

	ck_assert_int_eq(pipe(fds), 0);
	pid_t parent = fork();
	ck_assert_int_ge(parent, 0);
	if (parent == 0) {
		pid_t me = getpid();
		if (fork() == 0) {
			(void) usleep(child_us);
			if (proc_die_with_parent(me) == 0)
				(void) pause();
			_exit(1);
		}
		(void) usleep(parent_us);
		_exit(0);
	}
	(void) close(fds[1]);
	ck_assert_int_eq(proc_wait(parent, NULL), 0);
	ck_assert_int_eq(read(fds[0], &byte, 1), 0); /* waits until the last of them is gone; a hang is a failure */
	(void) close(fds[0]);
}

START_TEST(test_dies_with_parent)
{
	check_orphan(100000, 0);
	check_orphan(0, 100000);
}
END_TEST

UNIT_MAIN("runtime/base/proc", test_exit_status, test_wait_reaps_once, test_signals_are_reset, test_dies_with_parent)
