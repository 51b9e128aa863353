/*
 * UTF-8: the well-formed ranges, what replaces the rest, and where a text may be cut.
 */
#include "runtime/base/utf8.h"

#include <string.h>

#include "tests/harness/unit.h"

START_TEST(test_decode)
{
	static const struct {
		const char *s;
		size_t n, len;
		uint32_t cp;
	} rows[] = {
		{ "a", 1, 1, 'a' },
		{ "\0", 1, 1, 0 },
		{ "\x7F", 1, 1, 0x7F },
		{ "\xC2\x80", 2, 2, 0x80 },
		{ "\xDF\xBF", 2, 2, 0x7FF },
		{ "\xE0\xA0\x80", 3, 3, 0x800 },
		{ "\xED\x9F\xBF", 3, 3, 0xD7FF },
		{ "\xEE\x80\x80", 3, 3, 0xE000 },
		{ "\xEF\xBF\xBF", 3, 3, 0xFFFF },
		{ "\xF0\x90\x80\x80", 4, 4, 0x10000 },
		{ "\xF4\x8F\xBF\xBF", 4, 4, 0x10FFFF },
		{ "\xC0\x80", 2, 0, 0 },         /* overlong */
		{ "\xC1\xBF", 2, 0, 0 },
		{ "\xE0\x9F\xBF", 3, 0, 0 },
		{ "\xF0\x8F\xBF\xBF", 4, 0, 0 },
		{ "\xED\xA0\x80", 3, 0, 0 },     /* surrogate */
		{ "\xF4\x90\x80\x80", 4, 0, 0 }, /* above U+10FFFF */
		{ "\xF5\x80\x80\x80", 4, 0, 0 },
		{ "\x80", 1, 0, 0 },
		{ "\xFF", 1, 0, 0 },
		{ "\xE2\x82", 2, 0, 0 },         /* cut */
		{ "", 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t cp = 0;

		ck_assert_msg(utf8_decode(rows[i].s, rows[i].n, &cp) == rows[i].len && cp == rows[i].cp, "row %zu", i);
	}
}
END_TEST

START_TEST(test_valid_prefix)
{
	ck_assert_uint_eq(utf8_valid_prefix("", 0), 0);
	ck_assert_uint_eq(utf8_valid_prefix("0123456789abcdefg", 17), 17);
	ck_assert_uint_eq(utf8_valid_prefix("0123456789\xFF\x61", 12), 10);
	ck_assert_uint_eq(utf8_valid_prefix("\xC3\xA9t\xC3", 4), 3);
	ck_assert(utf8_is_valid("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 9));
	ck_assert(!utf8_is_valid("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82", 8));
}
END_TEST

START_TEST(test_repair_counts_maximal_parts)
{
	static const struct {
		const char *in, *out; /* '?' stands for U+FFFD */
	} rows[] = {
		{ "plain", "plain" },
		{ "\xC3\xA9", "\xC3\xA9" },
		{ "a\xFF\x62", "a?b" },
		{ "\xE2\x82", "?" },
		{ "\xE2\x82z", "?z" },
		{ "\xF0\x9F\x92z", "?z" },
		{ "\xC0\x80", "??" },
		{ "\xE0\x80\x80", "???" },
		{ "\xED\xA0\x80", "???" },
		{ "\xF4\x90\x80\x80", "????" },
		{ "\x80\x80", "??" },
		{ "\xE2\xE2\x82\xAC", "?\xE2\x82\xAC" },
		{ "caf\xE9 cr\xE8me", "caf? cr?me" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf got = BUF_INIT(100), want = BUF_INIT(100);

		for (const char *p = rows[i].out; *p; p++) {
			if (*p == '?')
				buf_add_str(&want, "\xEF\xBF\xBD");
			else
				buf_add_char(&want, *p);
		}
		utf8_repair(&got, rows[i].in, strlen(rows[i].in));
		ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
	}
}
END_TEST

START_TEST(test_cutting)
{
	static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x92\xA9z"; /* 1 + 2 + 3 + 4 + 1 bytes */
	static const size_t floors[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11 };
	static const size_t skips[] = { 0, 0, 1, 0, 2, 1, 0, 3, 2, 1, 0, 0 };

	for (size_t n = 0; n < ARRAY_LEN(floors); n++) {
		ck_assert_uint_eq(utf8_floor(text, n), floors[n]);
		ck_assert_uint_eq(utf8_skip_partial(text + n, sizeof(text) - 1 - n), skips[n]);
	}
	/* What can never become a character is not waited for. */
	ck_assert_uint_eq(utf8_floor("ab\xFF", 3), 3);
	ck_assert_uint_eq(utf8_floor("\x80\x80\x80\x80", 4), 4);
	ck_assert_uint_eq(utf8_floor("\xE0\x80", 2), 2);
}
END_TEST

/* Random bytes: the repaired text is valid, repairing again changes nothing, and cutting never loses more than 3 bytes. */
START_TEST(test_random)
{
	unsigned int seed = 20240501;

	for (int round = 0; round < 3000; round++) {
		char s[64];
		size_t n = (size_t) rand_r(&seed) % sizeof(s);
		static const unsigned char likely[] = { 'a', 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0xED, 0xA0, 0xFF, 0 };

		for (size_t i = 0; i < n; i++)
			s[i] = (char) likely[(size_t) rand_r(&seed) % sizeof(likely)];
		_cleanup_buf_ struct buf once = BUF_INIT(1000), twice = BUF_INIT(1000);
		utf8_repair(&once, s, n);
		ck_assert(utf8_is_valid(buf_cstr(&once), once.len));
		ck_assert(once.len <= 3 * n);
		utf8_repair(&twice, buf_cstr(&once), once.len);
		ck_assert_mem_eq(buf_cstr(&once), buf_cstr(&twice), once.len);
		size_t cut = utf8_floor(s, n);
		ck_assert(cut <= n && n - cut <= 3);
		if (utf8_is_valid(s, n))
			ck_assert(cut == n && once.len == n);
	}
}
END_TEST

/* What a terminal would obey, or would not show as it is, is no more; the rest is. */
START_TEST(test_printable)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{ "plain \xc3\xa9 \xe2\x82\xac", "plain \xc3\xa9 \xe2\x82\xac" },
		{ "a\033]0;title\007b", "a?]0;title?b" },
		{ "two\nlines\r", "two?lines?" },
		{ "c1 \xc2\x9b", "c1 ?" },
		{ "raw \x9b", "raw " UTF8_REPLACEMENT },
		{ "rtl \xe2\x80\xae", "rtl ?" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(100);
		utf8_add_printable(&out, rows[i].text, strlen(rows[i].text));
		ck_assert_str_eq(buf_cstr(&out), rows[i].printed);
	}
}
END_TEST

START_TEST(test_byte_order_mark)
{
	ck_assert_uint_eq(utf8_bom_length(UTF8_BOM "x", 4), 3);
	ck_assert_uint_eq(utf8_bom_length(UTF8_BOM, 3), 3);
	ck_assert_uint_eq(utf8_bom_length(UTF8_BOM, 2), 0);
	ck_assert_uint_eq(utf8_bom_length("", 0), 0);
	ck_assert_uint_eq(utf8_bom_length("x" UTF8_BOM, 4), 0);
	ck_assert_uint_eq(utf8_bom_length(UTF8_REPLACEMENT, 3), 0);
}
END_TEST

UNIT_MAIN("runtime/base/utf8", test_decode, test_valid_prefix, test_repair_counts_maximal_parts, test_cutting, test_random,
	  test_printable, test_byte_order_mark)
