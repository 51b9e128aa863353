/*
 * The kernel's count of processes, asked in a user namespace of its own, where there is nobody but the test.
 */
#include "runtime/init/nproc.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/unit.h"

enum { UNPRIVILEGED = 12345 /* root of the host is held to no number */, CHILDREN = 5 };

static int become_unprivileged(void)
{
	return setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) < 0 ? -1 : setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED);
}

/* Runs @body as the only process that is counted. */
static void in_namespace(void (*body)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if ((getuid() == 0 && become_unprivileged() < 0) || unshare(CLONE_NEWUSER) < 0)
			_exit(1);
		body();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x", (unsigned int) status);
}

static pid_t pausing_child(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid != 0)
		return pid;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void) pause();
}

static void end(pid_t pid, int options)
{
	siginfo_t info;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t) pid, &info, WEXITED | options), 0);
}

static void count_some(void)
{
	pid_t children[CHILDREN];

	ck_assert(!nproc_is_at_least(0));
	ck_assert(nproc_is_at_least(1));
	ck_assert(!nproc_is_at_least(2));
	for (int i = 0; i < CHILDREN; i++)
		children[i] = pausing_child();
	ck_assert(nproc_is_at_least(CHILDREN));
	ck_assert(nproc_is_at_least(CHILDREN + 1));
	ck_assert(!nproc_is_at_least(CHILDREN + 2));
	end(children[0], WNOWAIT);
	ck_assert(nproc_is_at_least(CHILDREN + 1)); /* a zombie */
	end(children[0], 0);
	ck_assert(!nproc_is_at_least(CHILDREN + 1));
	for (int i = 1; i < CHILDREN; i++)
		end(children[i], 0);
	ck_assert(!nproc_is_at_least(2));
}

START_TEST(what_is_there_is_counted)
{
	in_namespace(count_some);
}
END_TEST

/* One that began and ended would have had pages. */
static void ask_often(void)
{
	struct rusage used;

	for (int i = 0; i < 100; i++) {
		ck_assert(nproc_is_at_least(1));
		ck_assert(!nproc_is_at_least(2));
	}
	ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &used), 0);
	ck_assert_int_eq(used.ru_minflt + used.ru_majflt, 0);
}

START_TEST(to_ask_makes_no_process)
{
	in_namespace(ask_often);
}
END_TEST

static void count_under_limit(void)
{
	struct rlimit limit = { 4, 6 }, now;

	for (int i = 1; i < 3; i++)
		(void) pausing_child();
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &limit), 0);
	ck_assert(nproc_is_at_least(3));
	(void) pausing_child();
	ck_assert(!nproc_is_at_least(3)); /* who could be refused for the usual limit tells nothing */
	ck_assert(!nproc_is_at_least(5)); /* nor is that limit raised */
	ck_assert_int_eq(getrlimit(RLIMIT_NPROC, &now), 0);
	ck_assert(now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max);
}

START_TEST(a_usual_limit_stays_and_is_not_confused)
{
	in_namespace(count_under_limit);
}
END_TEST

UNIT_MAIN("runtime/init/nproc", what_is_there_is_counted, to_ask_makes_no_process, a_usual_limit_stays_and_is_not_confused)
