/*
 * Keys set in TOML: where they go, that nothing else changes, and what is refused.
 */
#include "runtime/compile/toml.h"

#include "tests/runtime/compile/edit_cases.h"

enum { ROUNDS = 20000 };

#define ONE "m/c/a=1"
#define TWO "m/c/a=1\nm/c/env/E=\"2\""

static const struct edit_case cases[] = {
	/* a new table */
	{ "", ONE "\nm/c/b=[\"x\", \"y\"]", "[m.c]\na = 1\nb = [\"x\", \"y\"]\n", NULL },
	{ "x = 1", ONE, "x = 1\n\n[m.c]\na = 1\n", NULL },
	{ "# mine\r\nx = 1\r\n", ONE, "# mine\r\nx = 1\r\n\r\n[m.c]\r\na = 1\r\n", NULL },
	{ "[m]\nx = 1\n[m.d]\na = 5\n", ONE, "[m]\nx = 1\n[m.d]\na = 5\n\n[m.c]\na = 1\n", NULL },
	{ "[m.c.env]\nE = \"1\"\n", ONE, "[m.c.env]\nE = \"1\"\n\n[m.c]\na = 1\n", NULL },
	{ "", TWO, "[m.c]\na = 1\nenv = { E = \"2\" }\n", NULL },
	/* into a table that is there */
	{ "[m.c]\n", ONE, "[m.c]\na = 1\n", NULL },
	{ "[m.c]", ONE, "[m.c]\na = 1", NULL },
	{ "[m.c] # mine\nx = 1 # one\n# two\n\n[d]\ny = 2\n", ONE, "[m.c] # mine\nx = 1 # one\na = 1\n# two\n\n[d]\ny = 2\n", NULL },
	{ " [ m . \"c\" ]\n  x = [ 1, # ]\n 2,\n]\n", ONE, " [ m . \"c\" ]\n  x = [ 1, # ]\n 2,\n]\n  a = 1\n", NULL },
	{ "[m.'c']\nx = \"\"\"\n[m.c]\na = 5\"\"\"\"\"\n[e]\n", ONE, "[m.'c']\nx = \"\"\"\n[m.c]\na = 5\"\"\"\"\"\na = 1\n[e]\n", NULL },
	{ "[m.c]\nx = '''\n'' '''\ny = 'a\\'\nz = \"\\\"\"\n", ONE, "[m.c]\nx = '''\n'' '''\ny = 'a\\'\nz = \"\\\"\"\na = 1\n", NULL },
	{ "[m.c]\nx = 1979-05-27 07:32:00Z\ny = -inf\nz = 1e+6\nw = 0xF_F\n", ONE,
	  "[m.c]\nx = 1979-05-27 07:32:00Z\ny = -inf\nz = 1e+6\nw = 0xF_F\na = 1\n", NULL },
	{ "[m.c]\nx = 1\n\n[[n]]\na = 2\n[[n]]\na = 3\n", ONE, "[m.c]\nx = 1\na = 1\n\n[[n]]\na = 2\n[[n]]\na = 3\n", NULL },
	{ "\xef\xbb\xbf[m.c]\r\nx = 1\r\n", ONE, "\xef\xbb\xbf[m.c]\r\nx = 1\r\na = 1\r\n", NULL },
	/* inline tables */
	{ "[m]\nc = {}\n", ONE, "[m]\nc = { a = 1 }\n", NULL },
	{ "[m]\nc = { x = 1 }\n", ONE, "[m]\nc = { x = 1, a = 1 }\n", NULL },
	{ "m = { c = { x = {a = 5} }, d = 2 }\n", ONE, "m = { c = { x = {a = 5}, a = 1 }, d = 2 }\n", NULL },
	{ "m.c = { x = 1 }\n", TWO, "m.c = { x = 1, a = 1, env = { E = \"2\" } }\n", NULL },
	{ "[m.c]\nenv = { F = \"1\" } # mine\n", TWO, "[m.c]\nenv = { F = \"1\", E = \"2\" } # mine\na = 1\n", NULL },
	{ "[m.c.env]\nF = \"1\"\n[m.c]\nx = 1\n", TWO, "[m.c.env]\nF = \"1\"\nE = \"2\"\n[m.c]\nx = 1\na = 1\n", NULL },
	/* the key is there */
	{ "[m.c]\na = 1\n", ONE, "[m.c]\na = 1\n", NULL },
	{ "[m.c]\na=\"5\" # five\nb = 2\n", ONE, "[m.c]\na=1 # five\nb = 2\n", NULL },
	{ "[m.c]\n\"a\" = [\n 5,\n]\n", ONE, "[m.c]\n\"a\" = 1\n", NULL },
	{ "m.c.a = 5\n", ONE, "m.c.a = 1\n", NULL },
	{ "[m]\nc.a = { a = 5 }\n", ONE, "[m]\nc.a = 1\n", NULL },
	{ "[m]\nc = { a = 5, b = 6 }\n", ONE, "[m]\nc = { a = 1, b = 6 }\n", NULL },
	{ "[m.c]\nenv.E = \"1\"\n", TWO, "[m.c]\nenv.E = \"2\"\na = 1\n", NULL },
	{ "[\"m.c\"]\na = 5\n[m.c.\"\\n\"]\n", ONE, "[\"m.c\"]\na = 5\n[m.c.\"\\n\"]\n\n[m.c]\na = 1\n", NULL },
	{ "[\"\\u006d\".\"\\U00000063\"]\n\"\\x61\" = 5\n", ONE, "[\"\\u006d\".\"\\U00000063\"]\n\"\\x61\" = 1\n", NULL },
	{ "[m.\"\\u0163\"]\n[m.\"c\\u00\"]\n[m.'\\u0063']\n", ONE, "[m.\"\\u0163\"]\n[m.\"c\\u00\"]\n[m.'\\u0063']\n\n[m.c]\na = 1\n", NULL },
	/* refused */
	{ "m.c.x = 5\n", ONE, NULL, "line 1: this is not the form of a table that keys can be added to. Write it as [m.c]" },
	{ "\n[m]\nc.x = 5\n", ONE, NULL, "line 3: this is not the form" },
	{ "[m]\nc = 5\n", ONE, NULL, "line 2: this is not the form" },
	{ "m = { d = 1 }\n", ONE, NULL, "line 1: this is not the form" },
	{ "[[m]]\nx = 1\n", ONE, NULL, "line 1: this is not the form" },
	{ "[m]\n[[m.c]]\nx = 1\n", ONE, NULL, "line 2: this is not the form" },
	{ "[m.c]\nenv.F = \"1\"\n", TWO, NULL, "line 2: this is not the form of a table that keys can be added to. Write it as [m.c.env]" },
	{ "[m.c]\nenv.\"F\\n\" = \"1\"\n", TWO, NULL, "line 2: this is not the form of a table" },
	{ "[m.c]\na.x = 1\n", ONE, NULL, "line 2: 'a' is a table here" },
	{ "[m.c]\n[m.c.a.x]\n", ONE, NULL, "line 2: 'a' is a table here" },
	{ "[m.c.\"\\u0061\"]\n", ONE, NULL, "line 1: 'a' is a table here" },
	{ "[[m.c.a]]\n", ONE, NULL, "line 1: 'a' is a table here" },
	{ "[m.c.env.x]\n", TWO, NULL, "line 1: 'env' is a table here" },
	{ "[m.c]\na = 1\n[m.c]\n", ONE, NULL, "line 3: this table is there twice" },
	{ "[m]\nc = {}\n[m.c]\n", ONE, NULL, "line 3: this table is there twice" },
	{ "[m.c]\na = 1\na = 2\n", ONE, NULL, "line 3: this key is there twice" },
	{ "[m.c\n", ONE, NULL, "line 1: the name of a table is not closed" },
	{ "[[m.c]\n", ONE, NULL, "the name of a table is not closed" },
	{ "[]\n", ONE, NULL, "a key is missing" },
	{ "x\n", ONE, NULL, "a '=' is missing" },
	{ "= 1\n", ONE, NULL, "a key is missing" },
	{ "x =\n", ONE, NULL, "a value is missing" },
	{ "x = 1 2\n", ONE, NULL, "something stands behind" },
	{ "x = \"\n\"\n", ONE, NULL, "line 1: a string begins" },
	{ "x = 'a", ONE, NULL, "a string begins" },
	{ "x = \"\\", ONE, NULL, "a string begins" },
	{ "\nx = '''\n", ONE, NULL, "line 2: a string begins" },
	{ "\"\"\"x\"\"\" = 1\n", ONE, NULL, "a key cannot be" },
	{ "x = [1, 2\n\n", ONE, NULL, "line 1: an array is not closed" },
	{ "x = [1 2]\n", ONE, NULL, "an array is not closed" },
	{ "x = {a = 1\n\n", ONE, NULL, "line 1: an inline table is not closed" },
	{ "x = 1\n\xc3\n", ONE, NULL, "line 2 is not UTF-8" },
};

