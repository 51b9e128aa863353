/*
 * Words of shell commands in answers: what a shell makes of them is the path again, or nothing is shown.
 */
#include "mcp/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/unit.h"

static const struct {
	const char *path, *word;
} rows[] = {
	{ "src/main.c", "src/main.c" },
	{ "a b", "'a b'" },
	{ "it's", "'it'\\''s'" },
	{ "$(reboot)", "'$(reboot)'" },
	{ "a;b&c|d>e<f`g`*?[x]{y}~!#\"\\", "'a;b&c|d>e<f`g`*?[x]{y}~!#\"\\'" },
	{ "a-b_c.d", "a-b_c.d" },
	{ "-rf", "'./-rf'" }, /* no option */
	{ "- rf", "'./- rf'" },
	{ "caf\xC3\xA9", "'caf\xC3\xA9'" },
	{ "caf\xE9", "FILE" },
	{ "a\nb", "FILE" },
	{ "\x7f", "FILE" },
	{ "", "FILE" },
};

START_TEST(test_rows)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf word = BUF_INIT(1000), command = BUF_INIT(1000), got = BUF_INIT(1000);

		text_add_word(&word, rows[i].path);
		ck_assert_str_eq(buf_cstr(&word), rows[i].word);
		if (strcmp(rows[i].word, "FILE") == 0)
			continue;
		buf_addf(&command, "printf %%s %s", word.p);
		FILE *f = popen(command.p, "re");
		ck_assert_ptr_nonnull(f);
		for (int c; (c = getc(f)) != EOF;)
			buf_add_char(&got, (char) c);
		ck_assert_int_eq(pclose(f), 0);
		const char *at = strncmp(got.p, "./", 2) == 0 ? got.p + 2 : got.p;
		ck_assert_str_eq(at, rows[i].path);
	}
}
END_TEST

START_TEST(test_long_word)
{
	char path[300];

	for (size_t len = 1; len < sizeof(path); len++) {
		_cleanup_buf_ struct buf word = BUF_INIT(1000);

		memset(path, 'x', len);
		path[len] = '\0';
		text_add_word(&word, path);
		ck_assert_str_eq(word.p, len <= 200 ? path : "FILE");
	}
}
END_TEST

/* Quotes make it longer, but no longer than a plain one may be. */
START_TEST(test_quoted_word)
{
	char path[101];

	memset(path, '\'', sizeof(path) - 1);
	for (size_t len = sizeof(path) - 1; len > 0; len--) {
		_cleanup_buf_ struct buf word = BUF_INIT(1000);

		path[len] = '\0';
		text_add_word(&word, path);
		ck_assert_uint_eq(word.len, 4 * len + 2 <= 200 ? 4 * len + 2 : strlen("FILE"));
	}
}
END_TEST

START_TEST(test_repaired)
{
	static const struct {
		const char *text;
		size_t len;
		const char *want;
	} repairs[] = {
		{ "", 0, "" },
		{ NULL, 0, "" },
		{ "plain", 5, "plain" },
		{ "\0", 1, "\xef\xbf\xbd" },
		{ "a\0\0b\xff", 5, "a\xef\xbf\xbd\xef\xbf\xbd" "b\xef\xbf\xbd" },
		{ "\xc3\0\xa9", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < ARRAY_LEN(repairs); i++) {
		_cleanup_buf_ struct buf got = BUF_INIT(1000);

		text_add_repaired(&got, repairs[i].text, repairs[i].len);
		ck_assert_str_eq(buf_cstr(&got), repairs[i].want);
	}
}
END_TEST

UNIT_MAIN("mcp/text", test_rows, test_long_word, test_quoted_word, test_repaired)
