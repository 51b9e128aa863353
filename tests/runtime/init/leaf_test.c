/*
 * Cgroups of commands, on a folder that looks like the sandbox's groups: what is written for which limits, what is read of which
 * files, and that no leaf is forgotten. The kernel's own groups are used in the system tests.
 */
#include "runtime/init/leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/kern/cgroup.h"
#include "tests/harness/unit.h"

#define MIB ((uint64_t) 1 << 20)

enum { ALL = CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU | CGROUP_IO };

static struct leaves leaves;
static struct leaf *spare;
static struct initmsg_metrics metrics;

static void put(int dir_fd, const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void check_file(const char *file, const char *wanted)
{
	char text[256] = "";

	ck_assert_int_ge(fd_read_text(spare->fd, file, text, sizeof(text)), 0);
	ck_assert_msg(strcmp(text, wanted) == 0, "%s is '%s', not '%s'", file, text, wanted);
}

/* `work` with the spare leaf c1 in it, whose files hold "-" so that it is seen which are written. */
static void begin(unsigned int controllers, uint64_t swap)
{
	static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cgroup.kill" };
	char folder[] = "/tmp/cloche-leaf.XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(folder));
	leaves = (struct leaves) { .controllers = controllers, .swap = swap, .own_processes = 1, .number = 1 };
	leaves.work_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(leaves.work_fd, 0);
	spare = &leaves.rows[0];
	*spare = (struct leaf) { .state = LEAF_SPARE, .name = "c1" };
	spare->fd = cgroup_make(leaves.work_fd, spare->name);
	ck_assert_int_ge(spare->fd, 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		put(spare->fd, files[i], "-");
}

/* Removes what is left of the folder: the files that a real group would have had no trouble with. */
static void end(void)
{
	char path[64], command[128];
	ssize_t n;

	(void) snprintf(command, sizeof(command), "/proc/self/fd/%d", leaves.work_fd);
	n = readlink(command, path, sizeof(path) - 1);
	ck_assert_int_gt(n, 0);
	path[n] = '\0';
	ck_assert_int_eq(strncmp(path, "/tmp/cloche-leaf.", 17), 0);
	_cleanup_list_ DIR *groups = fd_list(leaves.work_fd);
	for (const struct dirent *g; groups && (g = readdir(groups));) {
		_cleanup_fd_ int fd = openat(leaves.work_fd, g->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		_cleanup_list_ DIR *files = g->d_name[0] == '.' || fd < 0 ? NULL : fd_list(fd);
		for (const struct dirent *f; files && (f = readdir(files));)
			(void) unlinkat(fd, f->d_name, 0);
		(void) unlinkat(leaves.work_fd, g->d_name, g->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	}
	ck_assert_int_eq(rmdir(path), 0);
	leaves.work_fd = fd_close(leaves.work_fd);
}

START_TEST(test_limits_are_written)
{
	static const struct initmsg_limits limits = { .memory = 64 * MIB, .cpu_milli = 1500, .pids = 40 };

	begin(ALL, CGROUP_MAX);
	ck_assert_ptr_eq(leaf_take(&leaves, &limits, true), spare);
	ck_assert_int_eq(spare->state, LEAF_USED);
	check_file("memory.max", "67108864");
	check_file("memory.swap.max", "0");
	check_file("pids.max", "41"); /* and its shim */
	check_file("cpu.max", "150000 100000");
	check_file("memory.oom.group", "-"); /* was written when it was made */
	end();
}
END_TEST

/* Its shim is one of those that all together may be: so the leaf's limit is the one that is met, and tells. */
START_TEST(test_all_processes)
{
	begin(ALL, 0);
	leaves.processes = 40;
	ck_assert_ptr_eq(leaf_take(&leaves, &(struct initmsg_limits) { .pids = 40 }, false), spare);
	check_file("pids.max", "40");
	end();
}
END_TEST

/* What is in the files of a spare leaf already is not written again; what is too much there is taken back. */
START_TEST(test_only_what_differs)
{
	static const struct initmsg_limits limits = { .memory = 64 * MIB };

	begin(ALL, 0);
	spare->limits = (struct initmsg_limits) { .memory = 64 * MIB, .cpu_milli = 100, .pids = 4 };
	ck_assert_ptr_eq(leaf_take(&leaves, &limits, true), spare);
	check_file("memory.max", "-");
	check_file("memory.swap.max", "-"); /* all together have no swap */
	check_file("pids.max", "max");
	check_file("cpu.max", "max");
	end();
}
END_TEST

/* Files of controllers that are not handed down are left alone. */
START_TEST(test_without_controllers)
{
	static const struct initmsg_limits limits = { .memory = 64 * MIB, .cpu_milli = 1500, .pids = 40 };

	begin(CGROUP_PIDS, 0);
	ck_assert_ptr_eq(leaf_take(&leaves, &limits, true), spare);
	check_file("memory.max", "-");
	check_file("cpu.max", "-");
	check_file("pids.max", "41");
	end();
}
END_TEST

/* A limit that cannot be written is no limit: the leaf is not used, and goes. */
START_TEST(test_fails_closed)
{
	static const struct initmsg_limits limits = { .memory = 64 * MIB, .pids = 40 };

	begin(ALL, 0);
	ck_assert_int_eq(unlinkat(spare->fd, "pids.max", 0), 0);
	ck_assert_ptr_null(leaf_take(&leaves, &limits, false));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(spare->state, LEAF_LEAVING);
	ck_assert_uint_eq(leaves.leaving, 1);
	/* And a new one, whose files this folder does not make by itself. */
	ck_assert_ptr_null(leaf_take(&leaves, &limits, false));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(leaves.rows[1].name, "c2");
	ck_assert_uint_eq(leaves.leaving, 2);
	leaves_sweep(&leaves);
	ck_assert_int_eq(leaves.rows[1].state, LEAF_NONE);
	ck_assert_uint_eq(leaves.leaving, 1);
	end();
}
END_TEST

START_TEST(test_too_many)
{
	static const struct initmsg_limits limits;

	begin(0, 0);
	for (size_t i = 0; i < LEAVES_MAX; i++)
		leaves.rows[i].state = LEAF_USED;
	ck_assert_ptr_null(leaf_take(&leaves, &limits, false));
	ck_assert_int_eq(errno, EAGAIN);
	leaves_prepare(&leaves, &limits);
	ck_assert_uint_eq(leaves.number, 1);
	end();
}
END_TEST

/* One that does not go is tried again, and its row is not used meanwhile. */
START_TEST(test_leaving)
{
	static const struct initmsg_limits limits;

	begin(0, 0);
	leaf_drop(&leaves, spare);
	for (int i = 0; i < 3; i++) {
		leaves_sweep(&leaves);
		ck_assert_int_eq(spare->state, LEAF_LEAVING);
		ck_assert_uint_eq(leaves.leaving, 1);
	}
	leaves_prepare(&leaves, &limits);
	ck_assert_int_eq(leaves.rows[1].state, LEAF_SPARE);
	leaves_prepare(&leaves, &limits); /* one is enough */
	ck_assert_int_eq(leaves.rows[2].state, LEAF_NONE);
	_cleanup_list_ DIR *files = fd_list(spare->fd);
	for (const struct dirent *f; files && (f = readdir(files));)
		(void) unlinkat(spare->fd, f->d_name, 0);
	int fd = spare->fd;
	leaves_sweep(&leaves);
	ck_assert_int_eq(spare->state, LEAF_NONE);
	ck_assert_uint_eq(leaves.leaving, 0);
	ck_assert_int_lt(fcntl(fd, F_GETFD), 0); /* closed */
	ck_assert_int_lt(faccessat(leaves.work_fd, "c1", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(leaves.work_fd, "c2", F_OK, 0), 0);
	end();
}
END_TEST

START_TEST(test_figures)
{
	begin(ALL, 0);
	put(leaves.work_fd, "cpu.stat", "usage_usec 9\nthrottled_usec 1000\n");
	spare->limits.pids = 40;
	ck_assert_ptr_eq(leaf_take(&leaves, &(struct initmsg_limits) { .pids = 40 }, false), spare);
	put(leaves.work_fd, "cpu.stat", "usage_usec 9\nthrottled_usec 4000\n");
	put(spare->fd, "memory.peak", "1234567\n");
	put(spare->fd, "memory.events", "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\n");
	put(spare->fd, "cpu.stat", "usage_usec 70\nuser_usec 50\nsystem_usec 20\nnr_throttled 2\nthrottled_usec 500\n");
	put(spare->fd, "pids.peak", "8\n");
	put(spare->fd, "pids.events", "max 17\n");
	put(spare->fd, "io.stat", "8:0 rbytes=100 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n7:0 rbytes=11 wbytes=3 rios=1 wios=1 dbytes=0 dios=0\n");
	memset(&metrics, 0, sizeof(metrics));
	ck_assert_int_eq(leaf_read(&leaves, spare, &metrics), INITMSG_NOT_KILLED);
	ck_assert_uint_eq(metrics.cpu_user_us, 50);
	ck_assert_uint_eq(metrics.cpu_system_us, 20);
	ck_assert_uint_eq(metrics.throttled_us, 3500);
	ck_assert_uint_eq(metrics.memory_peak, 1234567);
	ck_assert_uint_eq(metrics.processes_peak, 7); /* without its shim */
	ck_assert_uint_eq(metrics.pids_refused, 17);
	ck_assert_uint_eq(metrics.read_bytes, 111);
	ck_assert_uint_eq(metrics.written_bytes, 23);
	ck_assert_uint_eq(metrics.oom_kills, 0);
	end();
}
END_TEST

/* A kernel that has none of the younger files: what init measured stays, and what follows from the limits is known. */
START_TEST(test_missing_files)
{
	begin(ALL, 0);
	spare->limits = (struct initmsg_limits) { .memory = 64 * MIB, .pids = 40 };
	put(spare->fd, "memory.events", "oom 1\noom_kill 2\n");
	put(spare->fd, "pids.events", "max 1\n");
	metrics = (struct initmsg_metrics) { .cpu_user_us = 5, .read_bytes = INITMSG_UNKNOWN, .throttled_us = 6, .max_rss = 7 };
	ck_assert_int_eq(leaf_read(&leaves, spare, &metrics), INITMSG_KILLED_MEMORY);
	ck_assert_uint_eq(metrics.cpu_user_us, 5);
	ck_assert(metrics.read_bytes == INITMSG_UNKNOWN);
	ck_assert_uint_eq(metrics.throttled_us, 6);
	ck_assert_uint_eq(metrics.memory_peak, 64 * MIB);
	ck_assert_uint_eq(metrics.processes_peak, 40);
	ck_assert_uint_eq(metrics.max_rss, 7);
	end();
}
END_TEST

/* Counters of all together are compared with what they were when the command began, not when its leaf was made. */
START_TEST(test_met_together)
{
	begin(CGROUP_MEMORY | CGROUP_PIDS, 0);
	put(leaves.work_fd, "memory.events.local", "oom 4\noom_kill 0\n");
	put(leaves.work_fd, "pids.events.local", "max 5\n");
	ck_assert_ptr_eq(leaf_take(&leaves, &(struct initmsg_limits) { .pids = 40 }, false), spare);
	put(spare->fd, "memory.events", "oom 0\noom_kill 1\n");
	put(spare->fd, "pids.events", "max 0\n");
	memset(&metrics, 0, sizeof(metrics));
	ck_assert_int_eq(leaf_read(&leaves, spare, &metrics), INITMSG_NOT_KILLED); /* by the whole machine's want */
	ck_assert_uint_eq(metrics.pids_refused, 0);
	put(leaves.work_fd, "memory.events.local", "oom 5\noom_kill 0\n");
	put(leaves.work_fd, "pids.events.local", "max 8\n");
	ck_assert_int_eq(leaf_read(&leaves, spare, &metrics), INITMSG_KILLED_MEMORY_ALL);
	ck_assert_uint_eq(metrics.pids_refused, 3);
	put(spare->fd, "pids.events", "max 1\n"); /* its own limit says more */
	ck_assert_int_eq(leaf_read(&leaves, spare, &metrics), INITMSG_KILLED_MEMORY_ALL);
	ck_assert_uint_eq(metrics.pids_refused, 1);
	end();
}
END_TEST

/* Whose limit of memory it was that something was killed for. */
START_TEST(test_why_it_was_killed)
{
	static const struct {
		const char *what, *events, *work_now;
		enum initmsg_killed killed;
		uint32_t kills;
	} cases[] = {
		{ "nothing", "oom 0\noom_kill 0\n", "oom 2\n", INITMSG_NOT_KILLED, 0 },
		{ "met its limit, and something gave way", "oom 3\noom_kill 0\n", "oom 2\n", INITMSG_NOT_KILLED, 0 },
		{ "its own limit", "oom 1\noom_kill 3\n", "oom 2\n", INITMSG_KILLED_MEMORY, 2 },
		{ "only its shim was counted", "oom 1\noom_kill 1\n", "oom 2\n", INITMSG_KILLED_MEMORY, 1 },
		{ "the limit of all together", "oom 0\noom_kill 3\n", "oom 3\n", INITMSG_KILLED_MEMORY_ALL, 2 },
		{ "the whole machine", "oom 0\noom_kill 3\n", "oom 2\n", INITMSG_NOT_KILLED, 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		begin(ALL, 0);
		spare->ooms_before = 2;
		put(spare->fd, "memory.events", cases[i].events);
		put(leaves.work_fd, "memory.events.local", cases[i].work_now);
		memset(&metrics, 0, sizeof(metrics));
		ck_assert_msg(leaf_read(&leaves, spare, &metrics) == cases[i].killed, "%s", cases[i].what);
		ck_assert_msg(metrics.oom_kills == cases[i].kills, "%s: %u", cases[i].what, metrics.oom_kills);
		end();
	}
}
END_TEST

START_TEST(test_counters_stay)
{
	begin(CGROUP_PIDS, 0);
	put(spare->fd, "pids.events", "max 99999999999\n");
	memset(&metrics, 0, sizeof(metrics));
	(void) leaf_read(&leaves, spare, &metrics);
	ck_assert_uint_eq(metrics.pids_refused, UINT32_MAX);
	end();
}
END_TEST

/* What is no cgroup is not taken for one, whoever left that descriptor open. */
START_TEST(test_only_cgroups)
{
	char folder[] = "/tmp/cloche-leaf.XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(folder));
	_cleanup_fd_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(leaves_open(&leaves, -EBADF, 1), -EBADF);
	ck_assert(!leaves_are_used(&leaves));
	ck_assert_int_eq(leaves_open(&leaves, fd, 1), -ENOENT);
	ck_assert_int_eq(mkdirat(fd, "work", 0700), 0);
	ck_assert_int_eq(leaves_open(&leaves, fd, 1), -ENOTDIR);
	ck_assert(!leaves_are_used(&leaves));
	ck_assert_int_eq(unlinkat(fd, "work", AT_REMOVEDIR), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

UNIT_MAIN("runtime/init/leaf", test_limits_are_written, test_all_processes, test_only_what_differs, test_without_controllers,
	  test_fails_closed, test_too_many, test_leaving, test_figures, test_missing_files, test_met_together,
	  test_why_it_was_killed, test_counters_stay, test_only_cgroups)
