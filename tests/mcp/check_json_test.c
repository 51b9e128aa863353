/*
 * The strict JSON checker: what it accepts, what it refuses and where, what it warns about.
 */
#include "mcp/check_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/harness/unit.h"

START_TEST(test_accepted)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		" [ ] ",
		"null",
		"true",
		"false",
		"0",
		"-0",
		"1",
		"-1.5e+10",
		"1E5",
		"0.5",
		"0e0",
		"\"\"",
		"\"a\\n\\u00e9\\\"\\\\\\/\"",
		"{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
		"[[[[[[]]]]]]",
		"\t\r\n 1 \n",
		"\"\\uD83D\\uDE00\"",
		"\"\xC3\xA9 \xE2\x80\xA8\"",
		"\xEF\xBB\xBF{}",
		"123456789012345678901234567890",
		"1e400",
		"[1,\"a\",true,null,{}]",
		"\"\x7F\"",
		"{\"\":0}",
		"\"\\u0000\"",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;

		check_json(rows[i], strlen(rows[i]), &r);
		ck_assert_msg(r.verdict == CHECK_OK, "%s: %s", rows[i], r.text);
		ck_assert_msg(r.warning[0] == '\0', "%s: %s", rows[i], r.warning);
	}
}
END_TEST

START_TEST(test_refused)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "{", "line 1: expected a name in double quotes, but the text ends (column 2)" },
		{ "{\"a\": 1", "expected ',' or '}', but the text ends (column 8)" },
		{ "{\"a\": 1,\n \"b\" 2}", "line 2: expected ':' behind the name, but found '2' (column 6)" },
		{ "[1,]", "no comma before ']' (column 3)" },
		{ "{\"a\":1,}", "no comma before '}'" },
		{ "[1 2]", "expected ',' or ']', but found '2'" },
		{ "[,1]", "expected a value, but found ','" },
		{ "{a:1}", "a name in double quotes, but found 'a'" },
		{ "{'a':1}", "double quotes" },
		{ "// c\n{}", "no comments" },
		{ "{} # c", "no comments" },
		{ "[1]x", "expected the end of the text, but found 'x'" },
		{ "{}}", "expected the end of the text" },
		{ "[1}", "expected ',' or ']', but found '}'" },
		{ "]", "expected a value" },
		{ "01", "may not begin with 0" },
		{ "-01", "may not begin with 0" },
		{ "1.", "a digit behind the decimal point" },
		{ ".5", "expected a value, but found '.'" },
		{ "-", "a digit behind the minus sign" },
		{ "1e", "a digit behind the exponent" },
		{ "1e+", "a digit behind the exponent" },
		{ "+1", "expected a value, but found '+'" },
		{ "0x10", "expected the end of the text" },
		{ "tru", "expected a value" },
		{ "nul", "expected a value" },
		{ "True", "expected a value" },
		{ "\"abc", "no closing quote (column 1)" },
		{ "\"a\nb\"", "the line ends within a string" },
		{ "\"a\tb\"", "control character" },
		{ "\"\\x\"", "no such escape" },
		{ "\"\\", "within an escape" },
		{ "\"\\u12\"", "hexadecimal" },
		{ "\"\\uD800\"", "surrogate" },
		{ "\"\\uDC00\"", "surrogate" },
		{ "\"\\uD800\\u0041\"", "surrogate" },
		{ "\"\xFF\"", "line 1: this byte is not UTF-8 (column 2)" },
		{ "[\"\xC3\xA9\",}", "found '}' (column 6)" },
		{ "[1,\f2]", "expected a value" },
		{ "\xEF\xBB\xBF\xEF\xBB\xBF{}", "expected a value" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;

		check_json(rows[i].text, strlen(rows[i].text), &r);
		ck_assert_msg(r.verdict == CHECK_BAD, "%s was accepted", rows[i].text);
		ck_assert_msg(strstr(r.text, rows[i].want) != NULL, "%s: %s", rows[i].text, r.text);
		ck_assert_msg(strncmp(r.text, "JSON parse error at line ", 25) == 0, "%s", r.text);
	}
	struct check_result r;
	check_json("[1,\0002]", 6, &r);
	ck_assert_int_eq(r.verdict, CHECK_BAD);
}
END_TEST

