/*
 * What init's watch over memory sees: real children with memory of several kinds, in trees as commands make them. It is read
 * from the /proc of the test, so other processes of the machine are seen too, but belong to no tree.
 */
#include "runtime/init/watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

#define MIB ((uint64_t) 1 << 20)
#define SLACK (4 * MIB) /* what a process has besides: its heap, its page tables */

enum { SIZE = 32 << 20 };

enum kind { PRIVATE, SHARED, RESERVED, THREAD, BORROWED, FORKED };

static int ready_fd;

_noreturn_ static void *stay(_unused_ void *unused)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		(void) pause();
}

/* Only a second thread stays; the first one is a zombie, which has no memory. */
_noreturn_ static void leave_a_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay, NULL) != 0)
		_exit(1);
	pthread_exit(NULL);
}

/* Fills what is mapped, tells the parent through @ready and waits to be killed. */
static void hold(enum kind kind, void *shared, int ready)
{
	ready_fd = ready;
	void *p = kind == SHARED ? shared : mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind != RESERVED)
		memset(p, 1, SIZE);
	if (kind == THREAD)
		leave_a_thread();
	if (kind == BORROWED && vfork() == 0)
		(void) stay(NULL);
	for (int i = 0; kind == FORKED && i < 3; i++)
		if (fork() == 0) {
			(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void) pause();
		}
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		(void) pause();
}

/* A process whose @children hold memory, as a shim with its command. It waits for them. */
static pid_t tree(enum kind kind, int children, bool hidden)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t root = fork();
	ck_assert_int_ge(root, 0);
	if (root == 0) {
		void *shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (hidden)
			(void) prctl(PR_SET_DUMPABLE, 0);
		for (int i = 0; i < children; i++)
			if (fork() == 0)
				hold(kind, shared, ready[1]);
		for (;;)
			(void) pause();
	}
	for (int i = 0; i < children; i++)
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void) fd_close(ready[0]);
	(void) fd_close(ready[1]);
	return root;
}

static struct watchdog open_watchdog(uint64_t limit)
{
	struct watchdog w;

	ck_assert_int_eq(watchdog_open(&w, limit), 0);
	return w;
}

static uint64_t seen(pid_t root, uint64_t limit)
{
	struct watchdog w = open_watchdog(limit);
	struct watchdog_tree trees[] = { { .root = 0 }, { .root = root } };
	uint64_t total = watchdog_look(&w, trees, ARRAY_LEN(trees));

	ck_assert_uint_ge(total, trees[1].bytes);
	ck_assert_uint_eq(trees[0].bytes, 0);
	(void) fd_close(w.proc_fd);
	return trees[1].bytes;
}

START_TEST(private_memory_counts_for_each)
{
	uint64_t bytes = seen(tree(PRIVATE, 3, false), 1024 * MIB);

	ck_assert_uint_ge(bytes, 3 * (uint64_t) SIZE);
	ck_assert_uint_le(bytes, 3 * (uint64_t) SIZE + 4 * SLACK);
}
END_TEST

START_TEST(hiding_from_debuggers_hides_no_private_memory)
{
	ck_assert_uint_ge(seen(tree(PRIVATE, 1, true), 1024 * MIB), (uint64_t) SIZE);
}
END_TEST

START_TEST(ending_the_first_thread_hides_nothing)
{
	ck_assert_uint_ge(seen(tree(THREAD, 1, false), 1024 * MIB), (uint64_t) SIZE);
}
END_TEST

START_TEST(memory_that_a_child_borrows_counts_once)
{
	uint64_t bytes = seen(tree(BORROWED, 1, false), 1024 * MIB);

	ck_assert_uint_ge(bytes, (uint64_t) SIZE);
	ck_assert_uint_le(bytes, (uint64_t) SIZE + 2 * SLACK);
}
END_TEST

/* Above the limit by the quick figure, pages that a fork shares are divided among parent and children. */
START_TEST(memory_that_forks_share_counts_once)
{
	uint64_t bytes = seen(tree(FORKED, 1, false), 64 * MIB);

	ck_assert_uint_ge(bytes, (uint64_t) SIZE - SLACK);
	ck_assert_uint_le(bytes, (uint64_t) SIZE + 5 * SLACK);
}
END_TEST

/* The same for shared memory; far from the limit the quick, larger figure does. */
START_TEST(shared_memory_counts_once)
{
	pid_t root = tree(SHARED, 4, false);
	uint64_t bytes = seen(root, 64 * MIB);

	ck_assert_uint_ge(bytes, (uint64_t) SIZE - SLACK);
	ck_assert_uint_le(bytes, (uint64_t) SIZE + 5 * SLACK);
	ck_assert_uint_ge(seen(root, 1 << 20 << 10), (uint64_t) SIZE);
}
END_TEST

START_TEST(reserved_memory_does_not_count)
{
	ck_assert_uint_le(seen(tree(RESERVED, 2, false), 1024 * MIB), 3 * SLACK);
}
END_TEST

START_TEST(trees_are_told_apart)
{
	struct watchdog w = open_watchdog(1024 * MIB);
	struct watchdog_tree trees[] = { { .root = tree(PRIVATE, 2, false) }, { .root = tree(PRIVATE, 1, false) } };

	(void) watchdog_look(&w, trees, ARRAY_LEN(trees));
	ck_assert_uint_ge(trees[0].bytes, 2 * (uint64_t) SIZE);
	ck_assert_uint_ge(trees[1].bytes, (uint64_t) SIZE);
	ck_assert_uint_lt(trees[1].bytes, 2 * (uint64_t) SIZE);
}
END_TEST

START_TEST(the_dead_use_nothing)
{
	pid_t root = tree(PRIVATE, 1, false);

	ck_assert_int_eq(kill(root, SIGKILL), 0);
	ck_assert_int_eq(waitpid(root, NULL, 0), root);
	ck_assert_uint_eq(seen(root, 1024 * MIB), 0);
}
END_TEST

START_TEST(without_a_limit_nothing_is_opened)
{
	struct watchdog w = open_watchdog(0);

	ck_assert_int_lt(w.proc_fd, 0);
}
END_TEST

START_TEST(the_pause_shrinks_towards_the_limit)
{
	struct watchdog w = { .limit = 4096 * MIB, .bytes_per_ms = 4 * MIB };
	int last = watchdog_pause_ms(&w, 0, 0);

	ck_assert_int_eq(last, 512);
	for (uint64_t used = 512 * MIB; used <= 4096 * MIB; used += 512 * MIB) {
		int pause_ms = watchdog_pause_ms(&w, used, 0);
		ck_assert_int_lt(pause_ms, last);
		last = pause_ms;
	}
	ck_assert_int_eq(last, 5);
	ck_assert_int_eq(watchdog_pause_ms(&w, UINT64_MAX, 0), 5);
	/* Looking at many processes takes long: not more than a twentieth of the time. */
	ck_assert_int_eq(watchdog_pause_ms(&w, 4096 * MIB, 10000), 200);
	w.limit = UINT64_MAX;
	ck_assert_int_eq(watchdog_pause_ms(&w, 0, 0), 1000);
}
END_TEST

UNIT_MAIN("watchdog", private_memory_counts_for_each, hiding_from_debuggers_hides_no_private_memory,
	  ending_the_first_thread_hides_nothing, memory_that_a_child_borrows_counts_once, memory_that_forks_share_counts_once,
	  shared_memory_counts_once, reserved_memory_does_not_count, trees_are_told_apart, the_dead_use_nothing,
	  without_a_limit_nothing_is_opened, the_pause_shrinks_towards_the_limit)
