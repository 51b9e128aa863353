/*
 * A file that is replaced as a whole: what somebody else does to it at the same time is not lost.
 */
#include "runtime/cli/client_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "tests/harness/unit.h"

enum { ROUNDS = 3000, PAUSE_NS = 300000 };

static char folder[64];
static struct err err;

static void set_up(void)
{
	/* In memory, where nothing has to go to a disk, as many rounds pass as shall. */
	(void) snprintf(folder, sizeof(folder), "%s/cloche-client-file.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void tidy(void)
{
	static const char *const argv[] = { "rm", "-rf", folder, NULL };
	pid_t pid = fork();

	if (pid == 0) {
		(void) execv("/bin/rm", (char *const *) (uintptr_t) argv);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void put(const char *name, const char *text)
{
	_cleanup_fd_ int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

static void look(const char *name, const char *wanted)
{
	char text[32] = "";
	_cleanup_fd_ int fd = open(name, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(read(fd, text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, wanted);
}

/* Reads the file "x", lets @meanwhile happen, and writes "ours". */
static int change(void (*meanwhile)(void), char backup[static CLIENT_FILE_NAME_MAX])
{
	_cleanup_client_file_ struct client_file file = CLIENT_FILE_NONE;
	_cleanup_buf_ struct buf before = BUF_INIT(CLIENT_FILE_BYTES_MAX), after = BUF_INIT(CLIENT_FILE_BYTES_MAX);

	ck_assert_msg(client_file_open_named("x", &file, &err) == 0, "%s", err.text);
	ck_assert_msg(client_file_read(&file, &before, &err) == 0, "%s", err.text);
	buf_add_str(&after, "ours");
	meanwhile();
	return client_file_write(&file, &after, backup, &err);
}

static void nothing(void)
{
}

static void put_theirs(void)
{
	put("x", "them");
}

static void rename_theirs(void)
{
	put("y", "them");
	ck_assert_int_eq(rename("y", "x"), 0);
}

static void remove_it(void)
{
	ck_assert_int_eq(unlink("x"), 0);
}

START_TEST(test_the_old_file_is_kept)
{
	char backup[CLIENT_FILE_NAME_MAX];

	set_up();
	ck_assert_int_eq(change(nothing, backup), 0);
	look("x", "ours");
	ck_assert_str_eq(backup, "");
	put("x", "old");
	ck_assert_int_eq(change(nothing, backup), 0);
	look("x", "ours");
	ck_assert_str_eq(backup, "x.cloche-1.bak");
	look(backup, "old");
	ck_assert_int_eq(change(nothing, backup), 0);
	ck_assert_str_eq(backup, "x.cloche-2.bak");
	tidy();
}
END_TEST

START_TEST(test_a_change_in_between_is_seen)
{
	static void (*const others[])(void) = { put_theirs, rename_theirs, remove_it };
	char backup[CLIENT_FILE_NAME_MAX];

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		set_up();
		put("x", "old");
		ck_assert_int_eq(change(others[i], backup), -ESTALE);
		ck_assert_str_eq(backup, "");
		if (others[i] == remove_it)
			ck_assert_int_lt(access("x", F_OK), 0);
		else
			look("x", "them");
		ck_assert_int_eq(rename("x", "y") == 0 || errno == ENOENT, 1);
		(void) unlink("y");
		ck_assert_msg(rmdir(folder) == 0, "something is left behind");
	}
	set_up();
	ck_assert_int_eq(change(put_theirs, backup), -ESTALE);
	look("x", "them");
	tidy();
}
END_TEST

/* Puts version after version into "x" until it is ended; ends itself with 1 when one is gone that it has not replaced itself. */
static void write_versions(void)
{
	int last = -EBADF;
	struct stat mine, out;

	for (unsigned int i = 0;; i++) {
		const struct timespec pause = { 0, i * 7919L % PAUSE_NS };
		int fd = open("version", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || sysx_renameat2(AT_FDCWD, "version", AT_FDCWD, "x", RENAME_EXCHANGE) < 0 || stat("version", &out) < 0)
			_exit(2);
		if (last >= 0 && (fstat(last, &mine) < 0 || (mine.st_ino != out.st_ino && mine.st_nlink == 0)))
			_exit(1);
		last = (fd_close(last), fd);
		if (unlink("version") < 0)
			_exit(3);
		(void) nanosleep(&pause, NULL);
	}
}

START_TEST(test_nothing_is_lost_in_a_race)
{
	char backup[CLIENT_FILE_NAME_MAX], kept[32];
	int written = 0, status;

	set_up();
	put("x", "old");
	pid_t pid = fork();
	if (pid == 0)
		write_versions();
	for (int i = 0; i < ROUNDS; i++) {
		int r = change(nothing, backup);
		ck_assert_msg(r == 0 || r == -ESTALE, "%s", err.text);
		if (r < 0)
			continue;
		(void) snprintf(kept, sizeof(kept), "kept-%d", written++);
		ck_assert_int_eq(rename(backup, kept), 0);
	}
	(void) kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status), "what somebody else wrote is lost: %d", WEXITSTATUS(status));
	printf("# %d of %d written\n", written, ROUNDS);
	tidy();
}
END_TEST

UNIT_MAIN("runtime/cli/client_file", test_the_old_file_is_kept, test_a_change_in_between_is_seen, test_nothing_is_lost_in_a_race)