START_TEST(test_warnings)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "{\"a\":1,\n\"b\":2,\n\"a\":3}", "the name \"a\" is repeated in its object (line 3)" },
		{ "{\"x\":{\"a\":1,\"a\":2}}", "repeated" },
		{ "[NaN]", "NaN and Infinity (line 1)" },
		{ "[Infinity,\n-Infinity]", "NaN and Infinity (line 1)" },
		{ "", "empty" },
		{ " \n", "empty" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;

		check_json(rows[i].text, strlen(rows[i].text), &r);
		ck_assert_int_eq(r.verdict, CHECK_OK);
		ck_assert_msg(strstr(r.warning, rows[i].want) != NULL, "%s: %s", rows[i].text, r.warning);
	}
	/* The same name in different objects is none. */
	struct check_result r;
	static const char nested[] = "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":2}],\"c\":{\"b\":1}}";
	check_json(nested, strlen(nested), &r);
	ck_assert_str_eq(r.warning, "");
}
END_TEST

START_TEST(test_lines)
{
	static const struct {
		const char *text, *want;
		enum check_verdict verdict;
	} rows[] = {
		{ "{\"a\":1}\n{\"a\":2}\n", "", CHECK_OK },
		{ "{\"a\":1}\n\n  \n[2]", "", CHECK_OK },
		{ "", "", CHECK_OK },
		{ "{\"a\":1}\r\n{\"a\":2}\r\n", "", CHECK_OK },
		{ "\"\xE2\x80\xA8\xC2\x85\"\n1\n", "", CHECK_OK },
		{ "{\"a\":1}\n{\"a\":\n", "JSONL parse error at line 2: expected a value, but the text ends (column 6)",
		  CHECK_BAD },
		{ "{}\n\n{} {}\n", "JSONL parse error at line 3:", CHECK_BAD },
		{ "{\n}\n", "JSONL parse error at line 1:", CHECK_BAD },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;

		check_jsonl(rows[i].text, strlen(rows[i].text), &r);
		ck_assert_msg(r.verdict == rows[i].verdict, "row %zu: %s", i, r.text);
		ck_assert_msg(strstr(r.text, rows[i].want) != NULL, "row %zu: %s", i, r.text);
		ck_assert_str_eq(r.warning, "");
	}
}
END_TEST

static void repeat(struct buf *b, const char *s, int times)
{
	while (times-- > 0)
		buf_add_str(b, s);
}

START_TEST(test_depth)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 24);
	struct check_result r;

	repeat(&b, "[", JSON_DEPTH_MAX);
	repeat(&b, "]", JSON_DEPTH_MAX);
	check_json(b.p, b.len, &r);
	ck_assert_int_eq(r.verdict, CHECK_OK);
	buf_clear(&b);
	repeat(&b, "[{\"a\":", 100000);
	check_json(b.p, b.len, &r);
	ck_assert_int_eq(r.verdict, CHECK_UNKNOWN);
	ck_assert_ptr_nonnull(strstr(r.text, "1000 levels"));
}
END_TEST

/* Half a million different names, then one again: found, and not in quadratic time. */
START_TEST(test_many_names)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 24);
	struct check_result r;
	time_t start = time(NULL);

	buf_add_char(&b, '{');
	for (int i = 0; i < 500000; i++)
		buf_addf(&b, "\"n%d\":0,", i);
	buf_add_str(&b, "\"n77\":0}");
	check_json(b.p, b.len, &r);
	ck_assert_int_eq(r.verdict, CHECK_OK);
	ck_assert_ptr_nonnull(strstr(r.warning, "\"n77\""));
	ck_assert_int_lt(time(NULL) - start, 10);
}
END_TEST

/* A text that was accepted and then loses or changes one byte is read to an end without harm. */
START_TEST(test_random_damage)
{
	static const char good[] = "{\"a\":[1,-2.5e3,true,null,\"\\u00e9\\n\xC3\xA9\"],\"b\":{\"c\":{},\"d\":[[]]}}";
	unsigned int seed = 3;
	int refused = 0;

	for (int round = 0; round < 50000; round++) {
		char text[sizeof(good)];
		size_t len = sizeof(good) - 1;
		struct check_result r;

		memcpy(text, good, sizeof(good));
		for (int k = 1 + rand_r(&seed) % 2; k > 0; k--)
			text[(size_t) rand_r(&seed) % len] = "{}[]:,\"\\ue0 \n\xC3" [(size_t) rand_r(&seed) % 15];
		len -= (size_t) rand_r(&seed) % 3;
		char *exact = malloc(len); /* so that the sanitizer sees a step too far */
		ck_assert_ptr_nonnull(exact);
		memcpy(exact, text, len);
		check_json(exact, len, &r);
		check_jsonl(exact, len, &r);
		refused += r.verdict == CHECK_BAD;
		free(exact);
	}
	ck_assert_int_gt(refused, 25000);
}
END_TEST

UNIT_MAIN("mcp/check_json", test_accepted, test_refused, test_warnings, test_lines, test_depth, test_many_names,
	  test_random_damage)
