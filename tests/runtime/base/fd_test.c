/*
 * Owned descriptors: ownership, whole reads and writes, small files, numbers above the standard streams.
 */
#include "runtime/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/unit.h"

enum { LOTS = 1024 * 1024 }; /* far more than a pipe or a socket holds */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool is_cloexec(int fd)
{
	return fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

START_TEST(test_close_keeps_errno)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	errno = EXDEV;
	ck_assert_int_eq(fd_close(fd), -EBADF);
	ck_assert_int_eq(errno, EXDEV);
	ck_assert(!is_open(fd));
	errno = EXDEV;
	ck_assert_int_eq(fd_close(fd), -EBADF); /* close(2) fails now, and nobody hears of it */
	ck_assert_int_eq(fd_close(-EBADF), -EBADF);
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

static int open_and_give(void)
{
	_cleanup_fd_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return TAKE_FD(fd);
}

START_TEST(test_ownership)
{
	int number;
	{
		_cleanup_fd_ int fd = open_and_give();
		ck_assert(is_open(fd));
		number = fd;
	}
	ck_assert(!is_open(number));
}
END_TEST

START_TEST(test_read_exact)
{
	int p[2];
	char text[8] = "-------";

	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	ck_assert_int_eq(write(p[1], "abc", 3), 3);
	ck_assert_int_eq(fd_read_exact(p[0], text, 0), 0);
	ck_assert_int_eq(fd_read_exact(p[0], text, 2), 0);
	ck_assert_int_eq(strncmp(text, "ab-", 3), 0);
	fd_close(p[1]);
	ck_assert_int_eq(fd_read_exact(p[0], text, 2), -EPIPE); /* one byte, then the end */
	ck_assert_int_eq(fd_read_exact(p[0], text, 1), -EPIPE);
	fd_close(p[0]);
	ck_assert_int_eq(fd_read_exact(p[0], text, 1), -EBADF);
}
END_TEST

struct reader {
	int fd;
	size_t total;
	bool ordered;
};

/* Reads to the end in odd portions, slowly enough that the writer must wait. */
static void *reader_main(void *arg)
{
	struct reader *r = arg;
	unsigned char part[4093];
	ssize_t n;

	r->ordered = true;
	while ((n = read(r->fd, part, sizeof(part))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			r->ordered = r->ordered && part[i] == (unsigned char) ((r->total + (size_t) i) * 7 % 251);
		r->total += (size_t) n;
	}
	return NULL;
}

/* More than fits, into a blocking and a non-blocking descriptor: all of it arrives, in order. */
START_TEST(test_write_all_waits)
{
	static unsigned char data[LOTS];

	for (size_t i = 0; i < LOTS; i++)
		data[i] = (unsigned char) (i * 7 % 251);
	for (int nonblock = 0; nonblock <= 1; nonblock++) {
		int p[2];
		pthread_t thread;
		ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
		struct reader r = { .fd = p[0] };
		ck_assert_int_eq(fd_set_nonblock(p[1], nonblock == 1), 0);
		ck_assert_int_eq(pthread_create(&thread, NULL, reader_main, &r), 0);
		ck_assert_int_eq(fd_write_all(p[1], data, LOTS), 0);
		fd_close(p[1]);
		pthread_join(thread, NULL);
		fd_close(p[0]);
		ck_assert_uint_eq(r.total, LOTS);
		ck_assert(r.ordered);
	}
}
END_TEST

START_TEST(test_write_all_fails)
{
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	fd_close(p[0]);
	ck_assert_int_eq(fd_write_all(p[1], "x", 1), -EPIPE);
	ck_assert_int_eq(fd_write_all(p[1], "x", 0), 0);
	fd_close(p[1]);
	ck_assert_int_eq(fd_write_all(p[1], "x", 1), -EBADF);
	_cleanup_fd_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(fd_write_all(full, "x", 1), -ENOSPC);
}
END_TEST

struct folder {
	char path[32];
	int fd;
};

/* A temporary folder with one small file. */
static struct folder folder_with(const char *name, const char *content, size_t len)
{
	struct folder folder = { .path = "/tmp/cloche-fd-test-XXXXXX" };

	ck_assert_ptr_nonnull(mkdtemp(folder.path));
	folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd = openat(folder.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_eq(fd_write_all(fd, content, len), 0);
	return folder;
}

static void remove_folder(struct folder *folder, const char *name)
{
	ck_assert_int_eq(unlinkat(folder->fd, name, 0), 0);
	ck_assert_int_eq(rmdir(folder->path), 0);
	folder->fd = fd_close(folder->fd);
}

START_TEST(test_read_text)
{
	char text[8];
	struct folder dir = folder_with("f", "abcdef\n", 7);

	ck_assert_int_eq(fd_read_text(dir.fd, "f", text, sizeof(text)), -E2BIG); /* room for 7 bytes, but none to see the end */
	char more[9];
	ck_assert_int_eq(fd_read_text(dir.fd, "f", more, sizeof(more)), 6);
	ck_assert_str_eq(more, "abcdef");
	ck_assert_int_eq(fd_read_text(dir.fd, "f", text, 0), -E2BIG);
	ck_assert_int_eq(fd_read_text(dir.fd, "f", text, 1), -E2BIG);
	ck_assert_int_eq(fd_read_text(dir.fd, "none", text, sizeof(text)), -ENOENT);
	ck_assert_int_eq(fd_read_text(AT_FDCWD, "/", text, sizeof(text)), -EISDIR);
	remove_folder(&dir, "f");
}
END_TEST

START_TEST(test_read_text_newlines)
{
	char text[16];
	struct folder dir = folder_with("empty", "", 0);

	ck_assert_int_eq(fd_read_text(dir.fd, "empty", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	remove_folder(&dir, "empty");

	struct folder two = folder_with("two", "a\n\n", 3); /* only the final one goes */
	ck_assert_int_eq(fd_read_text(two.fd, "two", text, sizeof(text)), 2);
	ck_assert_str_eq(text, "a\n");
	remove_folder(&two, "two");
}
END_TEST

START_TEST(test_above_stdio)
{
	ck_assert_int_eq(fd_above_stdio(-EBADF), -EBADF);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 3);
	ck_assert_int_eq(fd_above_stdio(fd), fd);
	fd_close(fd);

	fd_close(STDIN_FILENO);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fd, STDIN_FILENO);
	int high = fd_above_stdio(fd);
	ck_assert_int_ge(high, 3);
	ck_assert(is_cloexec(high));
	ck_assert(!is_open(STDIN_FILENO));
	fd_close(high);
}
END_TEST

START_TEST(test_ensure_stdio)
{
	fd_close(STDIN_FILENO);
	int keep = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	fd_close(STDERR_FILENO);
	int r = fd_ensure_stdio();
	ck_assert_int_eq(dup2(keep, 11), 11);
	bool in_open = is_open(STDIN_FILENO), err_open = is_open(STDERR_FILENO);
	bool inherited = !is_cloexec(STDIN_FILENO) && !is_cloexec(STDERR_FILENO);
	ck_assert_int_eq(dup2(keep, STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(r, 0);
	ck_assert(in_open && err_open && inherited);
}
END_TEST

START_TEST(test_cloexec_from)
{
	int low = dup(STDOUT_FILENO), high = fcntl(low, F_DUPFD, low + 10);

	ck_assert(!is_cloexec(low) && !is_cloexec(high));
	ck_assert_int_eq(fd_cloexec_from((unsigned int) low + 1), 0);
	ck_assert(!is_cloexec(low));
	ck_assert(is_cloexec(high));
	ck_assert(is_open(high));
}
END_TEST

START_TEST(test_set_nonblock)
{
	int p[2];
	char c;

	ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
	ck_assert_int_eq(fd_set_nonblock(p[0], true), 0);
	ck_assert_int_eq(fd_read_exact(p[0], &c, 1), -EAGAIN);
	ck_assert_int_eq(fd_set_nonblock(p[0], false), 0);
	ck_assert_int_eq(fcntl(p[0], F_GETFL) & O_NONBLOCK, 0);
	fd_close(p[0]);
	fd_close(p[1]);
	ck_assert_int_eq(fd_set_nonblock(p[0], true), -EBADF);
}
END_TEST

static size_t count_entries(DIR *list)
{
	size_t n = 0;

	while (readdir(list))
		n++;
	return n;
}

START_TEST(test_list)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_list_ DIR *first = fd_list(dir), *second = fd_list(dir), *none = fd_list(-EBADF);

	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_nonnull(second);
	size_t n = count_entries(first);
	ck_assert_uint_gt(n, 2);
	ck_assert_uint_eq(count_entries(second), n); /* the one is not read further by the other */
	ck_assert(is_cloexec(dirfd(first)));
	ck_assert_ptr_null(none);
	fd_close(dir);
	rewinddir(first);
	ck_assert_uint_eq(count_entries(first), n); /* nor does it need the folder that it was made from */
}
END_TEST

UNIT_MAIN("runtime/base/fd", test_close_keeps_errno, test_ownership, test_read_exact, test_write_all_waits,
	  test_write_all_fails, test_read_text, test_read_text_newlines, test_above_stdio, test_ensure_stdio,
	  test_cloexec_from, test_set_nonblock, test_list)
