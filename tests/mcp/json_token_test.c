/*
 * Numbers and escapes: what is one, where it ends, and what is wrong with the others.
 */
#include "mcp/json_token.h"

#include <string.h>

#include "runtime/base/attr.h"
#include "tests/harness/unit.h"

START_TEST(test_numbers)
{
	static const struct {
		const char *text;
		enum json_number kind;
		size_t end;
	} rows[] = {
		{ "0", JSON_NUMBER, 1 },
		{ "-0.50e+01,", JSON_NUMBER, 9 },
		{ "12345678901234567890]", JSON_NUMBER, 20 },
		{ "1E5x", JSON_NUMBER, 3 },
		{ "1e-5-", JSON_NUMBER, 4 },
		{ "01", JSON_NUMBER_ZERO, 1 },
		{ "-00", JSON_NUMBER_ZERO, 2 },
		{ "", JSON_NUMBER_NO_DIGITS, 0 },
		{ "-", JSON_NUMBER_NO_DIGITS, 1 },
		{ "-x", JSON_NUMBER_NO_DIGITS, 1 },
		{ "+1", JSON_NUMBER_NO_DIGITS, 0 },
		{ ".5", JSON_NUMBER_NO_DIGITS, 0 },
		{ "1.", JSON_NUMBER_NO_FRACTION, 2 },
		{ "1.e5", JSON_NUMBER_NO_FRACTION, 2 },
		{ "1e", JSON_NUMBER_NO_EXPONENT, 2 },
		{ "1.5E+", JSON_NUMBER_NO_EXPONENT, 5 },
		{ "1e+-5", JSON_NUMBER_NO_EXPONENT, 3 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *end = NULL;
		enum json_number kind = json_number(rows[i].text, rows[i].text + strlen(rows[i].text), &end);
		ck_assert_msg(kind == rows[i].kind, "'%s' is %d", rows[i].text, (int) kind);
		ck_assert_msg(end == rows[i].text + rows[i].end, "'%s' ends at %td", rows[i].text, end - rows[i].text);
	}
}
END_TEST

START_TEST(test_escapes)
{
	static const struct {
		const char *text;
		enum json_escape kind;
		size_t len;
		uint32_t character;
	} rows[] = {
		{ "\\n", JSON_ESCAPE, 2, '\n' },
		{ "\\\\u", JSON_ESCAPE, 2, '\\' },
		{ "\\/", JSON_ESCAPE, 2, '/' },
		{ "\\u00e9", JSON_ESCAPE, 6, 0xe9 },
		{ "\\uFFFFx", JSON_ESCAPE, 6, 0xffff },
		{ "\\u0000", JSON_ESCAPE, 6, 0 },
		{ "\\ud83d\\ude00", JSON_ESCAPE, 12, 0x1f600 },
		{ "\\uD800\\uDC00", JSON_ESCAPE, 12, 0x10000 },
		{ "\\udbff\\udfff", JSON_ESCAPE, 12, 0x10ffff },
		{ "\\ud83d", JSON_ESCAPE_LONE, 6, 0xd83d },
		{ "\\ud83d\\u0041", JSON_ESCAPE_LONE, 6, 0xd83d },
		{ "\\ud83d\\ude0", JSON_ESCAPE_LONE, 6, 0xd83d },
		{ "\\ude00\\ud83d", JSON_ESCAPE_LONE, 6, 0xde00 },
		{ "\\", JSON_ESCAPE_CUT, 0, 0 },
		{ "\\x41", JSON_ESCAPE_UNKNOWN, 0, 0 },
		{ "\\U0041", JSON_ESCAPE_UNKNOWN, 0, 0 },
		{ "\\u", JSON_ESCAPE_NO_HEX, 0, 0 },
		{ "\\u12g4", JSON_ESCAPE_NO_HEX, 0, 0 },
		{ "\\u123", JSON_ESCAPE_NO_HEX, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = 0;
		uint32_t character = 0;
		enum json_escape kind = json_escape(rows[i].text, rows[i].text + strlen(rows[i].text), &len, &character);
		ck_assert_msg(kind == rows[i].kind, "'%s' is %d", rows[i].text, (int) kind);
		ck_assert_msg(len == rows[i].len && character == rows[i].character, "'%s' is %zu long", rows[i].text, len);
	}
	/* A NUL byte behind the backslash is no letter. */
	static const char nul[] = { '\\', '\0' };
	size_t len;
	uint32_t character;
	ck_assert_int_eq(json_escape(nul, nul + sizeof(nul), &len, &character), JSON_ESCAPE_UNKNOWN);
}
END_TEST

UNIT_MAIN("mcp/json_token", test_numbers, test_escapes)
