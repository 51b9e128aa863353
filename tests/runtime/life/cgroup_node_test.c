/*
 * A sandbox's cgroup: its name, its numbers, its lock. Tests on real groups are run where this user may make one, which is said; in the
 * virtual machine (tests/vm) that is everywhere.
 */
#include "runtime/life/cgroup_node.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/life/cgroup_find.h"
#include "tests/harness/unit.h"

enum { MIB = 1 << 20 };

START_TEST(test_names)
{
	static const char *const good[] = { "cloche-1-0123456789abcdef", "cloche-4194304-ffffffffffffffff" };
	static const char *const bad[] = {
		"", "cloche", "cloche-", "cloche-supervisor", "cloche-1", "cloche-1-", "cloche--0123456789abcdef", "cloche-1-0123456789abcde",
		"cloche-1-0123456789abcdef0", "cloche-1-0123456789ABCDEF", "cloche-x-0123456789abcdef", "xcloche-1-0123456789abcdef",
		"cloche-1-0123456789abcdef.scope", "cloche-12345678901-0123456789abcdef",
	};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ck_assert_msg(cgroup_node_is_name(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(!cgroup_node_is_name(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(test_weights)
{
	static const struct {
		uint64_t shares, weight;
	} cases[] = { { 0, 0 }, { 1, 1 }, { 2, 1 }, { 1024, 39 }, { 512, 20 }, { 262144, 10000 }, { UINT64_MAX, 10000 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_uint_eq(cgroup_node_weight(cases[i].shares), cases[i].weight);
}
END_TEST

START_TEST(test_backstop)
{
	static struct spec spec;

	ck_assert_uint_eq(cgroup_node_backstop(&spec), 0);
	spec.tmp_size = spec.home_size = spec.shm_size = MIB;
	spec.workspace_size = 10 * (uint64_t) MIB;
	spec.workspace = SPEC_WORKSPACE_PATH;
	ck_assert_uint_eq(cgroup_node_backstop(&spec), 0);
	spec.memory = 100 * (uint64_t) MIB;
	ck_assert_uint_eq(cgroup_node_backstop(&spec), (100 + 3 + 256) * (uint64_t) MIB);
	spec.workspace = SPEC_WORKSPACE_NONE;
	spec.mounts[0] = (struct spec_mount) { .kind = SPEC_TMPFS, .size = 5 * (uint64_t) MIB };
	spec.mounts[1] = (struct spec_mount) { .kind = SPEC_BIND, .size = 7 };
	spec.mount_count = 2;
	ck_assert_uint_eq(cgroup_node_backstop(&spec), (100 + 3 + 10 + 5 + 256) * (uint64_t) MIB);
	spec.mounts[0].size = UINT64_MAX;
	ck_assert_uint_eq(cgroup_node_backstop(&spec), UINT64_MAX);
}
END_TEST

/* A plain folder with what the sweep reads does for the decisions; only its removal needs real groups. */
START_TEST(test_lock)
{
	char scratch[] = "/tmp/cloche-node-test.XXXXXX";
	struct cgroup_node n = CGROUP_NODE_NONE;

	ck_assert_ptr_nonnull(mkdtemp(scratch));
	_cleanup_fd_ int base = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(cgroup_node_make(&n, base), 0);
	ck_assert(cgroup_node_is_name(n.name));
	ck_assert_int_eq(faccessat(n.fd, CGROUP_NODE_INIT, F_OK, 0), 0);
	_cleanup_fd_ int events = openat(n.fd, "cgroup.events", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_eq(fd_write_all(events, "populated 0\n", 12), 0);

	ck_assert_int_eq(cgroup_node_sweep(base, n.name, true), 0); /* it is locked */
	n.fd = fd_close(n.fd);
	ck_assert_int_eq(cgroup_node_sweep(base, n.name, true), 1);
	ck_assert_int_eq(ftruncate(events, 0), 0);
	ck_assert_int_eq(pwrite(events, "populated 1\n", 12, 0), 12);
	ck_assert_int_eq(cgroup_node_sweep(base, n.name, true), 0); /* somebody is in it */
	ck_assert_int_eq(cgroup_node_sweep(base, "cloche-1-0000000000000000", false), 0);

	char name[CGROUP_NODE_NAME_MAX + 32];
	(void) snprintf(name, sizeof(name), "%s/cgroup.events", n.name);
	ck_assert_int_eq(unlinkat(base, name, 0), 0);
	(void) snprintf(name, sizeof(name), "%s/" CGROUP_NODE_INIT, n.name);
	ck_assert_int_eq(unlinkat(base, name, AT_REMOVEDIR), 0);
	ck_assert_int_eq(cgroup_node_finish(&n), 0);
	ck_assert_int_lt(n.base_fd, 0);
	ck_assert_int_eq(rmdir(scratch), 0);
}
END_TEST

/* --- on real groups ---------------------------------------------------------------------------------------------------- */

/* The group next to us in which this user may make others, or -EBADF. */
static int open_base(void)
{
	struct cgroup_view v = CGROUP_VIEW_NONE;

	IGNORE_RESULT(cgroup_view_open(&v, NULL)); /* that it lacks controllers is no matter here */
	_cleanup_fd_ int own = v.fd < 0 ? -EBADF : openat(v.fd, v.own[0] ? v.own + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int above = v.own[0] && own >= 0 ? openat(own, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fcntl(own, F_DUPFD_CLOEXEC, 0);
	cgroup_view_done(&v);
	if (above < 0 || faccessat(above, "cgroup.procs", W_OK, AT_EACCESS) < 0 || faccessat(above, ".", W_OK, AT_EACCESS) < 0)
		return -EBADF;
	return TAKE_FD(above);
}

/* A process in the group that sleeps for ever. */
static pid_t start_in(int cgroup_fd)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (__u64) cgroup_fd };
	pid_t parent = getpid(), pid = sysx_clone3(&args);

	ck_assert_msg(pid >= 0, "clone3: %m");
	while (pid == 0 && proc_die_with_parent(parent) == 0)
		(void) pause();
	return pid;
}

START_TEST(test_life)
{
	_cleanup_fd_ int base = open_base();
	struct cgroup_node n = CGROUP_NODE_NONE;
	char name[CGROUP_NODE_NAME_MAX];

	ck_assert_int_eq(cgroup_node_make(&n, base), 0);
	(void) snprintf(name, sizeof(name), "%s", n.name);
	ck_assert(!cgroup_is_populated(n.fd));
	pid_t pid = start_in(n.init_fd);
	ck_assert(cgroup_is_populated(n.fd));
	ck_assert_int_eq(cgroup_node_sweep(base, name, false), 0);

	/* With all that init makes. */
	_cleanup_fd_ int work = cgroup_make(n.fd, CGROUP_NODE_WORK);
	for (int i = 0; i < 20; i++) {
		char leaf[16];
		(void) snprintf(leaf, sizeof(leaf), "c%d", i);
		_cleanup_fd_ int fd = cgroup_make(work, leaf);
		ck_assert_int_ge(fd, 0);
	}
	ck_assert_int_eq(cgroup_remove(base, name), -EBUSY);
	ck_assert_int_eq(faccessat(n.init_fd, "cgroup.procs", F_OK, 0), 0); /* init/ is not empty, so it is there */
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(proc_wait(pid, NULL), 0);
	ck_assert_int_eq(cgroup_node_finish(&n), 0);
	ck_assert_int_lt(faccessat(base, name, F_OK, 0), 0);
}
END_TEST

/* A supervisor that was killed: its node is left alone while a process is in it, and swept then. */
START_TEST(test_sweep)
{
	_cleanup_fd_ int base = open_base();
	struct cgroup_node n = CGROUP_NODE_NONE, other = CGROUP_NODE_NONE;
	char name[CGROUP_NODE_NAME_MAX];

	ck_assert_int_eq(cgroup_node_make(&n, base), 0);
	ck_assert_int_eq(cgroup_node_make(&other, base), 0);
	ck_assert_str_ne(n.name, other.name);
	(void) snprintf(name, sizeof(name), "%s", n.name);
	pid_t pid = start_in(n.init_fd);
	cgroup_node_forget(&n);
	ck_assert_int_eq(cgroup_node_sweep(base, name, false), 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(proc_wait(pid, NULL), 0);
	for (int i = 0; i < 100 && cgroup_node_sweep(base, name, true) != 1; i++)
		(void) usleep(10000);
	ck_assert_int_eq(faccessat(base, name, F_OK, 0), 0); /* a dry run removes nothing */
	for (int i = 0; i < 100 && faccessat(base, name, F_OK, 0) == 0; i++) /* other tests' nodes may come first */
		cgroup_node_sweep_some(base, other.name);
	ck_assert_int_lt(faccessat(base, name, F_OK, 0), 0);
	ck_assert_int_eq(faccessat(base, other.name, F_OK, 0), 0);
	ck_assert_int_eq(cgroup_node_finish(&other), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { test_names, test_weights, test_backstop, test_lock, test_life, test_sweep };
	const size_t on_groups = 2;
	_cleanup_fd_ int base = open_base();
	size_t count = base < 0 ? ARRAY_LEN(tests) - on_groups : ARRAY_LEN(tests);

	if (base < 0)
		(void) fprintf(stderr, "without the tests on real groups: this user may make none\n");
	return unit_run("runtime/life/cgroup_node", tests, count);
}
