/*
 * The syntax gate: which names are checked, Python's verdicts, and when a write is refused.
 */
#include "mcp/check.h"

#include "tests/mcp/double.h"

static void check(const char *path, const char *text, struct check_result *r)
{
	check_content(&d.call, path, text, strlen(text), r);
}

START_TEST(test_names)
{
	static const struct {
		const char *path;
		bool applies;
	} rows[] = {
		{ "a.json", true },
		{ "A.JSON", true },
		{ "dir/a.json", true },
		{ ".json", true },
		{ "a.jsonl", true },
		{ "a.ndjson", true },
		{ "n.ipynb", true },
		{ "composer.lock", true },
		{ "a.py", true },
		{ "A.Py", true },
		{ "a.pyi", true },
		{ "package-lock.json", true },
		{ "a.txt", false },
		{ "Makefile", false },
		{ "a.json.txt", false },
		{ "json", false },
		{ "tsconfig.json", false },
		{ "tsconfig.base.json", false },
		{ "x/jsconfig.json", false },
		{ "devcontainer.json", false },
		{ ".vscode/settings.json", false },
		{ "a/.vscode/launch.json", false },
		{ "a/x.vscode/launch.json", true },
		{ "a.jsonc", false },
		{ "a.json5", false },
		{ "turbo.json", false },
		{ "a.toml", false },
		{ "a.yaml", false },
		{ "Cargo.lock", false },
		{ "a.c", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(check_applies(rows[i].path) == rows[i].applies, "%s", rows[i].path);
}
END_TEST

START_TEST(test_python)
{
	static const struct {
		const char *text;
		enum check_verdict verdict;
		const char *want;
	} rows[] = {
		{ "def foo():\n    return 1\n", CHECK_OK, "" },
		{ "", CHECK_OK, "" },
		{ "\xEF\xBB\xBFx = 1\n", CHECK_OK, "" },
		{ "# -*- coding: latin-1 -*-\nx = '\xE9'\n", CHECK_OK, "" },
		{ "x = {{}}\n", CHECK_OK, "" },
		{ "def foo(:\n", CHECK_BAD, "Python syntax error at line 1: " },
		{ "x = 1\nif x\n", CHECK_BAD, "Python syntax error at line 2: " },
		{ "if True:\n\tx\n        y\n", CHECK_BAD, "Python syntax error at line 3: " },
		{ "return 1\n", CHECK_BAD, "outside function" },
		{ "x = '\xE9'\n", CHECK_BAD, "Python " },
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct check_result r;

		check("a.py", rows[i].text, &r);
		ck_assert_msg(r.verdict == rows[i].verdict, "row %zu: %d %s", i, r.verdict, r.text);
		ck_assert_msg(strstr(r.text, rows[i].want) != NULL, "row %zu: %s", i, r.text);
	}
	/* Deep nesting breaks the parser's memory: no verdict, no crash. */
	struct check_result r;
	_cleanup_buf_ struct buf deep = BUF_INIT(1 << 20);
	for (int i = 0; i < 100000; i++)
		buf_add_char(&deep, '-');
	buf_add_str(&deep, "1\n");
	check("a.py", deep.p, &r);
	ck_assert_int_eq(r.verdict, CHECK_UNKNOWN);
	ck_assert_str_ne(r.text, "");
	double_teardown();
}
END_TEST

START_TEST(test_python_out_of_order)
{
	static const struct {
		enum double_exec exec;
		const char *want;
	} rows[] = {
		{ DOUBLE_MISSING, "there is no python3" },
		{ DOUBLE_TIMED_OUT, "in time" },
		{ DOUBLE_KILLED, "broke down" },
		{ DOUBLE_NO_INIT, "could not be started" },
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf after = BUF_INIT(100), notes = BUF_INIT(1000);

		d.exec = rows[i].exec;
		buf_add_str(&after, "def foo(:\n");
		ck_assert(check_gate(&d.call, "a.py", NULL, &after, &notes));
		ck_assert_has(buf_cstr(&notes), "the syntax was not checked: ");
		ck_assert_has(buf_cstr(&notes), rows[i].want);
	}
	double_teardown();
}
END_TEST

START_TEST(test_gate)
{
	static const struct {
		const char *path, *before, *after;
		bool pass;
		const char *want;
	} rows[] = {
		{ "a.json", NULL, "{}", true, "" },
		{ "a.json", NULL, "{", false, "JSON parse error at line 1: " },
		{ "a.json", "{}", "{", false, "Nothing was written to 'a.json'" },
		{ "a.json", "[", "{", true, "was not valid before, and still is not: JSON parse error" },
		{ "a.json", "[", "[]", true, "" },
		{ "a.json", NULL, "{\"a\":1,\"a\":2}", true, "Warning: the name \"a\" is repeated" },
		{ "a.txt", NULL, "{", true, "" },
		{ "a.py", "x = 1\n", "x = (\n", false, "Python syntax error at line 1: " },
		{ "a.py", "x = (\ny = )\n", "x = (\ny = 2\n", true, "still is not: Python syntax error" },
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf before = BUF_INIT(100), after = BUF_INIT(100), notes = BUF_INIT(1000);

		double_reset();
		buf_add_str(&before, rows[i].before ? rows[i].before : "");
		buf_add_str(&after, rows[i].after);
		bool pass = check_gate(&d.call, rows[i].path, rows[i].before ? &before : NULL, &after, &notes);
		ck_assert_msg(pass == rows[i].pass && d.call.is_error == !pass, "row %zu", i);
		ck_assert_has(pass ? buf_cstr(&notes) : buf_cstr(&d.call.text), rows[i].want);
		if (rows[i].want[0] == '\0')
			ck_assert_uint_eq(notes.len, 0);
	}
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/check", test_names, test_python, test_python_out_of_order, test_gate)
