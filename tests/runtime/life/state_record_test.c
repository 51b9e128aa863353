/*
 * The text of a record: what is written is read back, whatever bytes a name holds, and what is not written like that is refused.
 */
#include "runtime/life/state_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/unit.h"

static int parse(struct state_record *ret, const char *text)
{
	static char copy[2 * STATE_RECORD_MAX];

	ck_assert_uint_lt(strlen(text), sizeof(copy));
	memcpy(copy, text, strlen(text) + 1);
	return state_record_parse(ret, copy, strlen(copy));
}

START_TEST(test_round_trip)
{
	static struct state_record record = { .started = 1764446340, .init = 4711, .name = "build.1", .command = "make -j4" }, back;
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_RECORD_MAX);

	/* Every byte that a path may hold, and as many as it may have. */
	for (size_t i = 0; i < sizeof(record.workspace) - 1; i++)
		record.workspace[i] = (char) (1 + i % 255);
	state_record_write(&text, &record);
	ck_assert_int_eq(buf_error(&text), 0);
	for (size_t i = 0; i < text.len; i++)
		ck_assert_msg(text.p[i] == '\n' || (text.p[i] >= ' ' && text.p[i] <= '~'), "byte %zu", i);
	ck_assert_int_eq(parse(&back, buf_cstr(&text)), 0);
	ck_assert_int_eq(memcmp(&record, &back, sizeof(record)), 0);
}
END_TEST

START_TEST(test_as_documented)
{
	struct state_record record = { .started = 7, .init = 8, .workspace = "/a b\\\n\xc3\xa9", .command = "x=y" };
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_RECORD_MAX);

	state_record_write(&text, &record);
	ck_assert_str_eq(buf_cstr(&text), "cloche=1\nstarted=7\ninit=8\nworkspace=/a b\\x5c\\x0a\\xc3\\xa9\ncommand=x=y\n");
}
END_TEST

START_TEST(test_of_a_later_version)
{
	struct state_record back;

	ck_assert_int_eq(parse(&back, "cloche=1\nstarted=7\nprofile=strict\nname=n\n"), 0);
	ck_assert_str_eq(back.name, "n");
	ck_assert_int_eq(back.started, 7);
	ck_assert_int_eq(back.init, 0);
}
END_TEST

START_TEST(test_refused)
{
	static const char *const bad[] = {
		"", "cloche=1", "cloche=2\nstarted=7\n", "\ncloche=1\n", "cloche=1\nstarted\n", "cloche=1\nstarted=7", "cloche=1\n=7\n",
		"cloche=1\nstarted=-7\n", "cloche=1\nstarted=99999999999999999999\n", "cloche=1\nstarted=\n", "cloche=1\ninit=2147483648\n",
		"cloche=1\ninit= 7\n", "cloche=1\nname=a b\n", "cloche=1\nname=../x\n", "cloche=1\nname=\\x1b[2J\n",
		"cloche=1\nworkspace=\\\n", "cloche=1\nworkspace=\\x\n", "cloche=1\nworkspace=\\x0\n", "cloche=1\nworkspace=\\x00\n",
		"cloche=1\nworkspace=\\n\n", "cloche=1\nworkspace=\\xAB\n", "cloche=1\nworkspace=/\t\n", "cloche=1\nworkspace=/\xc3\xa9\n",
		"cloche=1\ncommand=\x1b[2J\n", "cloche=1\nwork space=/\n", "cloche=1\n\n",
	};
	struct state_record back;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(parse(&back, bad[i]) == -EBADMSG, "'%s' was taken", bad[i]);
}
END_TEST

/* A value that fills its place to the last byte is taken, one byte more is not. */
START_TEST(test_lengths)
{
	static const struct {
		const char *key;
		size_t size;
	} texts[] = { { "name", SPEC_NAME_MAX + 1 }, { "workspace", SPEC_PATH_MAX }, { "command", STATE_COMMAND_MAX } };
	static struct state_record back;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_buf_ struct buf text = BUF_INIT(STATE_RECORD_MAX);
		buf_addf(&text, "cloche=1\n%s=", texts[i].key);
		for (size_t n = 0; n < texts[i].size - 1; n++)
			buf_add_char(&text, 'x');
		buf_add_char(&text, '\n');
		ck_assert_int_eq(parse(&back, buf_cstr(&text)), 0);
		buf_truncate(&text, text.len - 1);
		buf_add_str(&text, "x\n");
		ck_assert_int_eq(parse(&back, buf_cstr(&text)), -EBADMSG);
	}
}
END_TEST

START_TEST(test_too_long_or_with_nul)
{
	static char text[2 * STATE_RECORD_MAX];
	static struct state_record back;
	size_t len = (size_t) snprintf(text, sizeof(text), "cloche=1\n");

	while (len <= STATE_RECORD_MAX)
		len += (size_t) snprintf(text + len, sizeof(text) - len, "later=value\n");
	ck_assert_int_eq(state_record_parse(&back, text, len), -EBADMSG);
	(void) snprintf(text, sizeof(text), "cloche=1\nname=a\n");
	ck_assert_int_eq(state_record_parse(&back, text, strlen(text) + 1), -EBADMSG);
}
END_TEST

START_TEST(test_command)
{
	static const char *const make[] = { "make", "-j4", "", "all targets", NULL };
	static const char *const nothing[] = { NULL };
	static char word[2 * STATE_COMMAND_MAX];
	const char *const two_long[] = { word, word, NULL };
	char text[STATE_COMMAND_MAX];

	state_record_command(text, make);
	ck_assert_str_eq(text, "make -j4  all targets");
	state_record_command(text, nothing);
	ck_assert_str_eq(text, "");
	memset(word, 'w', sizeof(word) - 1);
	state_record_command(text, two_long);
	ck_assert_uint_eq(strlen(text), STATE_COMMAND_MAX - 1);
	word[STATE_COMMAND_MAX - 2] = '\0'; /* the blank behind it is the last that fits */
	state_record_command(text, two_long);
	ck_assert_uint_eq(strlen(text), STATE_COMMAND_MAX - 1);
}
END_TEST

UNIT_MAIN("runtime/life/state_record", test_round_trip, test_as_documented, test_of_a_later_version, test_refused, test_lengths,
	  test_too_long_or_with_nul, test_command)
