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

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

#define MIB ((uint64_t) 1 << 20)
/* What a process has besides: its heap, its page tables, and the shadow of its memory in a build with AddressSanitizer. */
#define SLACK ((ATTR_SANITIZED ? 8 : 4) * MIB)

enum { SIZE = 32 << 20 };

enum kind { PRIVATE, SHARED, RESERVED, THREAD, BORROWED, FORKED, DROPPED };

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
	bool is_shared = kind == SHARED || kind == DROPPED;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *p = is_shared ? shared : mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind != RESERVED)
		memset(p, 1, SIZE);
	if (kind == DROPPED && madvise(p, SIZE, MADV_DONTNEED) < 0)
		_exit(1);
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
		(void) munmap(shared, SIZE); /* room that it does not use would be a place to hide something */
		for (;;)
			(void) pause();
	}
	for (int i = 0; i < children; i++)
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void) fd_close(ready[0]);
	(void) fd_close(ready[1]);
	return root;
}

static pid_t tree_of_kind(enum kind kind)
{
	return tree(kind, 1, false);
}

static struct watchdog open_watchdog(uint64_t limit)
{
	struct watchdog w;

	ck_assert_int_eq(watchdog_open(&w, limit), 0);
	watch_hidden_begin(&w.hidden, w.proc_fd, 0);
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

/* A row for a command that uses @mib, of which @folders in folders that it filled. */
static struct watchdog_tree row(pid_t root, uint64_t mib, uint64_t limit_mib, uint64_t folders)
{
	return (struct watchdog_tree) { .root = root, .bytes = mib * MIB, .limit = limit_mib * MIB, .folders = folders * MIB };
}

START_TEST(below_all_limits_nobody_is_killed)
{
	struct watchdog w = { .limit = 256 * MIB, .total = 256 * MIB };
	struct watchdog_tree trees[] = { row(10, 200, 0, 0), row(20, 50, 50, 0) };
	bool all;

	ck_assert_ptr_null(watchdog_offender(&w, trees, ARRAY_LEN(trees), &all));
}
END_TEST

START_TEST(who_uses_the_most_is_killed_for_all)
{
	struct watchdog w = { .limit = 256 * MIB, .total = 257 * MIB };
	struct watchdog_tree trees[] = { row(0, 0, 0, 0), row(10, 120, 0, 0), row(20, 130, 0, 0) };
	bool all = false;

	ck_assert_ptr_eq(watchdog_offender(&w, trees, ARRAY_LEN(trees), &all), &trees[2]);
	ck_assert(all);
}
END_TEST

START_TEST(a_limit_of_its_own_comes_first)
{
	struct watchdog w = { .limit = 256 * MIB, .total = 300 * MIB };
	struct watchdog_tree trees[] = { row(10, 200, 0, 0), row(20, 70, 64, 0), row(30, 30, 16, 0) };
	bool all = true;

	ck_assert_ptr_eq(watchdog_offender(&w, trees, ARRAY_LEN(trees), &all), &trees[2]);
	ck_assert(!all);
}
END_TEST

START_TEST(what_others_left_in_folders_is_nobodys_fault)
{
	struct watchdog w = { .limit = 256 * MIB, .total = 260 * MIB, .in_folders = 250 * MIB };
	struct watchdog_tree trees[] = { row(10, 10, 0, 0) };
	bool all;

	trees[0].folders_before = 250 * MIB;
	ck_assert_ptr_null(watchdog_offender(&w, trees, 1, &all));
	/* But who fills them is to blame, and so is who uses much beside full ones. */
	trees[0].folders_before = 100 * MIB;
	ck_assert_ptr_eq(watchdog_offender(&w, trees, 1, &all), &trees[0]);
	trees[0] = row(10, 40, 0, 0);
	trees[0].folders_before = 250 * MIB;
	ck_assert_ptr_eq(watchdog_offender(&w, trees, 1, &all), &trees[0]);
}
END_TEST

START_TEST(the_pause_shrinks_towards_the_nearest_limit)
{
	struct watchdog w = { .limit = 4096 * MIB, .bytes_per_ms = 4 * MIB, .paused_ms = clock_now_ms() };
	struct watchdog_tree tree = row(10, 0, 0, 0);
	int last = watchdog_pause_ms(&w, &tree, 1);

	ck_assert_int_eq(last, 512);
	for (w.total = 512 * MIB; w.total <= 4096 * MIB; w.total += 512 * MIB) {
		int pause_ms = watchdog_pause_ms(&w, &tree, 1);
		ck_assert_int_lt(pause_ms, last);
		last = pause_ms;
	}
	ck_assert_int_eq(last, 5);
	w.total = 0;
	tree = row(10, 60, 64, 0);
	ck_assert_int_eq(watchdog_pause_ms(&w, &tree, 1), 5);
	tree.root = 0;
	w.limit = 0;
	ck_assert_int_eq(watchdog_pause_ms(&w, &tree, 1), 1000);
}
END_TEST

START_TEST(looking_takes_no_more_than_its_share_but_for_a_while)
{
	struct watchdog w = { .limit = 256 * MIB, .total = 256 * MIB, .bytes_per_ms = 4 * MIB, .cost_us = 10000, .credit_us = 50000,
			      .paused_ms = clock_now_ms() };
	int looks = 0;

	while (watchdog_pause_ms(&w, NULL, 0) < 40 && looks < 100)
		looks++;
	ck_assert_int_ge(looks, 4);
	ck_assert_int_le(looks, 10);
	ck_assert_int_eq(watchdog_pause_ms(&w, NULL, 0), 40);
	w.total = 32 * MIB;
	ck_assert_int_eq(watchdog_pause_ms(&w, NULL, 0), 200);
}
END_TEST

START_TEST(the_highest_figure_is_remembered)
{
	struct watchdog w = open_watchdog(0);
	struct watchdog_tree tree = WATCHDOG_TREE_NONE;
	pid_t root = tree_of_kind(PRIVATE);

	watchdog_begin(&w, &tree, root, 0);
	(void) watchdog_look(&w, &tree, 1);
	ck_assert_uint_ge(tree.peak, (uint64_t) SIZE);
	ck_assert_uint_le(tree.peak, (uint64_t) SIZE + SLACK);
	ck_assert_uint_eq(tree.tasks_peak, 2);
	(void) kill(root, SIGKILL);
	(void) waitpid(root, NULL, 0);
	(void) watchdog_look(&w, &tree, 1);
	ck_assert_uint_lt(tree.bytes, (uint64_t) SIZE);
	ck_assert_uint_ge(tree.peak, (uint64_t) SIZE);
	watchdog_end(&w, &tree);
	ck_assert_int_eq(tree.root, 0);
}
END_TEST

/* Where processes keep the look waiting there is none for a while, for a peak; for a limit there is. */
START_TEST(only_a_peak_can_wait)
{
	struct watchdog w = open_watchdog(0);
	struct watchdog_tree tree = WATCHDOG_TREE_NONE;
	pid_t root = tree_of_kind(FORKED);

	watchdog_begin(&w, &tree, root, 0);
	w.peaks_ms = clock_now_ms() + 3600000;
	(void) watchdog_look(&w, &tree, 1);
	ck_assert_uint_eq(tree.peak, 0);
	ck_assert_uint_ge(tree.bytes, (uint64_t) 4 * SIZE);
	tree.limit = 3 * SIZE;
	(void) watchdog_look(&w, &tree, 1);
	ck_assert_uint_le(tree.bytes, (uint64_t) 2 * SIZE);
	ck_assert_uint_ge(tree.peak, (uint64_t) SIZE);
	watchdog_end(&w, &tree);
	watchdog_begin(&w, &tree, root, 0);
	ck_assert_int_eq(w.peaks_ms, 0); /* the next command starts anew */
	for (int i = 0; i < 20 && tree.peak == 0; i++) { /* on a busy machine it may have to wait */
		(void) watchdog_look(&w, &tree, 1);
		w.peaks_ms = 0;
	}
	ck_assert_uint_ge(tree.peak, (uint64_t) SIZE);
	ck_assert_uint_le(tree.peak, (uint64_t) 2 * SIZE);
}
END_TEST

/*
 * Pages that a process dropped, of memory that it still has mapped: no table of any process shows them. When others on this machine let
 * go of as much in the same moment it cannot be told, so this is tried some times.
 */
START_TEST(dropped_pages_are_found_by_what_the_machine_has)
{
	uint64_t found = 0;

	for (int i = 0; i < 20 && found < SIZE / 2; i++) {
		struct watchdog w = open_watchdog(SIZE);
		struct watchdog_tree tree = WATCHDOG_TREE_NONE;
		watchdog_begin(&w, &tree, getpid(), 0);
		tree.root = tree_of_kind(DROPPED);
		(void) watchdog_look(&w, &tree, 1);
		found = tree.bytes;
		(void) kill(tree.root, SIGKILL);
		(void) fd_close(w.proc_fd);
	}
	ck_assert_uint_ge(found, (uint64_t) SIZE / 2);
}
END_TEST

UNIT_MAIN("watchdog", private_memory_counts_for_each, hiding_from_debuggers_hides_no_private_memory,
	  ending_the_first_thread_hides_nothing, memory_that_a_child_borrows_counts_once, memory_that_forks_share_counts_once,
	  shared_memory_counts_once, reserved_memory_does_not_count, trees_are_told_apart, the_dead_use_nothing,
	  below_all_limits_nobody_is_killed, who_uses_the_most_is_killed_for_all, a_limit_of_its_own_comes_first,
	  what_others_left_in_folders_is_nobodys_fault, the_pause_shrinks_towards_the_nearest_limit,
	  looking_takes_no_more_than_its_share_but_for_a_while, the_highest_figure_is_remembered, only_a_peak_can_wait,
	  dropped_pages_are_found_by_what_the_machine_has)
