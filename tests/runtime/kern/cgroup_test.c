/*
 * Files of a cgroup, on a plain folder with such files in it: what the kernel prints is read right or refused, and what is written is what
 * the kernel takes. On real groups: tests/runtime/life/cgroup_node_test.c, tests/system/cgroup.sh.
 */
#include "runtime/kern/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

enum { TEXT_MAX = 8192 };

static char scratch[64];
static int dir_fd = -EBADF;

static void set_up(void)
{
	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-cgroup-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
}

static void put(const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static const char *get(const char *file)
{
	static char text[TEXT_MAX];

	ck_assert_int_ge(fd_read_text(dir_fd, file, text, sizeof(text)), 0);
	return text;
}

static void tear_down(const char *const *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(unlinkat(dir_fd, files[i], 0), 0);
	dir_fd = fd_close(dir_fd);
	ck_assert_int_eq(rmdir(scratch), 0);
}

static const char *const one_file[] = { "file" };

START_TEST(test_numbers)
{
	static const struct {
		const char *text;
		int r;
		uint64_t number;
	} cases[] = {
		{ "0\n", 0, 0 },
		{ "4096\n", 0, 4096 },
		{ "18446744073709551615\n", 0, UINT64_MAX },
		{ "max\n", 0, CGROUP_MAX },
		{ "", -EBADMSG, 7 },
		{ "\n", -EBADMSG, 7 },
		{ "-1\n", -EBADMSG, 7 },
		{ "1 2\n", -EBADMSG, 7 },
		{ "maximum\n", -EBADMSG, 7 },
		{ "18446744073709551616\n", -EBADMSG, 7 },
		{ "00000000000000000000000000000000000001\n", -EBADMSG, 7 },
	};

	set_up();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t number = 7;
		put("file", cases[i].text);
		ck_assert_msg(cgroup_read_number(dir_fd, "file", &number) == cases[i].r, "'%s'", cases[i].text);
		ck_assert_uint_eq(number, cases[i].number);
	}
	uint64_t number;
	ck_assert_int_eq(cgroup_read_number(dir_fd, "missing", &number), -ENOENT);
	tear_down(one_file, 1);
}
END_TEST

START_TEST(test_keys)
{
	uint64_t number = 7;

	set_up();
	put("file", "low 0\nhigh 1\nmax 22\noom 3\noom_kill 4\noom_group_kill\nodd x\n");
	ck_assert_int_eq(cgroup_read_key(dir_fd, "file", "oom", &number), 0);
	ck_assert_uint_eq(number, 3);
	ck_assert_int_eq(cgroup_read_key(dir_fd, "file", "oom_kill", &number), 0);
	ck_assert_uint_eq(number, 4);
	ck_assert_int_eq(cgroup_read_key(dir_fd, "file", "max", &number), 0);
	ck_assert_uint_eq(number, 22);
	ck_assert_int_eq(cgroup_read_key(dir_fd, "file", "oom_group_kill", &number), -ENODATA);
	ck_assert_int_eq(cgroup_read_key(dir_fd, "file", "oom_", &number), -ENODATA);
	ck_assert_int_eq(cgroup_read_key(dir_fd, "file", "odd", &number), -EBADMSG);
	ck_assert_uint_eq(number, 22);
	tear_down(one_file, 1);
}
END_TEST

/* Several in one reading: what is not there stays as it was. */
START_TEST(test_many_keys)
{
	static const char *const keys[] = { "oom", "low", "oo", "odd" };
	uint64_t numbers[] = { 91, 92, 93, 94 };

	set_up();
	ck_assert_int_eq(cgroup_read_keys(dir_fd, "file", keys, numbers, ARRAY_LEN(keys)), -ENOENT);
	ck_assert_uint_eq(numbers[0], 91);
	put("file", "low 0\noom 3\nodd x\n");
	ck_assert_int_eq(cgroup_read_keys(dir_fd, "file", keys, numbers, ARRAY_LEN(keys)), 0);
	ck_assert_uint_eq(numbers[0], 3);
	ck_assert_uint_eq(numbers[1], 0);
	ck_assert_uint_eq(numbers[2], 93);
	ck_assert_uint_eq(numbers[3], 94);
	tear_down(one_file, 1);
}
END_TEST

