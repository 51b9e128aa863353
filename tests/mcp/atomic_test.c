/*
 * Replacing a file at once: what is kept, what is refused, that nothing is left behind.
 */
#include <time.h>

/* A file's change time cannot be set, so the clock moves instead. */
static time_t clock_shift_s;

static int shifted_clock(clockid_t clock, struct timespec *t)
{
	int r = clock_gettime(clock, t);

	t->tv_sec += clock_shift_s;
	return r;
}

#define clock_gettime shifted_clock
#include "mcp/atomic.c" /* for the way without O_TMPFILE */
#undef clock_gettime

#include <sys/resource.h>

#include "tests/mcp/double.h"

static int dir_fd(void)
{
	return d.call.root_fd;
}

START_TEST(test_create)
{
	double_setup();
	umask(022);
	ck_assert_int_eq(atomic_write(dir_fd(), "a", "one", 3, NULL), 0);
	ck_assert_file("a", "one");
	struct stat st;
	ck_assert_int_eq(stat("a", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0644);
	ck_assert_int_eq(atomic_write(dir_fd(), "a", "two", 3, NULL), -EEXIST);
	ck_assert_file("a", "one");
	ck_assert_int_eq(symlink("nowhere", "link"), 0);
	ck_assert_int_eq(atomic_write(dir_fd(), "link", "two", 3, NULL), -EEXIST);
	ck_assert_int_ne(access("nowhere", F_OK), 0);
	ck_assert_int_eq(atomic_write(dir_fd(), "empty", "", 0, NULL), 0);
	ck_assert_file("empty", "");
	ck_assert_uint_eq(double_entries("."), 3);
	double_teardown();
}
END_TEST

/* File systems without nameless files get the same. */
START_TEST(test_named_temporary)
{
	double_setup();
	struct stat st;

	ck_assert_int_eq(write_named(dir_fd(), "a", "one", 3, NULL), 0);
	ck_assert_int_eq(write_named(dir_fd(), "a", "two", 3, NULL), -EEXIST);
	ck_assert_file("a", "one");
	ck_assert_int_eq(chmod("a", 0750), 0);
	ck_assert_int_eq(stat("a", &st), 0);
	ck_assert_int_eq(write_named(dir_fd(), "a", "three", 5, &st), 0);
	ck_assert_file("a", "three");
	ck_assert_int_eq(write_named(dir_fd(), "a", "four", 4, &st), -ESTALE);
	ck_assert_int_eq(stat("a", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0750);
	ck_assert_uint_eq(double_entries("."), 1);
	double_teardown();
}
END_TEST

START_TEST(test_replace_keeps_the_mode)
{
	double_setup();
	static const mode_t modes[] = { 0644, 0755, 0600, 0444, 0777 };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		double_put_str("a", "old");
		ck_assert_int_eq(chmod("a", modes[i]), 0);
		ck_assert_int_eq(stat("a", &st), 0);
		ck_assert_int_eq(atomic_write(dir_fd(), "a", "new", 3, &st), 0);
		ck_assert_int_eq(stat("a", &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, modes[i]);
		ck_assert_file("a", "new");
		ck_assert_int_eq(unlink("a"), 0);
	}
	double_put_str("a", "old");
	ck_assert_int_eq(chmod("a", 06755), 0);
	ck_assert_int_eq(stat("a", &st), 0);
	ck_assert_int_eq(atomic_write(dir_fd(), "a", "new", 3, &st), 0);
	ck_assert_int_eq(stat("a", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	ck_assert_uint_eq(double_entries("."), 1);
	double_teardown();
}
END_TEST

START_TEST(test_changed_meanwhile)
{
	double_setup();
	struct stat st;

	double_put_str("a", "seen");
	ck_assert_int_eq(stat("a", &st), 0);
	double_put_str("a", "other content");
	ck_assert_int_eq(atomic_write(dir_fd(), "a", "new", 3, &st), -ESTALE);
	ck_assert_file("a", "other content");
	ck_assert_int_eq(unlink("a"), 0);
	ck_assert_int_eq(atomic_write(dir_fd(), "a", "new", 3, &st), -ESTALE);
	ck_assert_uint_eq(double_entries("."), 0);
	double_teardown();
}
END_TEST

START_TEST(test_names)
{
	double_setup();
	char name[257];
	struct stat st;

	memset(name, 'n', 255);
	name[255] = '\0';
	ck_assert_int_eq(atomic_write(dir_fd(), name, "1", 1, NULL), 0);
	ck_assert_int_eq(stat(name, &st), 0);
	ck_assert_int_eq(atomic_write(dir_fd(), name, "2", 1, &st), 0);
	ck_assert_file(name, "2");
	name[255] = 'n';
	name[256] = '\0';
	ck_assert_int_eq(atomic_write(dir_fd(), name, "1", 1, NULL), -ENAMETOOLONG);
	ck_assert_uint_eq(double_entries("."), 1);
	double_teardown();
}
END_TEST

/* Neither a file nor a link with a name a simpler program would use is touched. */
START_TEST(test_planted_temporary_names)
{
	double_setup();
	struct stat st;

	double_put_str("a.txt", "old");
	double_put_str("a.txt.tmp", "mine");
	double_put_str("victim", "safe");
	ck_assert_int_eq(symlink("victim", "a.txt~"), 0);
	ck_assert_int_eq(stat("a.txt", &st), 0);
	ck_assert_int_eq(atomic_write(dir_fd(), "a.txt", "new", 3, &st), 0);
	ck_assert_file("a.txt", "new");
	ck_assert_file("a.txt.tmp", "mine");
	ck_assert_file("victim", "safe");
	ck_assert_uint_eq(double_entries("."), 4);
	double_teardown();
}
END_TEST

/* What a SIGKILL left behind goes when it is old; nothing else does. */
START_TEST(test_stale_names)
{
	static const char stale[] = ".cloche-tmp-0123456789abcdef";

	double_setup();
	double_put_str(stale, "");
	double_put_str("mine", "");
	atomic_remove_stale(dir_fd(), stale);
	ck_assert_int_eq(access(stale, F_OK), 0); /* it may be in use now */
	clock_shift_s = TEMP_STALE_S + 10;
	atomic_remove_stale(dir_fd(), "mine");
	atomic_remove_stale(dir_fd(), stale);
	ck_assert_int_ne(access(stale, F_OK), 0);
	ck_assert_int_eq(mkdir(stale, 0755), 0);
	atomic_remove_stale(dir_fd(), stale);
	ck_assert_uint_eq(double_entries("."), 2);
	double_teardown();
}
END_TEST

START_TEST(test_one_winner)
{
	double_setup();
	enum { RACERS = 8, ROUNDS = 50 };

	for (int round = 0; round < ROUNDS; round++) {
		char name[16];
		int start[2];

		(void) snprintf(name, sizeof(name), "race%d", round);
		ck_assert_int_eq(pipe(start), 0);
		for (int i = 0; i < RACERS; i++) {
			if (fork() == 0) {
				char c;
				close(start[1]);
				(void) !read(start[0], &c, 1);
				_exit(atomic_write(dir_fd(), name, &c, 1, NULL) == 0 ? 0 : 1);
			}
		}
		close(start[0]);
		close(start[1]);
		int winners = 0;
		for (int i = 0; i < RACERS; i++) {
			int status;
			ck_assert_int_gt(wait(&status), 0);
			winners += status == 0;
		}
		ck_assert_int_eq(winners, 1);
	}
	ck_assert_uint_eq(double_entries("."), ROUNDS);
	double_teardown();
}
END_TEST

/* A reader sees the old content or the new one, always whole. */
START_TEST(test_readers_see_whole_files)
{
	double_setup();
	enum { SIZE = 100000 };
	static char content[SIZE];

	memset(content, 'a', SIZE);
	double_put("f", content, SIZE);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0;; i++) {
			struct stat st;
			memset(content, 'a' + i % 20, SIZE);
			if (stat("f", &st) < 0 || atomic_write(dir_fd(), "f", content, SIZE, &st) < 0)
				_exit(1);
		}
	}
	for (int i = 0; i < 200; i++) {
		const struct buf *b = double_get("f");
		ck_assert_uint_eq(b->len, SIZE);
		ck_assert_mem_eq(b->p, b->p + 1, SIZE - 1); /* all the same letter */
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	double_teardown();
}
END_TEST

START_TEST(test_no_room)
{
	double_setup();
	double_put_str("a", "old");
	pid_t pid = fork();
	if (pid == 0) {
		struct stat st;
		static char big[100000];
		struct rlimit limit = { 1000, 1000 };
		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || stat("a", &st) < 0)
			_exit(1);
		_exit(atomic_write(dir_fd(), "a", big, sizeof(big), &st) == -EFBIG &&
				      atomic_write(dir_fd(), "b", big, sizeof(big), NULL) == -EFBIG
			      ? 0
			      : 2);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_file("a", "old");
	ck_assert_uint_eq(double_entries("."), 1);
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/atomic", test_create, test_named_temporary, test_replace_keeps_the_mode, test_changed_meanwhile,
	  test_names, test_planted_temporary_names, test_stale_names, test_one_winner, test_readers_see_whole_files, test_no_room)
