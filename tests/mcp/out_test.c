/*
 * The writer: what is repaired and escaped, and that a reader who does not read never blocks it.
 */
#include "mcp/out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/unit.h"

static const struct {
	const char *in;
	size_t len;
	const char *out;
} rows[] = {
#define ROW(in, out) { in, sizeof(in) - 1, out "\n" }
	ROW("", ""),
	ROW("{\"a\":1}", "{\"a\":1}"),
	ROW("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""),
	ROW("\x7f", "\\u007f"),
	ROW("a\xc2\x85z", "a\\u0085z"),
	ROW("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"),
	ROW("\xe2\x80\xaa", "\xe2\x80\xaa"),
	ROW("x\xff\xfey", "x\xef\xbf\xbd\xef\xbf\xbdy"),
	ROW("\xc3", "\xef\xbf\xbd"),
	ROW("\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd"),
#undef ROW
};

static void open_pair(bool sockets, int ends[2])
{
	if (sockets)
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	else
		ck_assert_int_eq(pipe(ends), 0);
}

START_TEST(test_form)
{
	struct loop loop;
	struct out out;
	int ends[2];

	ck_assert_int_eq(loop_init(&loop), 0);
	open_pair(false, ends);
	ck_assert_int_eq(out_init(&out, &loop, ends[1]), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char got[100];
		_cleanup_buf_ struct buf json = BUF_INIT(100);
		buf_add(&json, rows[i].in, rows[i].len);
		ck_assert_int_eq(out_message(&out, &json), 0);
		ck_assert_uint_eq(json.len, 0);
		ssize_t n = read(ends[0], got, sizeof(got) - 1);
		ck_assert_int_gt(n, 0);
		got[n] = '\0';
		ck_assert_str_eq(got, rows[i].out);
	}
	out_done(&out);
	loop_done(&loop);
}
END_TEST

/*
 * Queues 4 MiB before anything is read: that must neither block nor lose anything, nor change the shared description.
 */
static void check_slow_reader(bool sockets)
{
	struct loop loop;
	struct out out;
	int ends[2];
	size_t got = 0, wanted = 0;
	char block[8192];

	ck_assert_int_eq(loop_init(&loop), 0);
	open_pair(sockets, ends);
	ck_assert_int_eq(out_init(&out, &loop, ends[1]), 0);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 512; i++) {
		_cleanup_buf_ struct buf json = BUF_INIT(sizeof(block));
		buf_add(&json, block, sizeof(block));
		ck_assert_int_eq(out_message(&out, &json), 0);
		wanted += sizeof(block) + 1;
	}
	ck_assert(out_congested(&out));
	ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	while (got < wanted) {
		ssize_t n = read(ends[0], block, sizeof(block));
		ck_assert_int_gt(n, 0);
		got += (size_t) n;
		ck_assert_int_eq(loop_wait(&loop, 0), 0);
	}
	ck_assert_uint_eq(out.queued, 0);
	out_done(&out);
	loop_done(&loop);
}

START_TEST(test_slow_reader)
{
	check_slow_reader(false);
	check_slow_reader(true);
}
END_TEST

START_TEST(test_reader_gone)
{
	for (int sockets = 0; sockets < 2; sockets++) {
		struct loop loop;
		struct out out;
		int ends[2];

		ck_assert_ptr_ne(signal(SIGPIPE, SIG_IGN), SIG_ERR);
		ck_assert_int_eq(loop_init(&loop), 0);
		open_pair(sockets, ends);
		ck_assert_int_eq(out_init(&out, &loop, ends[1]), 0);
		ck_assert_int_eq(loop_wait(&loop, 0), 0);
		ck_assert(!out.closed);
		(void) close(ends[0]);
		ck_assert_int_eq(loop_wait(&loop, 1000), 0); /* noticed without writing */
		ck_assert(out.closed);
		_cleanup_buf_ struct buf json = BUF_INIT(100);
		buf_add_str(&json, "{}");
		ck_assert_int_eq(out_message(&out, &json), 0);
		ck_assert_uint_eq(out.queued, 0);
		out_done(&out);
		loop_done(&loop);
	}
}
END_TEST

START_TEST(test_too_large)
{
	_cleanup_buf_ struct buf json = BUF_INIT(OUT_MESSAGE_MAX * 2);
	struct loop loop;
	struct out out;
	int fd = open("/dev/null", O_WRONLY);

	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(out_init(&out, &loop, fd), 0);
	ck_assert_int_eq(out.kind, OUT_FILE);
	char *room = buf_reserve(&json, OUT_MESSAGE_MAX + 1);
	ck_assert_ptr_nonnull(room);
	memset(room, 'x', OUT_MESSAGE_MAX + 1);
	json.len = OUT_MESSAGE_MAX + 1;
	ck_assert_int_eq(out_message(&out, &json), -EMSGSIZE);
	buf_add_str(&json, "{}");
	ck_assert_int_eq(out_message(&out, &json), 0);
	ck_assert_uint_eq(out.queued, 0);
	out_done(&out);
	loop_done(&loop);
}
END_TEST

UNIT_MAIN("mcp/out", test_form, test_slow_reader, test_reader_gone, test_too_large)
