/*
 * Profiles as options: what each kind of member becomes, and everything that a wrong or hostile file may hold, with the place that
 * the message names.
 */
#include "runtime/compile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/str.h"
#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum { TEXT_SIZE = 256 * 1024, ROUNDS = 20000 };

static struct err err;
static char result[PROFILE_OUTPUT_MAX + 1];

/* Compiles @text; the result with '|' for each NUL, or NULL. */
static const char *compile_bytes(const char *text, size_t len)
{
	_cleanup_buf_ struct buf out = BUF_INIT(PROFILE_OUTPUT_MAX);

	memset(&err, 0, sizeof(err));
	if (profile_compile(text, len, &out, &err) < 0) {
		ck_assert_msg(err.code != ERR_NONE && strlen(err.text) > 5, "no message for %.60s", text);
		return NULL;
	}
	ck_assert_uint_gt(out.len, 0);
	ck_assert_int_eq(out.p[out.len - 1], '\0');
	for (size_t i = 0; i < out.len; i++)
		result[i] = out.p[i] ? out.p[i] : '|';
	result[out.len] = '\0';
	return result;
}

static const char *compile(const char *text)
{
	return compile_bytes(text, strlen(text));
}

START_TEST(test_members)
{
	static const char *const cases[][2] = {
		{ "{}", "|" },
		{ " \n{ }\t", "|" },
		{ "{\"description\":\"a b\"}", "a b|" },
		{ "{\"$schema\":\"x\",\"network\":\"none\",\"description\":\"last\"}", "last|--network=none|" },
		{ "{\"memory\":\"512m\"}", "|--memory=512m|" },
		{ "{\"memory\":536870912}", "|--memory=536870912|" },
		{ "{\"memory\":0}", "|--memory=0|" },
		{ "{\"cpus\":0.5}", "|--cpus=0.5|" },
		{ "{\"cpus\":2}", "|--cpus=2|" },
		{ "{\"cpus\":2.0}", "|--cpus=2|" },
		{ "{\"pids-limit\":-1}", "|--pids-limit=-1|" },
		{ "{\"user\":10001}", "|--user=10001|" },
		{ "{\"user\":\"1:2\"}", "|--user=1:2|" },
		{ "{\"env\":{\"A\":\"x=y|z\",\"B\":\"\",\"C\":1}}", "|--env=A=x=y|z|--env=B=|--env=C=1|" },
		{ "{\"tmpfs\":{\"/a\":\"\",\"/b\":\"size=1m,noexec\"}}", "|--tmpfs=/a:|--tmpfs=/b:size=1m,noexec|" },
		{ "{\"ulimit\":{\"nofile\":\"1:2\",\"core\":0}}", "|--ulimit=nofile=1:2|--ulimit=core=0|" },
		{ "{\"allow-debug\":true}", "|--allow-debug=true|" },
		{ "{\"allow-debug\":false}", "|--allow-debug=false|" },
		{ "{\"security-opt\":[\"seccomp=/a/b.json\",\"seccomp=default\"]}", "|--security-opt=seccomp=/a/b.json|--security-opt=seccomp=default|" },
		{ "{\"volume\":[]}", "|" },
		{ "{\"volume\":[\"/a:/b\",\"/a:/c:ro\"]}", "|--volume=/a:/b|--volume=/a:/c:ro|" },
		{ "{\"hostname\":\"caf\\u00e9\"}", "|--hostname=caf\xc3\xa9|" }, /* refused by the option */
		{ "{\"memory\":1e300}", "|--memory=1e+300|" },                 /* the same */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *got = compile(cases[i][0]);
		ck_assert_msg(got != NULL, "%s: %s", cases[i][0], err.text);
		ck_assert_str_eq(got, cases[i][1]);
	}
}
END_TEST