START_TEST(test_sums)
{
	uint64_t sum = 7;

	set_up();
	put("file", "8:0 rbytes=4096 wbytes=10 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=20 rios=3 wios=4 dbytes=5 dios=6\n259:0 \n");
	ck_assert_int_eq(cgroup_read_sum(dir_fd, "file", "rbytes", &sum), 0);
	ck_assert_uint_eq(sum, 4097);
	ck_assert_int_eq(cgroup_read_sum(dir_fd, "file", "wbytes", &sum), 0);
	ck_assert_uint_eq(sum, 30);
	ck_assert_int_eq(cgroup_read_sum(dir_fd, "file", "bytes", &sum), 0);
	ck_assert_uint_eq(sum, 0);
	put("file", "");
	ck_assert_int_eq(cgroup_read_sum(dir_fd, "file", "rbytes", &sum), 0);
	ck_assert_uint_eq(sum, 0);
	tear_down(one_file, 1);
}
END_TEST

START_TEST(test_long_files)
{
	static char text[TEXT_MAX];
	uint64_t sum;

	set_up();
	memset(text, 'x', sizeof(text) - 1);
	put("file", text);
	ck_assert_int_eq(cgroup_read_sum(dir_fd, "file", "rbytes", &sum), -E2BIG);
	tear_down(one_file, 1);
}
END_TEST

START_TEST(test_controllers)
{
	unsigned int controllers = 99;

	set_up();
	put("file", "cpuset cpu io memory hugetlb pids rdma misc\n");
	ck_assert_int_eq(cgroup_read_controllers(dir_fd, "file", &controllers), 0);
	ck_assert_uint_eq(controllers, CGROUP_CPU | CGROUP_IO | CGROUP_MEMORY | CGROUP_PIDS);
	put("file", "cpuset memory_x pid\n");
	ck_assert_int_eq(cgroup_read_controllers(dir_fd, "file", &controllers), 0);
	ck_assert_uint_eq(controllers, 0);
	ck_assert_str_eq(cgroup_controller_name(CGROUP_MEMORY), "memory");
	ck_assert_str_eq(cgroup_controller_name(CGROUP_IO), "io");
	tear_down(one_file, 1);
}
END_TEST

START_TEST(test_writes)
{
	static const char *const files[] = { "cpu.max", "pids.max", "cgroup.subtree_control" };

	set_up();
	put("pids.max", "");
	put("cpu.max", "");
	put("cgroup.subtree_control", "");
	ck_assert_int_eq(cgroup_write_number(dir_fd, "pids.max", 576), 0);
	ck_assert_str_eq(get("pids.max"), "576");
	put("pids.max", "");
	ck_assert_int_eq(cgroup_write_number(dir_fd, "pids.max", CGROUP_MAX), 0);
	ck_assert_str_eq(get("pids.max"), "max");
	ck_assert_int_eq(cgroup_write_cpu(dir_fd, 1500), 0);
	ck_assert_str_eq(get("cpu.max"), "150000 100000");
	put("cpu.max", "");
	ck_assert_int_eq(cgroup_write_cpu(dir_fd, 1), 0);
	ck_assert_str_eq(get("cpu.max"), "1000 100000");
	put("cpu.max", "");
	ck_assert_int_eq(cgroup_write_cpu(dir_fd, CGROUP_MAX), 0);
	ck_assert_str_eq(get("cpu.max"), "max");
	ck_assert_uint_eq(cgroup_enable(dir_fd, CGROUP_MEMORY | CGROUP_PIDS), CGROUP_MEMORY | CGROUP_PIDS);
	ck_assert_uint_eq(cgroup_enable(dir_fd, 0), 0);
	/* A group that is gone, and one that is not ours. */
	ck_assert_int_eq(cgroup_write_number(dir_fd, "memory.max", 1), -ENOENT);
	ck_assert_int_eq(cgroup_kill(dir_fd), -ENOENT);
	tear_down(files, ARRAY_LEN(files));
}
END_TEST

START_TEST(test_folders)
{
	set_up();
	ck_assert(!cgroup_is_dir(dir_fd));
	ck_assert(cgroup_is_populated(dir_fd)); /* nobody says that it is not */
	_cleanup_fd_ int child = cgroup_make(dir_fd, "child");
	ck_assert_int_ge(child, 0);
	ck_assert_int_eq(cgroup_make(dir_fd, "child"), -EEXIST);
	ck_assert_int_eq(cgroup_remove(dir_fd, "child"), 0);
	ck_assert_int_eq(cgroup_remove(dir_fd, "child"), 0);
	ck_assert_int_eq(symlinkat("/", dir_fd, "link"), 0);
	ck_assert_int_lt(cgroup_remove(dir_fd, "link"), 0);
	ck_assert_int_eq(unlinkat(dir_fd, "link", 0), 0);
	tear_down(NULL, 0);
}
END_TEST

UNIT_MAIN("runtime/kern/cgroup", test_numbers, test_keys, test_many_keys, test_sums, test_long_files, test_controllers, test_writes, test_folders)
