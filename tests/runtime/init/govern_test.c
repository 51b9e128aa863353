/*
 * Which limits hold for a command that asks for some, and what is written for it, without a cgroup and without looking at anything.
 */
#include "runtime/init/govern.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/kern/cgroup.h"
#include "tests/harness/unit.h"

#define MIB ((uint64_t) 1 << 20)

static struct govern govern;
static struct command_request request;

static void begin(const struct govern_wishes *wishes)
{
	struct govern_wishes w = *wishes;

	memset(&govern, 0, sizeof(govern));
	w.shared_proc = true; /* nothing is to be looked at */
	ck_assert_int_eq(govern_open(&govern, &w, -EBADF), 0);
	govern.wishes.shared_proc = wishes->shared_proc;
	govern.wishes.sandbox.memory = wishes->sandbox.memory;
	govern.wishes.command.memory = wishes->command.memory;
}

START_TEST(test_limits_of_a_command)
{
	static const struct {
		const char *what;
		struct initmsg_limits sandbox, usual, wanted, held;
	} cases[] = {
		{ "none", { 0 }, { 0 }, { 0 }, { 0 } },
		{ "the sandbox's, with a reserve of processes", { 512 * MIB, 2000, 512 }, { 0 }, { 0 }, { 512 * MIB, 2000, 448 } },
		{ "few processes", { 0, 0, 7 }, { 0 }, { 0 }, { 0, 0, 7 } },
		{ "the usual ones", { 512 * MIB, 2000, 512 }, { 64 * MIB, 500, 20 }, { 0 }, { 64 * MIB, 500, 20 } },
		{ "less than usual", { 512 * MIB, 2000, 512 }, { 64 * MIB, 500, 20 }, { MIB, 10, 1 }, { MIB, 10, 1 } },
		{ "more than usual", { 512 * MIB, 2000, 512 }, { 64 * MIB, 500, 20 }, { 65 * MIB, 501, 500 }, { 65 * MIB, 501, 500 } },
		{ "more than all", { 512 * MIB, 2000, 512 }, { 0 }, { UINT64_MAX, UINT32_MAX, UINT32_MAX }, { 512 * MIB, 2000, 512 } },
		{ "one where there are none", { 0 }, { 0 }, { MIB, 10, 1 }, { MIB, 10, 1 } },
		{ "usual ones above all", { 512 * MIB, 2000, 512 }, { 1024 * MIB, 3000, 513 }, { 0 }, { 512 * MIB, 2000, 512 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct initmsg_exited exited;
		struct command_report report = { .wait_status = 0 };
		begin(&(struct govern_wishes) { .sandbox = cases[i].sandbox, .command = cases[i].usual });
		ck_assert_int_eq(govern_begin(&govern, 3, &cases[i].wanted, &request), 0);
		govern_begun(&govern, 3, 12345678);
		ck_assert_int_eq(request.cgroup_fd, -EBADF);
		memset(&exited, 0xA5, sizeof(exited));
		govern_end(&govern, 3, &report, &exited);
		ck_assert_msg(exited.limits.memory == cases[i].held.memory && exited.limits.cpu_milli == cases[i].held.cpu_milli &&
			      exited.limits.pids == cases[i].held.pids, "%s: %llu %u %u", cases[i].what,
			      (unsigned long long) exited.limits.memory, exited.limits.cpu_milli, exited.limits.pids);
		ck_assert_int_eq(memcmp(&exited.sandbox, &cases[i].sandbox, sizeof(exited.sandbox)), 0);
		ck_assert_uint_eq(exited.killed, INITMSG_NOT_KILLED);
		ck_assert_uint_eq(exited.metrics.measured, INITMSG_APPROXIMATE);
	}
}
END_TEST

/* The kernel counts all processes of the sandbox, so those of ours come on top, but never more than all together. */
START_TEST(test_processes_without_cgroups)
{
	static const struct {
		uint32_t sandbox, wanted, least, most;
		bool single;
	} cases[] = {
		{ 0, 0, 0, 0, false },
		{ 512, 0, 449, 464, false },
		{ 512, 512, 512, 512, false },
		{ 512, 20, 21, 36, false },
		{ 512, 0, 512, 512, true },
		{ 0, 20, 21, 36, false },
		{ 10, 0, 10, 10, false },
		{ 0, UINT32_MAX, UINT32_MAX, UINT32_MAX, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		begin(&(struct govern_wishes) { .sandbox.pids = cases[i].sandbox, .single = cases[i].single });
		ck_assert_int_eq(govern_begin(&govern, 0, &(struct initmsg_limits) { .pids = cases[i].wanted }, &request), 0);
		ck_assert_msg(request.tasks_limit >= cases[i].least && request.tasks_limit <= cases[i].most, "case %zu: %u", i,
			      request.tasks_limit);
		govern_begun(&govern, 0, -1);
	}
}
END_TEST

START_TEST(test_manner)
{
	begin(&(struct govern_wishes) { .single = false });
	ck_assert_ptr_null(govern_manner(&govern));
	begin(&(struct govern_wishes) { .sandbox.pids = 1 });
	ck_assert_str_eq(govern_manner(&govern), "approximate");
	begin(&(struct govern_wishes) { .sandbox.cpu_milli = 1 });
	ck_assert_str_eq(govern_manner(&govern), "approximate");
	govern.leaves.controllers = CGROUP_MEMORY | CGROUP_PIDS; /* the one that is asked for is missing */
	ck_assert_str_eq(govern_manner(&govern), "approximate");
	govern.wishes.sandbox.cpu_milli = 0;
	ck_assert_str_eq(govern_manner(&govern), "exact");
}
END_TEST

/* Where /proc is not ours nobody adds anything up, and nothing is said that does not hold. */
START_TEST(test_shared_proc)
{
	struct govern_wishes wishes = { .sandbox.memory = MIB, .command.memory = MIB, .shared_proc = true };

	memset(&govern, 0, sizeof(govern));
	ck_assert_int_eq(govern_open(&govern, &wishes, -EBADF), 0);
	ck_assert_ptr_null(govern_manner(&govern));
	ck_assert_int_eq(govern_begin(&govern, 0, &(struct initmsg_limits) { .memory = MIB }, &request), 0);
	ck_assert_uint_eq(govern.commands[0].limits.memory, 0);
	govern_begun(&govern, 0, -1);
	ck_assert_int_eq(govern_tick(&govern), -1);
}
END_TEST

/* A cgroup that was given has to hold: nothing weaker takes its place without a word. */
START_TEST(test_given_cgroup)
{
	struct govern_wishes wishes = { .sandbox.memory = MIB, .shared_proc = true };
	char folder[] = "/tmp/cloche-govern.XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(folder));
	_cleanup_fd_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(&govern, 0, sizeof(govern));
	ck_assert_int_eq(govern_open(&govern, &wishes, fd), -ENOENT);
	ck_assert_int_eq(mkdirat(fd, "work", 0700), 0);
	ck_assert_int_eq(govern_open(&govern, &wishes, fd), -ENOTDIR);
	ck_assert_int_eq(unlinkat(fd, "work", AT_REMOVEDIR), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* What the shim tells is passed on; what nobody measured is not called nothing. */
START_TEST(test_figures)
{
	struct command_report report = { .cpu_user_us = 1, .cpu_system_us = 2, .max_rss_kib = 3, .read_bytes = 4, .written_bytes = 5 };
	struct initmsg_exited exited = { 0 };

	begin(&(struct govern_wishes) { .sandbox.cpu_milli = 1000 });
	ck_assert_int_eq(govern_begin(&govern, 0, &(struct initmsg_limits) { 0 }, &request), 0);
	govern_begun(&govern, 0, 12345678);
	govern_end(&govern, 0, &report, &exited);
	ck_assert_uint_eq(exited.metrics.cpu_user_us, 1);
	ck_assert_uint_eq(exited.metrics.cpu_system_us, 2);
	ck_assert_uint_eq(exited.metrics.max_rss, 3 * 1024);
	ck_assert_uint_eq(exited.metrics.memory_peak, 3 * 1024);
	ck_assert_uint_eq(exited.metrics.read_bytes, 4);
	ck_assert_uint_eq(exited.metrics.written_bytes, 5);
	ck_assert(exited.metrics.throttled_us == INITMSG_UNKNOWN);
	ck_assert_uint_eq(exited.metrics.processes_peak, 0);
}
END_TEST

/* The kernel counts those of others too; and what it tells at the end is no less than what was seen. */
START_TEST(test_processes_at_the_end)
{
	static const struct {
		uint32_t least; /* beside those that were there before */
		bool others;
		uint32_t peak;
	} cases[] = {
		{ 60, false, 60 },
		{ 1, false, 1 },
		{ 0, false, 0 },
		{ UINT32_MAX, false, 0 }, /* one less than before */
		{ 60, true, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct command_report report = { .wait_status = 0 };
		struct initmsg_exited exited = { 0 };
		begin(&(struct govern_wishes) { .sandbox.pids = 512 });
		ck_assert_int_eq(govern_begin(&govern, 0, &(struct initmsg_limits) { .pids = 64 }, &request), 0);
		govern_begun(&govern, 0, 12345678);
		ck_assert_uint_eq(request.tasks_near, request.tasks_limit - 4);
		report.tasks_least = request.tasks_limit - 64 + cases[i].least;
		govern.commands[1].alive = cases[i].others; /* nobody looks at them here */
		govern_end(&govern, 0, &report, &exited);
		ck_assert_msg(exited.metrics.processes_peak == cases[i].peak, "case %zu: %u", i, exited.metrics.processes_peak);
	}
}
END_TEST

/* A cgroup that does not go is tried again, less and less often, and does not keep init busy. */
START_TEST(test_leaves_that_stay)
{
	char folder[] = "/tmp/cloche-govern.XXXXXX";
	int last = 0, wait;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	begin(&(struct govern_wishes) { .single = true });
	govern.leaves.work_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(govern_tick(&govern), -1);
	govern.leaves.rows[0] = (struct leaf) { .state = LEAF_USED, .fd = -EBADF, .name = "c1" };
	ck_assert_int_eq(mkdirat(govern.leaves.work_fd, "c1", 0700), 0);
	ck_assert_int_eq(mkdirat(govern.leaves.work_fd, "c1/x", 0700), 0);
	leaf_drop(&govern.leaves, &govern.leaves.rows[0]);
	for (int i = 0; i < 12; i++) {
		wait = govern_tick(&govern);
		ck_assert_int_gt(wait, 0);
		ck_assert_int_ge(wait, last / 2); /* the machine may be slow */
		ck_assert_int_le(govern_tick(&govern), wait);
		last = wait;
		govern.next_sweep_ms = clock_now_ms(); /* that time has passed */
	}
	ck_assert_int_gt(last, 1000);
	ck_assert_int_lt(last, 10000);
	ck_assert_int_eq(unlinkat(govern.leaves.work_fd, "c1/x", AT_REMOVEDIR), 0);
	ck_assert_int_eq(govern_tick(&govern), -1);
	ck_assert_int_eq(govern.leaves.rows[0].state, LEAF_NONE);
	govern.leaves.work_fd = fd_close(govern.leaves.work_fd);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

UNIT_MAIN("runtime/init/govern", test_limits_of_a_command, test_processes_without_cgroups, test_manner, test_shared_proc,
	  test_given_cgroup, test_figures, test_processes_at_the_end, test_leaves_that_stay)