/* What is wrong, and a part of the message. */
START_TEST(test_wrong)
{
	static const char *const cases[][2] = {
		{ "", "not JSON" },
		{ "x", "not" },
		{ "[]", "is an object, not an array" },
		{ "null", "is an object, not null" },
		{ "\"a\"", "is an object, not a string" },
		{ "{} {}", "not one JSON value" },
		{ "{}x", "not" },
		{ "{\"memory\":}", "not JSON" },
		{ "{\"memory\":\"4g\",}", "not JSON" },
		{ "{memory:1}", "not JSON" },
		{ "{'memory':1}", "not JSON" },
		{ "{\"a\":1}", "a: unknown member" },
		{ "{\"\":1}", "unknown member" },
		{ "{\"memroy\":\"4g\"}", "memroy: unknown member: did you mean 'memory'?" },
		{ "{\"Memory\":\"4g\"}", "did you mean 'memory'?" },
		{ "{\"pids_limit\":1}", "did you mean 'pids-limit'?" },
		{ "{\"memory\":1,\n\"cpus\":1,\n\"memory\":2}", "line 3: 'memory' is there twice" },
		{ "{\"env\":{\"A\":\"1\",\n\"A\":\"2\"}}", "line 2: env: 'A' is there twice" },
		{ "{\"description\":\"a\",\"description\":\"b\"}", "'description' is there twice" },
		{ "{\"memory\":null}", "memory: must be a string or a number, not null" },
		{ "{\"memory\":true}", "not true or false" },
		{ "{\"memory\":[]}", "not an array" },
		{ "{\"memory\":{}}", "not an object" },
		{ "{\"network\":1}", "network: must be a string, not a number" },
		{ "{\"hostname\":[\"a\"]}", "hostname: must be a string, not an array" },
		{ "{\"env\":[]}", "env: must be an object" },
		{ "{\"env\":{\"A\":null}}", "env.A: must be a string or a number" },
		{ "{\"env\":{\"A\":{\"B\":{}}}}", "env.A: must be a string or a number, not an object" },
		{ "{\"env\":{\"\":\"x\"}}", "must not be empty" },
		{ "{\"env\":{\"A=B\":\"x\"}}", "env.A=B: the name must not be empty, nor hold a '='" },
		{ "{\"tmpfs\":{\"/a:size=1g\":\"\"}}", "nor hold a ':'" },
		{ "{\"ulimit\":{\"a=b\":1}}", "ulimit.a=b" },
		{ "{\"allow-debug\":1}", "allow-debug: must be true or false, not a number" },
		{ "{\"security-opt\":[\"seccomp=./x.json\"]}", "security-opt[0]: 'seccomp=./x.json': the path must" },
		{ "{\"volume\":{}}", "volume: must be an array of strings" },
		{ "{\"volume\":[\"/a:/b\",\n1]}", "line 2: volume[1]: must be a string, not a number" },
		{ "{\"volume\":[[\"/a:/b\"]]}", "volume[0]: must be a string, not an array" },
		{ "{\"volume\":[\"a:/b\"]}", "volume[0]: 'a:/b': the path must begin with '/'" },
		{ "{\"volume\":[\"./a:/b\"]}", "must begin with '/'" },
		{ "{\"volume\":[\"~/a:/b\"]}", "must begin with '/'" },
		{ "{\"volume\":[\"\"]}", "must begin with '/'" },
		{ "{\"description\":1}", "description: must be a string" },
		{ "{\"description\":\"a\\nb\"}", "description: must be one line" },
		{ "{\"description\":\"a\\u001b[31m\"}", "description: must be one line" },
		{ "{\"$schema\":{}}", "$schema: must be a string" },
		{ "{\"hostname\":\"a\\u0000b\"}", "NUL" },
		{ "{\"host\\u0000name\":\"a\"}", "NUL" },
		{ "{\"hostname\":\"a\nb\"}", "line 1" },
		{ "{\"hostname\":\"\xff\"}", "not UTF-8" },
		{ "[[[[[[[[[[[[", "nested too deeply" },
		{ "\xef\xbb\xbf{}", "not" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *got = compile(cases[i][0]);
		ck_assert_msg(got == NULL, "%s became %s", cases[i][0], got);
		ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "%s: %s", cases[i][0], err.text);
	}
	ck_assert_ptr_null(compile_bytes("{}\0", 3));
	ck_assert_ptr_null(compile_bytes("{\"memory\":\"4g\0\"}", 16));
}
END_TEST

