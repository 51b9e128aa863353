/*
 * Landlock, in the kernel: what a process that confined itself can still open. Where the kernel has none, the promise is that
 * everything goes on as before.
 */
#include "runtime/kern/landlock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

enum { ABI_TCP = 4, ABI_SCOPES = 6, MODE_ANY = 0777, WALK_FDS = 16 };

static char top[] = "/tmp/landlock-test.XXXXXX"; /* of all tests; who is confined can remove nothing */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
	(void) fd_close(fd);
}

/* Two directories with a file each, the current directory above them. Each test is a process of its own. */
static void make_tree(const char *test)
{
	ck_assert_int_eq(chdir(top), 0);
	ck_assert_int_eq(mkdir(test, MODE_ANY), 0);
	ck_assert_int_eq(chdir(test), 0);
	ck_assert_int_eq(mkdir("in", MODE_ANY), 0);
	ck_assert_int_eq(mkdir("in/deep", MODE_ANY), 0);
	ck_assert_int_eq(mkdir("out", MODE_ANY), 0);
	write_file("in/file", "one");
	write_file("out/file", "two");
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0666);
	int r = fd < 0 ? -errno : 0;

	(void) fd_close(fd);
	return r;
}

/* Where sanitizers look around at the end. */
static struct landlock_rule proc_rule(void)
{
	return (struct landlock_rule) { .fd = open("/proc", O_PATH | O_CLOEXEC), .access = LANDLOCK_MAY_READ };
}

/* Confines this process to @path below the tree. False, after a check that nothing changed, where the kernel cannot. */
static bool confine(const char *path, unsigned int access, bool no_tcp)
{
	const struct landlock_rule rules[] = {
		proc_rule(), { .fd = -EBADF, .access = LANDLOCK_MAY_READ }, { .fd = open(path, O_PATH | O_CLOEXEC), .access = access },
	};

	ck_assert_int_ge(rules[2].fd, 0);
	int r = landlock_restrict(rules, ARRAY_LEN(rules), no_tcp);
	bool holds = landlock_abi() >= (access & (LANDLOCK_MAY_EDIT | LANDLOCK_MAY_ALL) ? 2 : 1);
	ck_assert_int_eq(r, holds);
	if (!holds)
		ck_assert_int_eq(opens("out/file", O_RDWR), 0);
	return holds;
}

