/*
 * Members set in JSON with comments: what is added, in the file's own layout; that nothing else changes; and what is refused.
 */
#include "runtime/compile/jsonc.h"

#include "runtime/compile/edits.h"
#include "tests/runtime/compile/edit_cases.h"

enum { ROUNDS = 20000 };

static const struct edit_case cases[] = {
	/* nothing there */
	{ "", "m/c/a=1", "{\n  \"m\": {\n    \"c\": {\n      \"a\": 1\n    }\n  }\n}\n", NULL },
	{ " \n", "a=1", " \n{\n  \"a\": 1\n}\n", NULL },
	{ "// mine", "a=1", "// mine\n{\n  \"a\": 1\n}\n", NULL },
	{ "{}", "a=1\nb=[\"x\", \"y\"]", "{\n  \"a\": 1,\n  \"b\": [\"x\", \"y\"]\n}", NULL },
	{ "{ }\n", "m/a=1", "{\n  \"m\": {\n    \"a\": 1\n  }\n}\n", NULL },
	{ "\xef\xbb\xbf{}", "a=1", "\xef\xbb\xbf{\n  \"a\": 1\n}", NULL },
	/* beside others, in their layout */
	{ "{\n  \"x\": 1\n}\n", "a=1", "{\n  \"x\": 1,\n  \"a\": 1\n}\n", NULL },
	{ "{\n\t\"x\": 1\n}\n", "m/a=1", "{\n\t\"x\": 1,\n\t\"m\": {\n\t\t\"a\": 1\n\t}\n}\n", NULL },
	{ "{\n    \"m\": {\n        \"x\": {}\n    }\n}\n", "m/c/a=1\nm/c/b=2",
	  "{\n    \"m\": {\n        \"x\": {},\n        \"c\": {\n            \"a\": 1,\n            \"b\": 2\n        }\n    }\n}\n", NULL },
	{ "{\r\n  \"x\": 1\r\n}\r\n", "a=1", "{\r\n  \"x\": 1,\r\n  \"a\": 1\r\n}\r\n", NULL },
	{ "{\"x\":1}", "m/a=1\nm/b=2", "{\"x\":1, \"m\": {\"a\": 1, \"b\": 2}}", NULL },
	{ "{\"m\":{}}", "m/a=1", "{\"m\":{\"a\": 1}}", NULL },
	{ "{\n  \"m\": {}\n}", "m/a=1", "{\n  \"m\": {\n    \"a\": 1\n  }\n}", NULL },
	{ "{\n  \"m\": {},\n}", "m/a=1\nb=2", "{\n  \"m\": {\n    \"a\": 1\n  },\n  \"b\": 2\n}", NULL },
	/* comments stay where they are */
	{ "{\n  \"x\": 1 // one\n  // two, \"a\": 5\n}\n", "a=1", "{\n  \"x\": 1, // one\n  // two, \"a\": 5\n  \"a\": 1\n}\n", NULL },
	{ "{\n  \"x\": 1, // one  \n}\n", "a=1", "{\n  \"x\": 1, // one  \n  \"a\": 1\n}\n", NULL },
	{ "{ /* in */ \"x\": 1 /* on */ }", "a=1", "{ /* in */ \"x\": 1, /* on */ \"a\": 1 }", NULL },
	{ "{\n  /* none */\n}\n", "a=1", "{\n  /* none */\n  \"a\": 1\n}\n", NULL },
	{ "{\n  \"x\": 1   \n}\n", "a=1", "{\n  \"x\": 1,   \n  \"a\": 1\n}\n", NULL },
	{ "/**/{\n\"x\":[1,[2,{\"a\":3,}],],\n}//", "a=1", "/**/{\n\"x\":[1,[2,{\"a\":3,}],],\n\"a\": 1\n}//", NULL },
	/* already there */
	{ "{\"a\":1}", "a=1", "{\"a\":1}", NULL },
	{ "{\"a\":\n  [\n\"x\" , \"y z\"\n] }", "a=[\"x\", \"y z\"]", "{\"a\":\n  [\n\"x\" , \"y z\"\n] }", NULL },
	{ "{\"a\":[\"x\",\"yz\"]}", "a=[\"x\", \"y z\"]", "{\"a\":[\"x\", \"y z\"]}", NULL },
	{ "{\"a\":\"\\\" \"}", "a=\"\\\" \"", "{\"a\":\"\\\" \"}", NULL },
	{ "{ \"a\" : 0.5e+3 , \"b\":{\"a\":null} }", "a=\"0\"", "{ \"a\" : \"0\" , \"b\":{\"a\":null} }", NULL },
	{ "{\n \"m\":{\"c\":{\"a\":1,\"z\":[true,false,null,-0.1E-2]}}}", "m/c/a=2",
	  "{\n \"m\":{\"c\":{\"a\":2,\"z\":[true,false,null,-0.1E-2]}}}", NULL },
	{ "{\"\\u0061\":1,\"ab\":2,\"\":3,\"\\u00e4\":4}", "a=5", "{\"\\u0061\":5,\"ab\":2,\"\":3,\"\\u00e4\":4}", NULL },
	/* refused */
	{ "[]", "a=1", NULL, "line 1: the file holds no JSON object" },
	{ "\n\"x\"", "a=1", NULL, "line 2: the file holds no JSON object" },
	{ "{\n\"a\":1,\n\"a\":2}", "a=1", NULL, "line 3: 'a' is there twice" },
	{ "{\n\"m\":\n[]}", "m/a=1", NULL, "line 3: 'm' is not an object, so that 'a' cannot be set" },
	{ "{\"a\":1", "a=1", NULL, "line 1: a bracket opens that is never closed" },
	{ "{\"a\":1}\n}", "a=1", NULL, "line 2: something stands behind" },
	{ "{\"a\":1 \"b\":2}", "a=1", NULL, "a comma or the closing bracket" },
	{ "{\"a\" 1}", "a=1", NULL, "a colon is missing" },
	{ "{a:1}", "a=1", NULL, "a name in double quotes" },
	{ "{\"a\":'1'}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":01}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":1.}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":1e}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":tru}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":nulls}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":}", "a=1", NULL, "a value is missing" },
	{ "{,}", "a=1", NULL, "a name in double quotes" },
	{ "{\"a\":[,]}", "a=1", NULL, "a value is missing" },
	{ "{\"a\":\"x\n\"}", "a=1", NULL, "line 1: a string begins" },
	{ "{\"a\":\"\\x\"}", "a=1", NULL, "a string begins" },
	{ "{\"a\":\"\\u12g4\"}", "a=1", NULL, "a string begins" },
	{ "{\"a\":\"", "a=1", NULL, "a string begins" },
	{ "{\"a\":1 /* }", "a=1", NULL, "a comment begins" },
	{ "{\"a\":1}\n\xff", "a=1", NULL, "line 2 is not UTF-8" },
};