/* A terminal shows nothing of what a hostile name holds. */
START_TEST(test_messages_are_printable)
{
	static const char *const texts[] = {
		"{\"\\u001b[31m\\u0007\":1}", "{\"env\":{\"\\u009b31m=\":1}}", "{\"volume\":[\"\\u001b]0;x\\u0007\"]}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		ck_assert_ptr_null(compile(texts[i]));
		for (const char *c = err.text; *c; c++)
			ck_assert_msg((unsigned char) *c >= 0x20 && *c != 0x7f, "%s", err.text);
		ck_assert_ptr_null(strstr(err.text, "\xc2\x9b"));
	}
}
END_TEST

/* Just what is allowed, and one more: bytes, entries, the description, long names in messages. */
START_TEST(test_limits)
{
	static char text[TEXT_SIZE];
	_cleanup_buf_ struct buf b = BUF_INIT(TEXT_SIZE);

	for (size_t extra = 0; extra < 2; extra++) {
		memset(text, ' ', sizeof(text));
		text[PROFILE_BYTES_MAX - 2 + extra] = '{';
		text[PROFILE_BYTES_MAX - 1 + extra] = '}';
		ck_assert((compile_bytes(text, PROFILE_BYTES_MAX + extra) == NULL) == (extra == 1));
	}
	ck_assert_ptr_nonnull(strstr(err.text, "larger than"));
	for (size_t extra = 0; extra < 2; extra++) {
		buf_clear(&b);
		buf_add_str(&b, "{\"env\":{");
		for (size_t i = 0; i < PROFILE_ENTRIES_MAX + extra; i++)
			buf_addf(&b, "%s\"V%zu\":\"\"", i ? "," : "", i);
		buf_add_str(&b, "}}");
		ck_assert((compile(buf_cstr(&b)) == NULL) == (extra == 1));
	}
	ck_assert_ptr_nonnull(strstr(err.text, "more than"));
	for (size_t extra = 0; extra < 2; extra++) {
		buf_clear(&b);
		buf_addf(&b, "{\"description\":\"%0*d\"}", PROFILE_DESCRIPTION_MAX + (int) extra, 0);
		ck_assert((compile(buf_cstr(&b)) == NULL) == (extra == 1));
	}
	buf_clear(&b);
	buf_addf(&b, "{\"%060000d\":1}", 0);
	ck_assert_ptr_null(compile(buf_cstr(&b)));
	ck_assert_uint_lt(strlen(err.text), 300);
}
END_TEST

START_TEST(test_members_are_sorted)
{
	for (const struct profile_member *m = profile_members; m->name && m[1].name; m++)
		ck_assert_str_lt(m->name, m[1].name);
}
END_TEST

/* Pieces of profiles in any order: never a crash, and whatever is taken is well formed. */
START_TEST(test_random)
{
	static const char *const pieces[] = {
		"{", "}", "[", "]", ":", ",", "\"memory\"", "\"env\"", "\"tmpfs\"", "\"volume\"", "\"A\"", "\"/a\"", "\"4g\"", "1", "-1", "0.5",
		"1e9", "true", "null", " ", "\n", "\"\\u0000\"", "\"\\ud800\"", "\"", "\\", "\xff", "{\"memory\":", "{\"env\":{\"A\":", "}}",
		"{\"volume\":[\"/a:/b\"", "]}", "\"description\"",
	};
	struct seeded random = { .state = 3 };
	size_t taken = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		_cleanup_buf_ struct buf b = BUF_INIT(TEXT_SIZE);
		for (size_t n = seeded_below(&random, 12); n > 0; n--)
			buf_add_str(&b, pieces[seeded_below(&random, ARRAY_LEN(pieces))]);
		taken += compile_bytes(buf_cstr(&b), b.len) != NULL;
	}
	ck_assert_uint_gt(taken, 0);
}
END_TEST

UNIT_MAIN("runtime/compile/profile", test_members, test_wrong, test_messages_are_printable, test_limits, test_members_are_sorted,
	  test_random)
