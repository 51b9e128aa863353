/*
 * The pre-scan: what it accepts, what it repairs, and what it keeps for later.
 */
#include "mcp/scan.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/unit.h"

static enum scan_result scan_text(struct scan *s, const char *text)
{
	return scan_message(s, text, strlen(text));
}

static const struct {
	const char *text;
	enum scan_result result;
} grammar[] = {
	{ "{}", SCAN_OK },
	{ "{\"a\":[1,-2.5e+3,true,false,null,\"\",{}]}", SCAN_OK },
	{ " [ ] ", SCAN_OK },
	{ "42", SCAN_OK },
	{ "\"x\"", SCAN_OK },
	{ "", SCAN_SYNTAX },
	{ "{", SCAN_SYNTAX },
	{ "{\"a\"}", SCAN_SYNTAX },
	{ "{\"a\":}", SCAN_SYNTAX },
	{ "{\"a\":1,}", SCAN_SYNTAX },
	{ "{a:1}", SCAN_SYNTAX },
	{ "{'a':1}", SCAN_SYNTAX },
	{ "[1,]", SCAN_SYNTAX },
	{ "[1 2]", SCAN_SYNTAX },
	{ "[1", SCAN_SYNTAX },
	{ "01", SCAN_SYNTAX },
	{ "-", SCAN_SYNTAX },
	{ "1.", SCAN_SYNTAX },
	{ ".5", SCAN_SYNTAX },
	{ "1e", SCAN_SYNTAX },
	{ "+1", SCAN_SYNTAX },
	{ "NaN", SCAN_SYNTAX },
	{ "tru", SCAN_SYNTAX },
	{ "truex", SCAN_SYNTAX },
	{ "\"", SCAN_SYNTAX },
	{ "\"\\", SCAN_SYNTAX },
	{ "\"\\x\"", SCAN_SYNTAX },
	{ "\"\\u12g4\"", SCAN_SYNTAX },
	{ "\"\\u12", SCAN_SYNTAX },
	{ "{}{}", SCAN_SYNTAX },
	{ "{} x", SCAN_SYNTAX },
	{ "// c\n{}", SCAN_SYNTAX },
};

START_TEST(test_grammar)
{
	for (size_t i = 0; i < ARRAY_LEN(grammar); i++) {
		struct scan s;
		enum scan_result r = scan_text(&s, grammar[i].text);
		ck_assert_msg(r == grammar[i].result, "'%s' gave %d", grammar[i].text, (int) r);
		if (r == SCAN_OK) {
			cJSON *tree = cJSON_ParseWithLength(s.text.p, s.text.len);
			ck_assert_msg(tree != NULL, "'%s' became '%s', which cJSON refuses", grammar[i].text, s.text.p);
			cJSON_Delete(tree);
		} else {
			ck_assert(s.problem[0] != '\0');
		}
		scan_done(&s);
	}
}
END_TEST

/* Every prefix of a good message is a bad one, and none crashes. */
START_TEST(test_prefixes)
{
	static const char text[] =
		"{\"id\":\"\\ud83d\\ude00\",\"params\":{\"_meta\":{\"progressToken\":12},\"x\":[-1.5e3,true,null]}}";

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct scan s;
		char *copy = malloc(n + 1); /* exact size, so that a sanitizer sees one byte too far */
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, text, n);
		ck_assert_int_eq(scan_message(&s, copy, n), SCAN_SYNTAX);
		scan_done(&s);
		free(copy);
	}
}
END_TEST

