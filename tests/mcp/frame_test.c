/*
 * Framing: lines however they are cut, and lines that are too long.
 */
#include "mcp/frame.h"

#include <string.h>

#include "tests/harness/unit.h"

enum { LIMIT = 8 };

/* Feeds @input in pieces of @piece bytes; writes what comes out as "[line]" or "<too long>" into @out. */
static void run(const char *input, size_t piece, struct buf *out)
{
	struct frame f;
	size_t left = strlen(input);

	frame_init(&f, LIMIT);
	while (left > 0) {
		const char *data = input, *line = NULL;
		size_t len = MIN(piece, left), n = 0, given = len;
		while (len > 0) {
			enum frame_event event = frame_take(&f, &data, &len, &line, &n);
			if (event == FRAME_MORE)
				ck_assert_uint_eq(len, 0);
			else
				buf_addf(out, event == FRAME_LINE ? "[%.*s]" : "<%.*s>", (int) n, line);
		}
		input += given;
		left -= given;
	}
	frame_done(&f);
}

static const struct {
	const char *input, *expected;
} rows[] = {
	{ "a\n", "[a]" },
	{ "\n", "[]" },
	{ "a\nbc\n\nd\n", "[a][bc][][d]" },
	{ "half", "" },
	{ "12345678\n", "[12345678]" },
	{ "123456789\n", "<12345678>" },
	{ "123456789abcdef\nok\n", "<12345678>[ok]" },
	{ "12345678\n123456789\n12345678\n", "[12345678]<12345678>[12345678]" },
	{ "123456789abcdef without an end", "" },
};

START_TEST(test_rows_in_pieces)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t piece = 1; piece <= 40; piece++) {
			_cleanup_buf_ struct buf out = BUF_INIT(1000);
			run(rows[i].input, piece, &out);
			ck_assert_msg(strcmp(buf_cstr(&out), rows[i].expected) == 0, "'%s' in pieces of %zu: '%s'",
				      rows[i].input, piece, buf_cstr(&out));
		}
	}
}
END_TEST

START_TEST(test_long_line_is_not_kept)
{
	static char block[64 * 1024];
	struct frame f;
	const char *line;
	size_t n;

	memset(block, 'x', sizeof(block));
	frame_init(&f, FRAME_LINE_MAX);
	for (size_t fed = 0; fed < (size_t) FRAME_LINE_MAX * 2; fed += sizeof(block)) {
		const char *data = block;
		size_t len = sizeof(block);
		ck_assert_int_eq(frame_take(&f, &data, &len, &line, &n), FRAME_MORE);
		ck_assert_uint_le(f.partial.len, FRAME_LINE_MAX);
	}
	const char *end = "\nnext\n";
	size_t len = strlen(end);
	ck_assert_int_eq(frame_take(&f, &end, &len, &line, &n), FRAME_TOO_LONG);
	ck_assert_uint_eq(n, FRAME_HEAD);
	ck_assert_int_eq(frame_take(&f, &end, &len, &line, &n), FRAME_LINE);
	ck_assert_uint_eq(n, 4);
	ck_assert_uint_le(f.partial.cap, 1024 * 1024); /* the memory of the long line has been given back */
	frame_done(&f);
}
END_TEST

UNIT_MAIN("mcp/frame", test_rows_in_pieces, test_long_line_is_not_kept)
