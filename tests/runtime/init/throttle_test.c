/*
 * Shares of the CPUs that init holds commands to: real children that compute, measured by their own CPU clocks against the time that
 * passed. A loaded machine gives them less; so what is tested is that they never get more, and that they get going again.
 */
#include "runtime/init/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "tests/harness/unit.h"

enum {
	LITTLE = 20, /* thousandths of a CPU: what a busy machine gives, too */
	SOME = 100,
	SECONDS = 2,
	PATIENCE_MS = 20000,
	CHILDREN = 150,
	CROWD = 40,
};

static _noreturn_ void *compute(_unused_ void *unused)
{
	for (;;)
		;
}

/* A command: a root, as a shim, with @children that compute, which are all there. */
static pid_t command_of(pid_t *children, size_t count)
{
	int ready[2];

	ck_assert_int_eq(pipe(ready), 0);
	pid_t root = fork();
	if (root == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (size_t i = 0; i < count; i++)
			if ((children[i] = fork()) == 0) {
				(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
				(void) compute(NULL);
			}
		for (size_t i = 0; i < count; i++)
			if (write(ready[1], &children[i], sizeof(children[i])) != sizeof(children[i]))
				_exit(1);
		for (;;)
			(void) pause();
	}
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(read(ready[0], &children[i], sizeof(children[i])), sizeof(children[i]));
	return root;
}

static pid_t command(size_t burners)
{
	pid_t children[CROWD];

	return command_of(children, burners);
}

/* A command whose root has one child, which does @what with @fd. */
static pid_t command_that(void (*what)(int fd), int fd)
{
	pid_t root = fork();

	ck_assert_int_ge(root, 0);
	if (root != 0)
		return root;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fork() == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		what(fd);
	}
	for (;;)
		(void) pause();
}

static struct throttle open_throttle(uint64_t cpu_milli)
{
	struct throttle t;

	throttle_open(&t, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), cpu_milli);
	ck_assert_int_ge(t.proc_fd, 0);
	return t;
}

/* Ticks until this command was held. */
static void run_until_held(struct throttle *t, struct throttle_command *commands, size_t count, const struct throttle_command *c)
{
	int64_t end = clock_now_ms() + PATIENCE_MS;

	while (c->held_us == 0 && clock_now_ms() < end)
		(void) poll(NULL, 0, throttle_tick(t, commands, count));
	ck_assert_uint_gt(c->held_us, 0);
}

/* Ticks for @ms milliseconds. */
static void run(struct throttle *t, struct throttle_command *commands, size_t count, int64_t ms)
{
	int64_t end = clock_now_ms() + ms;

	while (clock_now_ms() < end) {
		int pause_ms = throttle_tick(t, commands, count);
		ck_assert_int_ge(pause_ms, 0);
		(void) poll(NULL, 0, pause_ms);
	}
}

/* Ticks until what was held has been let go: then whoever is stopped was stopped by others. */
static void run_until_free(struct throttle *t, struct throttle_command *c)
{
	int64_t end = clock_now_ms() + PATIENCE_MS;

	while (c->held && clock_now_ms() < end)
		(void) poll(NULL, 0, throttle_tick(t, c, 1));
	ck_assert(!c->held);
}

static char state_of(pid_t pid)
{
	char path[64], text[512];

	(void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	ck_assert_int_gt(fd_read_text(AT_FDCWD, path, text, sizeof(text)), 0);
	return strrchr(text, ')')[2];
}

static void expect_no_more_than_the_share(pid_t root)
{
	struct throttle t = open_throttle(LITTLE);
	struct throttle_command c;

	throttle_begin(&t, &c, root, 0);
	struct timespec start = clock_now();
	run_until_held(&t, &c, 1, &c);
	run(&t, &c, 1, SECONDS * 1000);
	uint64_t passed_us = clock_us_since(&start);
	/* What is used until the first tick, and between two of a busy machine, is paid back in the end. */
	ck_assert_uint_le(c.used_ns / 1000, passed_us * LITTLE / 1000 + 200000 * t.cpus);
	ck_assert_uint_gt(c.used_ns, 0);
}

START_TEST(who_computes_gets_no_more_than_the_share)
{
	expect_no_more_than_the_share(command(2));
}
END_TEST

/* A stop that waits for ever, since it is blocked, is none. */
static void block_a_stop(_unused_ int fd)
{
	sigset_t set;

	if (sigemptyset(&set) < 0 || sigaddset(&set, SIGTSTP) < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0 || kill(getpid(), SIGTSTP) < 0)
		_exit(1);
	(void) compute(NULL);
}

START_TEST(who_blocks_a_stop_gets_no_more_either)
{
	expect_no_more_than_the_share(command_that(block_a_stop, -1));
}
END_TEST

/* Who waits as in vfork(2), which only SIGKILL ends, does not take SIGSTOP; the other threads could go on. */
static void wait_beside_a_thread(_unused_ int fd)
{
	struct clone_args args = { .flags = CLONE_VFORK, .exit_signal = SIGCHLD };
	pthread_t thread;

	if (pthread_create(&thread, NULL, compute, NULL) != 0)
		_exit(1);
	if (sysx_clone3(&args) == 0)
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void) pause();
}

START_TEST(threads_of_one_that_waits_get_no_more_either)
{
	expect_no_more_than_the_share(command_that(wait_beside_a_thread, -1));
}
END_TEST

START_TEST(what_is_within_its_share_is_left_alone)
{
	struct throttle t = open_throttle(500);
	struct throttle_command c;

	throttle_begin(&t, &c, command(0), 0);
	run(&t, &c, 1, 300);
	ck_assert_uint_eq(c.held_us, 0);
}
END_TEST