START_TEST(test_versions)
{
	static const struct {
		int abi, rights;
	} rows[] = { { 1, 13 }, { 2, 14 }, { 3, 15 }, { 4, 15 }, { 5, 16 }, { 6, 16 }, { 7, 16 }, { 1000, 16 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_uint_eq(landlock_known_fs(rows[i].abi), (UINT64_C(1) << rows[i].rights) - 1);
	ck_assert_int_ge(landlock_abi(), 0);
}
END_TEST

START_TEST(test_read)
{
	make_tree(__func__);
	int before = open("out/file", O_RDONLY | O_CLOEXEC);
	char again[40];
	char byte;

	if (!confine("in", LANDLOCK_MAY_READ, false))
		return;
	ck_assert_int_eq(opens("in/file", O_RDONLY), 0);
	ck_assert_int_eq(opens("in", O_RDONLY | O_DIRECTORY), 0);
	ck_assert_int_eq(opens("in/deep/../file", O_RDONLY), 0);
	ck_assert_int_eq(opens("in/file", O_WRONLY), -EACCES);
	ck_assert_int_eq(opens("in/new", O_WRONLY | O_CREAT), -EACCES);
	ck_assert_int_eq(opens("out/file", O_RDONLY), -EACCES);
	ck_assert_int_eq(opens("in/../out/file", O_RDONLY), -EACCES);
	ck_assert_int_eq(opens(".", O_RDONLY | O_DIRECTORY), -EACCES);
	ck_assert_int_eq(opens("/etc/passwd", O_RDONLY), -EACCES);
	/* What is open stays open; opening it anew is opening. */
	ck_assert_int_eq(read(before, &byte, 1), 1);
	(void) snprintf(again, sizeof(again), "/proc/self/fd/%d", before);
	ck_assert_int_eq(opens(again, O_RDONLY), -EACCES);
}
END_TEST

START_TEST(test_edit)
{
	make_tree(__func__);
	if (!confine("in", LANDLOCK_MAY_READ | LANDLOCK_MAY_EDIT, false))
		return;
	ck_assert_int_eq(opens("in/file", O_RDWR), 0);
	ck_assert_int_eq(opens("in/new", O_WRONLY | O_CREAT | O_EXCL), 0);
	ck_assert_int_eq(rename("in/new", "in/deep/new"), 0);
	ck_assert_int_eq(link("in/file", "in/deep/file"), 0);
	ck_assert_int_eq(unlink("in/deep/new"), 0);
	ck_assert_int_eq(mkdir("in/made", MODE_ANY), 0);
	ck_assert_int_eq(rmdir("in/made"), 0);
	ck_assert_int_eq(mkfifo("in/fifo", MODE_ANY), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(symlink("/", "in/link"), -1);
	ck_assert_int_eq(rename("in/file", "out/moved"), -1);
	ck_assert_int_eq(link("out/file", "in/linked"), -1);
	if (landlock_abi() >= 3)
		ck_assert_int_eq(opens("in/file", O_WRONLY | O_TRUNC), -EACCES);
}
END_TEST

START_TEST(test_one_file)
{
	int ends[2];

	make_tree(__func__);
	ck_assert_int_eq(pipe(ends), 0);
	const struct landlock_rule rules[] = {
		{ .fd = open("out/file", O_RDONLY | O_CLOEXEC), .access = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE },
		{ .fd = ends[0], .access = LANDLOCK_MAY_READ }, /* in no directory: no rule, and no error */
		proc_rule(),
	};
	if (landlock_abi() == 0)
		return;
	ck_assert_int_eq(landlock_restrict(rules, ARRAY_LEN(rules), false), 1);
	ck_assert_int_eq(opens("out/file", O_RDWR | O_TRUNC), 0);
	ck_assert_int_eq(opens("in/file", O_RDONLY), -EACCES);
	ck_assert_int_eq(unlink("out/file"), -1);
}
END_TEST

START_TEST(test_all)
{
	make_tree(__func__);
	if (!confine("/", LANDLOCK_MAY_ALL, false))
		return;
	ck_assert_int_eq(opens("out/file", O_RDWR | O_TRUNC), 0);
	ck_assert_int_eq(rename("in/file", "out/moved"), 0);
	ck_assert_int_eq(mkfifo("in/fifo", MODE_ANY), 0);
	ck_assert_int_eq(access("/bin/sh", X_OK), 0);
}
END_TEST

/* What connecting to @address says: -errno. */
static int connects(const void *address, socklen_t len)
{
	int fd = socket(((const struct sockaddr *) address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, address, len) < 0 ? -errno : 0;

	(void) fd_close(fd);
	return r;
}

START_TEST(test_network)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	make_tree(__func__);
	int before = connects(&nobody, sizeof(nobody));
	if (!confine("in", LANDLOCK_MAY_READ, false))
		return;
	ck_assert_int_eq(connects(&nobody, sizeof(nobody)), before);
	ck_assert_int_eq(confine("in", LANDLOCK_MAY_READ, true), true);
	if (landlock_abi() >= ABI_TCP)
		ck_assert_int_eq(connects(&nobody, sizeof(nobody)), -EACCES);
}
END_TEST

START_TEST(test_scopes)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_tree(__func__);
	/* An abstract socket whose name nobody else has. */
	ck_assert_int_eq(bind(listener, (const struct sockaddr *) &name, sizeof(sa_family_t)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	socklen_t len = sizeof(name);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *) &name, &len), 0);
	ck_assert_int_eq(connects(&name, len), 0);
	ck_assert_int_eq(kill(getppid(), 0), 0);
	if (!confine("in", LANDLOCK_MAY_READ, false) || landlock_abi() < ABI_SCOPES)
		return;
	ck_assert_int_eq(kill(getppid(), 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(kill(getpid(), 0), 0);
	ck_assert_int_eq(connects(&name, len), -EPERM);
}
END_TEST

static int remove_one(const char *path, _unused_ const struct stat *st, _unused_ int type, _unused_ struct FTW *walk)
{
	return remove(path);
}

int main(void)
{
	const TTest *const tests[] = { test_versions, test_read, test_edit, test_one_file, test_all, test_network, test_scopes };

	if (!mkdtemp(top))
		return EXIT_FAILURE;
	int status = unit_run("runtime/kern/landlock", tests, ARRAY_LEN(tests));
	return nftw(top, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS) == 0 ? status : EXIT_FAILURE;
}