START_TEST(test_cases)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		edit_check(toml_edit, &cases[i], i);
}
END_TEST

START_TEST(test_depth_and_length_are_bounded)
{
	_cleanup_buf_ struct buf text = BUF_INIT(EDIT_TEXT_MAX), out = BUF_INIT(EDIT_TEXT_MAX);
	struct err err;

	buf_add_str(&text, "x = ");
	for (int i = 0; i < 100000; i++)
		buf_add_char(&text, '[');
	ck_assert_int_lt(edit_run(toml_edit, ONE, text.p, text.len, &out, &err), 0);
	ck_assert_msg(strstr(err.text, "too many arrays and tables") != NULL, "%s", err.text);
	/* A path that no buffer holds is none of ours, but may lie in one. */
	buf_clear(&text);
	buf_add_str(&text, "m");
	for (int i = 0; i < 5000; i++)
		buf_add_str(&text, ".m");
	buf_add_str(&text, " = 1\n");
	ck_assert_int_lt(edit_run(toml_edit, "m/m=1", text.p, text.len, &out, &err), 0);
	ck_assert_msg(strstr(err.text, "line 1: 'm' is a table here") != NULL, "%s", err.text);
	text.p[0] = 'x';
	ck_assert_int_eq(edit_run(toml_edit, "m/m=1", text.p, text.len, &out, &err), 0);
	ck_assert_msg(strstr(buf_cstr(&out), "\n[m]\nm = 1\n") != NULL, "%s", buf_cstr(&out));
}
END_TEST

START_TEST(test_damaged_files)
{
	edit_damage(toml_edit, TWO "\nm/c/args=[\"a\", \"b\"]",
		    "# one\nx = 1979-05-27 07:32:00Z\n[m.d]\ny = [ 'a', \"b\\n\", { c = '''d''' } ] # two\n[m.c]\nargs = [\n  \"e\",\n]\n"
		    "env = { F = \"1\" }\n\n[[n]]\nz = \"\"\"\nw\"\"\"\n",
		    "[]{}\"'.=,#\n \\amc1", ROUNDS);
}
END_TEST

UNIT_MAIN("runtime/compile/toml", test_cases, test_depth_and_length_are_bounded, test_damaged_files)