static const struct {
	const char *text;
	size_t len;
	const char *expected;
	bool nul;
} repairs[] = {
#define ROW(in, out, nul) { in, sizeof(in) - 1, out, nul }
	ROW("\"abc\"", "\"abc\"", false),
	ROW("\"\\ud800\"", "\"\\ufffd\"", false),
	ROW("\"\\udc00x\"", "\"\\ufffdx\"", false),
	ROW("\"\\ud800\\ud800\\udc00\"", "\"\\ufffd\\ud800\\udc00\"", false),
	ROW("\"\\uD83D\\uDE00\"", "\"\\uD83D\\uDE00\"", false),
	ROW("\"\\u0000\"", "\"\\ufffd\"", true),
	ROW("\"a\0b\"", "\"a\\ufffdb\"", true),
	ROW("\"\x01\t\"", "\"\\u0001\\u0009\"", false),
	ROW("\"\xff\"", "\"\xef\xbf\xbd\"", false),
	ROW("\"\xc3\xa4\"", "\"\xc3\xa4\"", false),
	ROW("\"\xc3\"", "\"\xef\xbf\xbd\"", false),
	ROW("\"\xed\xa0\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false),
	ROW("\"\xf4\x90\x80\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", false),
	ROW("{\"\\u0000\":1}", "{\"\\ufffd\":1}", true),
#undef ROW
};

START_TEST(test_repairs)
{
	for (size_t i = 0; i < ARRAY_LEN(repairs); i++) {
		struct scan s;
		ck_assert_int_eq(scan_message(&s, repairs[i].text, repairs[i].len), SCAN_OK);
		ck_assert_msg(strcmp(s.text.p, repairs[i].expected) == 0, "row %zu became '%s'", i, s.text.p);
		ck_assert_int_eq(s.has_nul, repairs[i].nul);
		scan_done(&s);
	}
}
END_TEST

static const struct {
	const char *text;
	enum scan_type type;
	const char *raw;
} ids[] = {
	{ "{\"id\":1}", SCAN_NUMBER, "1" },
	{ "{\"id\":9007199254740993}", SCAN_NUMBER, "9007199254740993" },
	{ "{\"id\":1e3}", SCAN_NUMBER, "1e3" },
	{ "{\"id\":-1.0}", SCAN_NUMBER, "-1.0" },
	{ "{\"id\":123456789012345678901234567890123456789012345678901234567890123456789}", SCAN_NUMBER,
	  "123456789012345678901234567890123456789012345678901234567890123456789" },
	{ "{\"id\":\"\"}", SCAN_STRING, "\"\"" },
	{ "{\"id\":\"a\\u00e4\\ud800\\\"\"}", SCAN_STRING, "\"a\\u00e4\\ud800\\\"\"" },
	{ "{\"\\u0069d\":7}", SCAN_NUMBER, "7" },
	{ "{\"id\":null}", SCAN_NULL, "" },
	{ "{\"id\":true}", SCAN_OTHER, "" },
	{ "{\"id\":[1]}", SCAN_OTHER, "" },
	{ "{\"id\":{\"id\":3}}", SCAN_OTHER, "" },
	{ "{\"params\":{\"id\":3}}", SCAN_ABSENT, "" },
	{ "{\"ID\":3}", SCAN_ABSENT, "" },
	{ "[{\"id\":3}]", SCAN_ABSENT, "" },
};

START_TEST(test_raw_ids)
{
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct scan s;
		ck_assert_int_eq(scan_text(&s, ids[i].text), SCAN_OK);
		ck_assert_msg(s.id.type == ids[i].type, "'%s': type %d", ids[i].text, (int) s.id.type);
		ck_assert_str_eq(buf_cstr(&s.id.text), ids[i].raw);
		cJSON *tree = cJSON_ParseWithLength(s.text.p, s.text.len);
		ck_assert_ptr_nonnull(tree);
		cJSON_Delete(tree);
		scan_done(&s);
	}
}
END_TEST

START_TEST(test_other_raw_values)
{
	struct scan s;

	ck_assert_int_eq(
		scan_text(&s, "{\"params\":{\"requestId\":\"r\",\"_meta\":{\"progressToken\":18446744073709551616}}}"),
		SCAN_OK);
	ck_assert_str_eq(s.target.text.p, "\"r\"");
	ck_assert_str_eq(s.token.text.p, "18446744073709551616");
	scan_done(&s);
}
END_TEST

START_TEST(test_id_too_long)
{
	for (int over = 0; over < 2; over++) {
		_cleanup_buf_ struct buf text = BUF_INIT(SCAN_RAW_MAX + 64);
		struct scan s;
		buf_add_str(&text, "{\"id\":\"");
		for (int i = 0; i < SCAN_RAW_MAX - 2 + over; i++)
			buf_add_char(&text, 'x');
		buf_add_str(&text, "\"}");
		ck_assert_int_eq(scan_message(&s, text.p, text.len), SCAN_OK);
		ck_assert_int_eq(s.id.type, over ? SCAN_TOO_LONG : SCAN_STRING);
		scan_done(&s);
	}
}
END_TEST

static const struct {
	const char *text;
	bool duplicate, duplicate_id;
} duplicates[] = {
	{ "{\"params\":{\"\\u00e9\":1,\"\xc3\xa9\":2}}", true, false },
	{ "{\"params\":{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}}", true, false },
	{ "{\"a\":1,\"b\":2}", false, false },
	{ "{\"a\":1,\"a\":2}", true, false },
	{ "{\"id\":1,\"id\":2}", true, true },
	{ "{\"id\":1,\"\\u0069\\u0064\":2}", true, true },
	{ "{\"params\":{\"name\":1,\"name\":2}}", true, false },
	{ "{\"params\":{\"_meta\":{\"x\":1,\"x\":2}}}", true, false },
	{ "{\"params\":{\"arguments\":{\"x\":1,\"x\":2}}}", false, false },
	{ "{\"params\":{\"x\":{\"_meta\":{\"y\":1,\"y\":2}}}}", false, false },
};

START_TEST(test_duplicates)
{
	for (size_t i = 0; i < ARRAY_LEN(duplicates); i++) {
		struct scan s;
		ck_assert_int_eq(scan_text(&s, duplicates[i].text), SCAN_OK);
		ck_assert_msg(s.duplicate == duplicates[i].duplicate, "'%s'", duplicates[i].text);
		ck_assert_int_eq(s.duplicate_id, duplicates[i].duplicate_id);
		scan_done(&s);
	}
}
END_TEST

