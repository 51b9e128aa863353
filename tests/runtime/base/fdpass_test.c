/*
 * Messages with descriptors: exact counts, truncation, and that nothing is ever left open by accident.
 */
#include "runtime/base/fdpass.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

struct pair {
	int a, b;
};

static struct pair make_pair(void)
{
	int sv[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	return (struct pair){ sv[0], sv[1] };
}

static size_t count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void open_many(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		ck_assert_int_ge(fds[i], 0);
	}
}

static void close_many(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fds[i] = fd_close(fds[i]);
}

START_TEST(test_data_only)
{
	struct pair s = make_pair();
	char text[16];
	int fds[2] = { 7, 7 };
	size_t nfds = 99;

	ck_assert_int_eq(fdpass_send(s.a, "hello", 5, NULL, 0), 0);
	ck_assert_int_eq(fdpass_recv(s.b, text, sizeof(text), fds, 2, &nfds), 5);
	ck_assert_mem_eq(text, "hello", 5);
	ck_assert_uint_eq(nfds, 0);
	ck_assert_int_eq(fds[0], -EBADF);
	ck_assert_int_eq(fds[1], -EBADF);
}
END_TEST

/* The maximum travels, arrives close-on-exec and in order, and the sender keeps its own. */
START_TEST(test_most_descriptors)
{
	struct pair s = make_pair();
	int sent[FDPASS_MAX_FDS], got[FDPASS_MAX_FDS];
	char names[FDPASS_MAX_FDS];
	char c;
	size_t nfds = 0;

	for (int i = 0; i < FDPASS_MAX_FDS; i++) {
		int p[2];
		ck_assert_int_eq(pipe2(p, O_CLOEXEC), 0);
		names[i] = (char) ('a' + i);
		ck_assert_int_eq(write(p[1], &names[i], 1), 1);
		fd_close(p[1]);
		sent[i] = p[0];
	}
	ck_assert_int_eq(fdpass_send(s.a, "x", 1, sent, FDPASS_MAX_FDS), 0);
	ck_assert_int_eq(fdpass_recv(s.b, &c, 1, got, FDPASS_MAX_FDS, &nfds), 1);
	ck_assert_uint_eq(nfds, FDPASS_MAX_FDS);
	for (int i = 0; i < FDPASS_MAX_FDS; i++) {
		ck_assert_int_eq(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		ck_assert_int_eq(fcntl(sent[i], F_GETFD), FD_CLOEXEC);
		ck_assert_int_eq(fd_read_exact(got[i], &c, 1), 0);
		ck_assert_int_eq(c, names[i]);
	}
}
END_TEST

START_TEST(test_send_refuses)
{
	struct pair s = make_pair();
	int fds[FDPASS_MAX_FDS + 1] = { 0 };
	int closed = fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));

	ck_assert_int_eq(fdpass_send(s.a, "x", 1, fds, FDPASS_MAX_FDS + 1), -EINVAL);
	ck_assert_int_eq(fdpass_send(s.a, "", 0, NULL, 0), -EINVAL); /* would look like the end of the stream */
	fd_close(closed);
	ck_assert_int_eq(fdpass_send(s.a, "x", 1, &closed, 1), -EBADF);
	ck_assert_int_eq(fd_set_nonblock(s.b, true), 0);
	size_t nfds;
	ck_assert_int_eq(fdpass_recv(s.b, fds, 1, NULL, 0, &nfds), -EAGAIN); /* none of it was sent */
	ck_assert_int_eq(fdpass_recv(s.b, fds, 1, fds, FDPASS_MAX_FDS + 1, &nfds), -EINVAL);
}
END_TEST

/* One more than expected: none is kept, and the caller's slots say so. */
START_TEST(test_too_many_are_closed)
{
	struct pair s = make_pair();
	int sent[4], got[4];
	char c;

	open_many(sent, 4);
	for (size_t expected = 0; expected < 4; expected++) {
		size_t before = count_open(), nfds = 99;
		for (size_t i = 0; i < 4; i++)
			got[i] = 7;
		ck_assert_int_eq(fdpass_send(s.a, "x", 1, sent, 4), 0);
		ck_assert_int_eq(fdpass_recv(s.b, &c, 1, got, expected, &nfds), -EPROTO);
		for (size_t i = 0; i < expected; i++)
			ck_assert_int_eq(got[i], -EBADF);
		ck_assert_uint_eq(count_open(), before);
		ck_assert_uint_eq(nfds, 99); /* untouched on failure */
	}
	close_many(sent, 4);
}
END_TEST

/* More than the control buffer holds: the kernel cuts the list, and that is an error too. */
START_TEST(test_cut_control_data)
{
	struct pair s = make_pair();
	enum { MANY = 20 };
	int sent[MANY], got[FDPASS_MAX_FDS];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(MANY * sizeof(int))];
	} control = { .space = { 0 } };
	char c = 'x';
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	size_t nfds = 99;

	open_many(sent, MANY);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(sent));
	memcpy(CMSG_DATA(head), sent, sizeof(sent));
	ck_assert_int_eq(sendmsg(s.a, &msg, 0), 1);
	size_t before = count_open();
	ck_assert_int_eq(fdpass_recv(s.b, &c, 1, got, FDPASS_MAX_FDS, &nfds), -EPROTO);
	ck_assert_uint_eq(count_open(), before);
	for (size_t i = 0; i < FDPASS_MAX_FDS; i++)
		ck_assert_int_eq(got[i], -EBADF);
	close_many(sent, MANY);
}
END_TEST

/* A message longer than the room for it is lost as a whole, descriptors included. */
START_TEST(test_cut_data)
{
	struct pair s = make_pair();
	int sent[1], got[1];
	char text[4];
	size_t nfds = 99;

	open_many(sent, 1);
	size_t before = count_open();
	ck_assert_int_eq(fdpass_send(s.a, "12345", 5, sent, 1), 0);
	ck_assert_int_eq(fdpass_send(s.a, "1234", 4, NULL, 0), 0);
	ck_assert_int_eq(fdpass_recv(s.b, text, sizeof(text), got, 1, &nfds), -EMSGSIZE);
	ck_assert_int_eq(got[0], -EBADF);
	ck_assert_uint_eq(count_open(), before);
	ck_assert_int_eq(fdpass_recv(s.b, text, sizeof(text), got, 1, &nfds), 4); /* the next one is whole */
	ck_assert_mem_eq(text, "1234", 4);
	close_many(sent, 1);
}
END_TEST

START_TEST(test_other_end_is_gone)
{
	struct pair s = make_pair();
	char c;
	size_t nfds;

	ck_assert_int_eq(fdpass_send(s.a, "x", 1, NULL, 0), 0);
	fd_close(s.a);
	ck_assert_int_eq(fdpass_recv(s.b, &c, 1, NULL, 0, &nfds), 1); /* what was sent before still arrives */
	ck_assert_int_eq(fdpass_recv(s.b, &c, 1, NULL, 0, &nfds), 0);
	signal(SIGPIPE, SIG_DFL); /* would end the test */
	ck_assert_int_eq(fdpass_send(s.b, "x", 1, NULL, 0), -EPIPE);
}
END_TEST

UNIT_MAIN("runtime/base/fdpass", test_data_only, test_most_descriptors, test_send_refuses, test_too_many_are_closed,
	  test_cut_control_data, test_cut_data, test_other_end_is_gone)