START_TEST(a_share_of_its_own_holds_one_command_only)
{
	struct throttle t = open_throttle(0);
	struct throttle_command commands[2];

	throttle_begin(&t, &commands[0], command(1), 0);
	throttle_begin(&t, &commands[1], command(2), LITTLE);
	run_until_held(&t, commands, 2, &commands[1]);
	ck_assert_uint_eq(commands[0].held_us, 0);
}
END_TEST

START_TEST(what_was_stopped_by_others_stays_stopped)
{
	struct throttle t = open_throttle(LITTLE);
	struct throttle_command c;
	int ready[2];
	pid_t stopped;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t root = fork();
	if (root == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid_t child = fork();
		if (child == 0) {
			(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void) raise(SIGSTOP);
			for (;;)
				;
		}
		if (waitpid(child, NULL, WUNTRACED) != child || write(ready[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		if (fork() == 0) {
			(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
		for (;;)
			(void) pause();
	}
	ck_assert_int_eq(read(ready[0], &stopped, sizeof(stopped)), sizeof(stopped));
	throttle_begin(&t, &c, root, 0);
	run_until_held(&t, &c, 1, &c);
	run(&t, &c, 1, SECONDS * 1000);
	run_until_free(&t, &c);
	ck_assert_int_eq(state_of(stopped), 'T');
}
END_TEST

static void compute_us(uint64_t us)
{
	for (uint64_t start = clock_cpu_us(); clock_cpu_us() - start < us;)
		;
}

/* A shell that stops what it starts, again and again while it is stopped and let go on itself. */
static void stop_children(int ready_fd)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		if (child == 0) {
			(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void) pause();
		}
		compute_us(1000);
		if (kill(child, SIGSTOP) < 0 || write(ready_fd, &child, sizeof(child)) != sizeof(child))
			_exit(1);
		compute_us(1000);
	}
	(void) compute(NULL);
}

START_TEST(what_is_being_stopped_by_others_stays_stopped)
{
	struct throttle t = open_throttle(SOME);
	struct throttle_command c;
	pid_t stopped[CHILDREN];
	int ready[2];

	ck_assert_int_eq(pipe2(ready, O_NONBLOCK), 0);
	throttle_begin(&t, &c, command_that(stop_children, ready[1]), 0);
	for (size_t known = 0; known < CHILDREN;) {
		run(&t, &c, 1, 1);
		while (known < CHILDREN && read(ready[0], &stopped[known], sizeof(stopped[known])) > 0)
			known++;
	}
	run(&t, &c, 1, SECONDS * 1000);
	run_until_free(&t, &c);
	for (size_t i = 0; i < CHILDREN; i++)
		ck_assert_int_eq(state_of(stopped[i]), 'T');
}
END_TEST

/* Many more than there are CPUs, so that a stop waits for its process and comes while that is let go on. */
START_TEST(a_crowd_goes_on_each_time)
{
	struct throttle t = open_throttle(SOME);
	struct throttle_command c;
	pid_t children[CROWD];

	throttle_begin(&t, &c, command_of(children, CROWD), 0);
	run_until_held(&t, &c, 1, &c);
	run(&t, &c, 1, SECONDS * 1000);
	run_until_free(&t, &c);
	for (size_t i = 0; i < CROWD; i++)
		ck_assert_int_ne(state_of(children[i]), 'T');
}
END_TEST

START_TEST(what_others_stop_while_it_is_held_stays_stopped)
{
	struct throttle t = open_throttle(LITTLE);
	struct throttle_command c;
	pid_t children[2];

	throttle_begin(&t, &c, command_of(children, ARRAY_LEN(children)), 0);
	while (!c.held)
		run(&t, &c, 1, 1);
	while (state_of(children[0]) != 'T')
		(void) poll(NULL, 0, 1);
	ck_assert_int_eq(kill(children[0], SIGSTOP), 0);
	run_until_free(&t, &c);
	ck_assert_int_eq(state_of(children[0]), 'T');
	ck_assert_int_ne(state_of(children[1]), 'T');
	ck_assert_int_eq(kill(children[0], SIGCONT), 0);
	run(&t, &c, 1, SECONDS * 100);
	run_until_free(&t, &c);
	ck_assert_int_ne(state_of(children[0]), 'T');
}
END_TEST

START_TEST(without_a_limit_or_a_command_there_is_nothing_to_do)
{
	struct throttle t = open_throttle(0);
	struct throttle_command none = { 0 }, c;

	ck_assert_int_eq(throttle_tick(&t, &none, 1), -1);
	throttle_begin(&t, &c, command(0), 0);
	ck_assert_int_eq(throttle_tick(&t, &c, 1), -1);
	/* All CPUs that there are is no limit. */
	throttle_open(&t, t.proc_fd, (uint64_t) t.cpus * 1000);
	ck_assert_int_eq(throttle_tick(&t, &c, 1), -1);
}
END_TEST

UNIT_MAIN("throttle", who_computes_gets_no_more_than_the_share, who_blocks_a_stop_gets_no_more_either,
	  threads_of_one_that_waits_get_no_more_either, what_is_within_its_share_is_left_alone,
	  a_share_of_its_own_holds_one_command_only, what_was_stopped_by_others_stays_stopped,
	  a_crowd_goes_on_each_time, what_is_being_stopped_by_others_stays_stopped, what_others_stop_while_it_is_held_stays_stopped,
	  without_a_limit_or_a_command_there_is_nothing_to_do)