START_TEST(test_nul_names_its_argument)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "{\"params\":{\"arguments\":{\"a\":\"x\",\"content\":\"\\u0000\"}}}", "content" },
		{ "{\"params\":{\"arguments\":{\"edits\":[{\"old\":\"\\u0000\"}],\"b\":1}}}", "edits" },
		{ "{\"params\":{\"arguments\":{\"a\":1},\"other\":\"\\u0000\"}}", "" },
		{ "{\"x\":\"\\u0000\",\"params\":{\"arguments\":{\"a\":\"\\u0000\"}}}", "a" },
		{ "{\"id\":\"\\u0000\"}", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct scan s;
		ck_assert_int_eq(scan_text(&s, rows[i].text), SCAN_OK);
		ck_assert_str_eq(s.nul_name, rows[i].name);
		scan_done(&s);
	}
}
END_TEST

/* @count times @open, then @middle, then @count times @close. */
static enum scan_result scan_nested(int count, const char *open, const char *middle, const char *close)
{
	_cleanup_buf_ struct buf text = BUF_INIT(10 * 1024 * 1024);
	struct scan s;

	for (int i = 0; i < count; i++)
		buf_add_str(&text, open);
	buf_add_str(&text, middle);
	for (int i = 0; i < count; i++)
		buf_add_str(&text, close);
	enum scan_result r = scan_message(&s, text.p, text.len);
	scan_done(&s);
	return r;
}

START_TEST(test_limits)
{
	ck_assert_int_eq(scan_nested(SCAN_DEPTH_MAX, "[", "", "]"), SCAN_OK);
	ck_assert_int_eq(scan_nested(SCAN_DEPTH_MAX + 1, "[", "", "]"), SCAN_SYNTAX);
	ck_assert_int_eq(scan_nested(1000000, "[", "", ""), SCAN_SYNTAX);
	ck_assert_int_eq(scan_nested(SCAN_DEPTH_MAX + 1, "{\"a\":", "1", "}"), SCAN_SYNTAX);
	/* A flat array: itself, its first value and one more for each repetition. */
	ck_assert_int_eq(scan_nested(SCAN_VALUES_MAX - 2, "", "[0", ",0"), SCAN_SYNTAX);
	_cleanup_buf_ struct buf text = BUF_INIT(10 * 1024 * 1024);
	buf_add_str(&text, "[0");
	for (int i = 0; i < SCAN_VALUES_MAX; i++)
		buf_add_str(&text, ",0");
	buf_add_str(&text, "]");
	struct scan s;
	ck_assert_int_eq(scan_message(&s, text.p, text.len), SCAN_SIZE);
	scan_done(&s);
}
END_TEST

START_TEST(test_too_many_members)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1024 * 1024);
	struct scan s;

	buf_add_str(&text, "{\"x\":1");
	for (int i = 0; i < SCAN_MEMBERS_MAX; i++)
		buf_addf(&text, ",\"m%d\":1", i);
	buf_add_str(&text, "}");
	ck_assert_int_eq(scan_message(&s, text.p, text.len), SCAN_SIZE);
	scan_done(&s);
	ck_assert_int_eq(scan_value(&s, text.p, text.len),
			 SCAN_OK); /* where no member is special, their number is not either */
	scan_done(&s);
}
END_TEST

START_TEST(test_split)
{
	static const char text[] = " [ {\"a\":[1,2]} ,\"\xff\", 3,[] ] ";
	struct scan_slice slices[3];
	struct scan s;
	size_t count;

	ck_assert_int_eq(scan_split(&s, text, sizeof(text) - 1, slices, ARRAY_LEN(slices), &count), SCAN_OK);
	ck_assert_uint_eq(count, 4);
	ck_assert_uint_eq(slices[0].len, strlen("{\"a\":[1,2]}"));
	ck_assert_int_eq(memcmp(slices[1].p, "\"\xff\"", 3), 0);
	ck_assert_uint_eq(slices[2].len, 1);
	scan_done(&s);
	ck_assert_int_eq(scan_split(&s, "[]", 2, slices, 3, &count), SCAN_OK);
	ck_assert_uint_eq(count, 0);
	scan_done(&s);
	ck_assert_int_eq(scan_split(&s, "[1,]", 4, slices, 3, &count), SCAN_SYNTAX);
	scan_done(&s);
	ck_assert_int_eq(scan_split(&s, "[1] 2", 5, slices, 3, &count), SCAN_SYNTAX);
	scan_done(&s);
}
END_TEST

START_TEST(test_trim)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "", "" },
		{ " \t\r ", "" },
		{ "{}\r", "{}" },
		{ "\xef\xbb\xbf {}", "{}" },
		{ "\xef\xbb\xbf", "" },
		{ "a b", "a b" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *p = rows[i].text;
		size_t len = strlen(p);
		scan_trim(&p, &len);
		ck_assert_uint_eq(len, strlen(rows[i].expected));
		ck_assert_int_eq(memcmp(p, rows[i].expected, len), 0);
	}
}
END_TEST

UNIT_MAIN("mcp/scan", test_grammar, test_prefixes, test_repairs, test_raw_ids, test_other_raw_values, test_id_too_long,
	  test_duplicates, test_nul_names_its_argument, test_limits, test_too_many_members, test_split, test_trim)
