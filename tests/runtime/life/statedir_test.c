/*
 * Where state is kept: only in folders that are the caller's alone, whatever the environment or another user prepared.
 */
#include "runtime/life/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

enum { NOBODY = 65534, NO_ACCOUNT = 61234, TEXT_MAX = 512 };

static char scratch[64];

static const char *path_of(const char *name)
{
	static char text[TEXT_MAX];

	(void) snprintf(text, sizeof(text), "%s/%s", scratch, name);
	return text;
}

static void set_up(void)
{
	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-statedir-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
}

static void tear_down(void)
{
	static const char *const made[] = { "cloche/sandboxes", "cloche/filters", "cloche", "elsewhere/sandboxes", "elsewhere", "" };

	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		if (unlink(path_of(made[i])) < 0)
			(void) rmdir(path_of(made[i]));
	ck_assert_msg(access(scratch, F_OK) < 0, "something is left in %s", scratch);
}

/* Opens "sandboxes" and tells whether it lies in the scratch folder. */
static bool opens_here(void)
{
	char link[32], text[TEXT_MAX];
	struct err err = { .code = ERR_NONE };
	_cleanup_fd_ int fd = statedir_open(STATEDIR_SANDBOXES, &err);

	if (fd < 0)
		return false;
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	(void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	return strncmp(text, scratch, strlen(scratch)) == 0;
}

START_TEST(test_made)
{
	struct stat st;

	set_up();
	(void) umask(0777);
	ck_assert(opens_here());
	ck_assert_int_eq(umask(022), 0777);
	ck_assert(opens_here());
	ck_assert_int_eq(lstat(path_of("cloche/sandboxes"), &st), 0);
	ck_assert(S_ISDIR(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(lstat(path_of("cloche"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	tear_down();
}
END_TEST

START_TEST(test_base_not_ours)
{
	set_up();
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "tmp", 1), 0);
	ck_assert(!opens_here());
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "", 1), 0);
	ck_assert(!opens_here());
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", path_of("missing"), 1), 0);
	ck_assert(!opens_here());
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
	ck_assert_int_eq(chmod(scratch, 0770), 0);
	ck_assert(!opens_here());
	ck_assert_int_eq(chmod(scratch, 0702), 0);
	ck_assert(!opens_here());
	ck_assert_int_eq(chmod(scratch, 0755), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(scratch, NOBODY, NOBODY), 0);
		ck_assert(!opens_here());
		ck_assert_int_eq(chown(scratch, 0, 0), 0);
	}
	ck_assert(opens_here());
	tear_down();
}
END_TEST

START_TEST(test_folder_not_ours)
{
	struct stat st;

	set_up();
	ck_assert_int_eq(mkdir(path_of("elsewhere"), 0700), 0);
	ck_assert_int_eq(symlink("elsewhere", path_of("cloche")), 0);
	ck_assert_msg(!opens_here(), "a link was followed");
	ck_assert_int_lt(lstat(path_of("elsewhere/sandboxes"), &st), 0);
	ck_assert_int_eq(unlink(path_of("cloche")), 0);
	ck_assert_int_eq(mkfifo(path_of("cloche"), 0600), 0);
	ck_assert(!opens_here());
	ck_assert_int_eq(unlink(path_of("cloche")), 0);
	ck_assert_int_eq(mkdir(path_of("cloche"), 0700), 0);
	ck_assert_int_eq(chmod(path_of("cloche"), 0720), 0);
	ck_assert_msg(!opens_here(), "a folder that the group writes to was taken");
	ck_assert_int_eq(chmod(path_of("cloche"), 0700), 0);
	ck_assert_int_eq(symlink("../elsewhere", path_of("cloche/sandboxes")), 0);
	ck_assert_msg(!opens_here(), "a link was followed");
	ck_assert_int_eq(unlink(path_of("cloche/sandboxes")), 0);
	ck_assert(opens_here());
	tear_down();
}
END_TEST

START_TEST(test_names)
{
	static const char *const bad[] = { "", ".", "..", "../x", "a/b", ".hidden", "a b", "abcdefghijklmnopqrstuvwxyzabcdefghij" };
	struct err err = { .code = ERR_NONE };

	set_up();
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(statedir_open(bad[i], &err) == -EINVAL, "'%s' was taken", bad[i]);
	ck_assert_int_eq(statedir_open("a/b", NULL), -EINVAL);
	tear_down();
}
END_TEST

/* In a process of its own: what becomes of a user whose only place another one has made first. */
static int as_squatted_user(void)
{
	struct err err = { .code = ERR_NONE };

	if (unsetenv("XDG_RUNTIME_DIR") < 0 || seteuid(NO_ACCOUNT) < 0)
		return 1;
	if (statedir_open(STATEDIR_SANDBOXES, &err) != -ENOENT)
		return 2;
	if (!strstr(err.text, "/tmp/cloche-61234' (another user owns it") || !strstr(err.text, "Set XDG_RUNTIME_DIR"))
		return 3;
	return 0;
}

START_TEST(test_squatter)
{
	int status;

	if (geteuid() != 0)
		return; /* only root can become the user that is robbed here */
	ck_assert_int_eq(mkdir("/tmp/cloche-61234", 0777), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(as_squatted_user());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(rmdir("/tmp/cloche-61234"), 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* What root makes for an identity is found by it, and before a place in /tmp. */
START_TEST(test_made_by_root)
{
	struct stat st;
	int status;

	if (geteuid() != 0)
		return; /* /run is root's */
	statedir_make_for(NO_ACCOUNT, NO_ACCOUNT);
	if (lstat("/run/cloche/61234", &st) < 0)
		return; /* a root without rights over /run, as in some containers */
	ck_assert_uint_eq(st.st_uid, NO_ACCOUNT);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
	ck_assert_int_eq(chown("/run/cloche/61234", 0, 0), 0); /* as if a launch had been killed before it gave the folder away */
	statedir_make_for(NO_ACCOUNT, NO_ACCOUNT);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (unsetenv("XDG_RUNTIME_DIR") < 0 || seteuid(NO_ACCOUNT) < 0)
			_exit(1);
		_exit(statedir_open(STATEDIR_SANDBOXES, NULL) >= 0 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(rmdir("/run/cloche/61234/sandboxes"), 0);
	ck_assert_int_eq(rmdir("/run/cloche/61234"), 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

static int count_ours(_unused_ int fd, uid_t owner, const char *path, void *userdata)
{
	if (strncmp(path, scratch, strlen(scratch)) == 0) {
		ck_assert_uint_eq(owner, geteuid());
		++*(unsigned int *) userdata;
	}
	return 0;
}

static int stop_at_once(_unused_ int fd, _unused_ uid_t owner, _unused_ const char *path, _unused_ void *userdata)
{
	return -EINTR;
}

START_TEST(test_visit)
{
	unsigned int count = 0;

	set_up();
	ck_assert_int_eq(statedir_visit("filters", count_ours, &count), 0);
	ck_assert_uint_eq(count, 0);
	ck_assert_msg(access(path_of("cloche"), F_OK) < 0, "a visit makes folders");
	_cleanup_fd_ int fd = statedir_open("filters", NULL);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(statedir_visit("filters", count_ours, &count), 0);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(statedir_visit("filters", stop_at_once, NULL), -EINTR);
	ck_assert_int_eq(statedir_visit("../filters", count_ours, &count), -EINVAL);
	tear_down();
}
END_TEST

UNIT_MAIN("runtime/life/statedir", test_made, test_base_not_ours, test_folder_not_ours, test_names, test_squatter, test_made_by_root,
	  test_visit)
