/*
 * JSON text: every escape, what passes through, commas between members, and that any bytes come back when read again.
 */
#include "runtime/base/jsonw.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/seeded.h"
#include "runtime/base/utf8.h"
#include "tests/harness/unit.h"

enum { TEXT_MAX = 4096, ROUNDS = 20000, STRING_LEN_MAX = 40 };

START_TEST(test_strings)
{
	static const struct {
		const char *text;
		size_t len;
		const char *json;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "plain", 5, "\"plain\"" },
		{ "a\"b", 3, "\"a\\\"b\"" },
		{ "a\\b", 3, "\"a\\\\b\"" },
		{ "/", 1, "\"/\"" },
		{ "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
		{ "\x01\x1f", 2, "\"\\u0001\\u001f\"" },
		{ "\x7f", 1, "\"\x7f\"" },
		{ "a\0b", 3, "\"a" UTF8_REPLACEMENT "b\"" },
		{ "\0", 1, "\"" UTF8_REPLACEMENT "\"" },
		{ "\xc3\xa9\xf0\x9f\x94\x94", 6, "\"\xc3\xa9\xf0\x9f\x94\x94\"" },
		{ "\xff\xfe", 2, "\"\xff\xfe\"" },
		{ "cut here", 3, "\"cut\"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf b = BUF_INIT(TEXT_MAX);
		jsonw_string(&b, cases[i].text, cases[i].len);
		ck_assert_str_eq(buf_cstr(&b), cases[i].json);
		ck_assert_uint_eq(b.len, strlen(cases[i].json));
	}
}
END_TEST

START_TEST(test_members)
{
	_cleanup_buf_ struct buf b = BUF_INIT(TEXT_MAX);

	buf_add_char(&b, '{');
	jsonw_name(&b, "a");
	jsonw_str(&b, "ends in {");
	jsonw_name(&b, "b\"c");
	buf_add_char(&b, '{');
	jsonw_name(&b, "inner");
	buf_add_str(&b, "1}");
	jsonw_name(&b, "last");
	buf_add_str(&b, "null");
	jsonw_member(&b, "text", "t\"");
	buf_add_char(&b, '}');
	ck_assert_str_eq(buf_cstr(&b), "{\"a\":\"ends in {\",\"b\\\"c\":{\"inner\":1},\"last\":null,\"text\":\"t\\\"\"}");
}
END_TEST

/* Too long a text fails as a whole; half an escape is never taken for an answer. */
START_TEST(test_limit)
{
	static const char text[] = "12345\n";
	const size_t needed = sizeof(text) - 1 + 1 + 2; /* the escape and the quotes */

	for (size_t max = 0; max <= needed; max++) {
		_cleanup_buf_ struct buf b = BUF_INIT(max);
		jsonw_str(&b, text);
		ck_assert_int_eq(buf_error(&b), max < needed ? -E2BIG : 0);
	}
}
END_TEST

/* Reads what jsonw_string() wrote, independently of it; a NUL stands for the replacement character. Returns the length. */
static size_t read_back(const char *json, size_t len, char text[static TEXT_MAX])
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	size_t n = 0;

	ck_assert(len >= 2 && json[0] == '"' && json[len - 1] == '"');
	for (size_t i = 1; i < len - 1; i++) {
		const char *letter;

		if ((unsigned char) json[i] < 0x20 || json[i] == '"') /* an assertion a byte would take seconds */
			ck_abort_msg("byte %zu is bare", i);
		if (json[i] != '\\') {
			text[n++] = json[i];
		} else if (json[++i] == 'u') {
			const char *hex = "0123456789abcdef", *high = strchr(hex, json[i + 3]), *low = strchr(hex, json[i + 4]);
			if (json[i + 1] != '0' || json[i + 2] != '0' || !high || !low)
				ck_abort_msg("no hexadecimal number at %zu", i);
			text[n++] = (char) ((high - hex) * 16 + (low - hex));
			i += 4;
		} else {
			letter = strchr(letters, json[i]);
			if (!letter || i >= len - 1)
				ck_abort_msg("no escape at %zu", i);
			text[n++] = meant[letter - letters];
		}
	}
	return n;
}

START_TEST(test_any_bytes_come_back)
{
	struct seeded random = { .state = 20260729 };

	for (size_t round = 0; round < ROUNDS; round++) {
		char bytes[STRING_LEN_MAX], again[TEXT_MAX];
		size_t len = seeded_below(&random, sizeof(bytes) + 1);
		_cleanup_buf_ struct buf b = BUF_INIT(TEXT_MAX);

		/* Half of the rounds only control characters, quotes and backslashes; never NUL, which is replaced. */
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char) (1 + seeded_below(&random, round % 2 ? 255 : 0x22));
		for (size_t i = 0; i < len; i++)
			if (seeded_below(&random, 8) == 0)
				bytes[i] = '\\';
		jsonw_string(&b, bytes, len);
		size_t n = read_back(b.p, b.len, again);
		ck_assert_msg(n == len && memcmp(again, bytes, len) == 0, "round %zu: '%s'", round, b.p);
	}
}
END_TEST

UNIT_MAIN("runtime/base/jsonw", test_strings, test_members, test_limit, test_any_bytes_come_back)