START_TEST(test_cases)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		edit_check(jsonc_edit, &cases[i], i);
}
END_TEST

START_TEST(test_depth_is_bounded)
{
	char text[4 * EDIT_NEST_MAX + 16];
	_cleanup_buf_ struct buf out = BUF_INIT(EDIT_TEXT_MAX);
	struct err err;

	for (int deep = EDIT_NEST_MAX - 1; deep <= EDIT_NEST_MAX + 1; deep++) {
		int len = snprintf(text, sizeof(text), "{\"x\":");
		memset(text + len, '[', (size_t) deep);
		memset(text + len + deep, ']', (size_t) deep);
		(void) snprintf(text + len + 2 * deep, 2, "}");
		int r = edit_run(jsonc_edit, "a=1", text, strlen(text), &out, &err);
		ck_assert_msg((r == 0) == (deep < EDIT_NEST_MAX), "%d deep: %d %s", deep, r, err.text);
	}
	memset(text, '{', sizeof(text));
	ck_assert_int_lt(edit_run(jsonc_edit, "a=1", text, sizeof(text), &out, &err), 0);
}
END_TEST

START_TEST(test_nul_bytes_and_bad_input_are_refused)
{
	static const char *const inputs[] = { "", "a", "a\0\0", "a\0b\0\0", "a\0b\0c\0d\0e\0f\0g\0\0x\0" };
	static const size_t lengths[] = { 0, 1, 3, 5, 18 };
	_cleanup_buf_ struct buf out = BUF_INIT(EDIT_TEXT_MAX);
	struct err err;

	ck_assert_int_lt(edit_run(jsonc_edit, "a=1", "{\"x\":\n\0}", 8, &out, &err), 0);
	ck_assert_msg(strstr(err.text, "line 2 holds a NUL") != NULL, "%s", err.text);
	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		ck_assert_int_eq(jsonc_edit(inputs[i], lengths[i], &out, &err), -EPROTO);
}
END_TEST

START_TEST(test_damaged_files)
{
	edit_damage(jsonc_edit, "m/c/command=\"x\"\nm/c/args=[\"a\", \"b\"]\nm/c/env/E=\"1\"",
		    "// one\n{\n  \"m\": { /* two */\n    \"d\": {\"args\": [\"\\u00e4\\n\", 1.5e3, null], },\n"
		    "    \"c\": {\n      \"command\": \"y\", // three\n"
		    "    },\n  },\n  \"z\": [{}, [], -0]\n}\n",
		    "{}[]\",:/*\n \\u0e1-acm", ROUNDS);
}
END_TEST

UNIT_MAIN("runtime/compile/jsonc", test_cases, test_depth_is_bounded, test_nul_bytes_and_bad_input_are_refused, test_damaged_files)
