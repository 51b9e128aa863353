/*
 * One edit: what matches, what comes in its place, and what the messages say when nothing does.
 */
#include "mcp/edit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/harness/unit.h"

static enum edit_result apply(struct buf *text, const char *old_text, const char *new_text, struct buf *why)
{
	struct edit e = {
		.index = 0,
		.file = "f",
		.old_text = old_text,
		.new_text = new_text,
		.old_len = strlen(old_text),
		.new_len = strlen(new_text),
	};

	return edit_apply(text, &e, why);
}

struct row {
	const char *file, *old_text, *new_text;
	enum edit_result how;
	const char *want; /* the new text, or a part of the message */
};

static void expect(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *r = &rows[i];
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20), why = BUF_INIT(EDIT_WHY_MAX);

		buf_add_str(&text, r->file);
		enum edit_result how = apply(&text, r->old_text, r->new_text, &why);
		ck_assert_msg(how == r->how, "row %zu: %d %s", i, how, buf_cstr(&why));
		ck_assert_int_eq(buf_error(&why), 0);
		if (how != EDIT_FAILED) {
			ck_assert_str_eq(buf_cstr(&text), r->want);
			continue;
		}
		ck_assert_msg(strstr(buf_cstr(&why), r->want) != NULL, "row %zu: %s", i, buf_cstr(&why));
		ck_assert_str_eq(buf_cstr(&text), r->file);
	}
}

START_TEST(test_exact)
{
	static const struct row rows[] = {
		{ "hello\n", "hello", "world", EDIT_EXACT, "world\n" },
		{ "one two three\n", "two ", "", EDIT_EXACT, "one three\n" },
		{ "a\nb\nc\n", "b\n", "", EDIT_EXACT, "a\nc\n" },
		{ "a\nb\nc\n", "a\nb", "x", EDIT_EXACT, "x\nc\n" },
		{ "a\n", "a\n", "a", EDIT_EXACT, "a" }, /* the last line end can be removed, when asked for */
		{ "hello", "hello", "hello\n", EDIT_EXACT, "hello\n" },
		{ "cost\n", "cost", "$& $1 \\1 %s {}", EDIT_EXACT, "$& $1 \\1 %s {}\n" },
		{ "a.b a+b\n", "a.b", "x", EDIT_EXACT, "x a+b\n" },
		{ "   \n\nx\n", "   ", "y", EDIT_EXACT, "y\n\nx\n" },
		{ "a\fb\xC2\x85" "c\n", "c", "d", EDIT_EXACT, "a\fb\xC2\x85" "d\n" },
		{ "caf\xE9\nx\n", "x", "y", EDIT_EXACT, "caf\xE9\ny\n" },
		{ "a\rb\rc", "b", "x", EDIT_EXACT, "a\rx\rc" },
		{ "<<<<<<< x\n", "<<<<<<< x", "=======", EDIT_EXACT, "=======\n" },
	};

	expect(rows, ARRAY_LEN(rows));
}
END_TEST

START_TEST(test_line_ends)
{
	static const struct row rows[] = {
		{ "line1\r\nline2\r\n", "line1\nline2", "new1\nnew2", EDIT_EXACT, "new1\r\nnew2\r\n" },
		{ "line1\r\nline2\r\nrest\r\n", "line1\nline2\n", "new1\n", EDIT_EXACT, "new1\r\nrest\r\n" },
		{ "line1\r\nline2\r\n", "line1", "a\nb", EDIT_EXACT, "a\r\nb\r\nline2\r\n" },
		{ "line1\nline2\n", "line1\r\nline2", "a\r\nb", EDIT_EXACT, "a\nb\n" },
		{ "a\r\nlast", "last", "x\ny", EDIT_EXACT, "a\r\nx\r\ny" },
		{ "one", "one", "a\r\nb", EDIT_EXACT, "a\r\nb" },
		{ "a\r\nb\nc\nd\r\n", "b\nc", "x\ny", EDIT_EXACT, "a\r\nx\ny\nd\r\n" }, /* mixed: that of the place */
		{ "a\r\nb\r\n", "\nb", "\nc", EDIT_EXACT, "a\r\nc\r\n" },
		{ "  a\r\n  b\r\nc\r\n", "a\nb", "x\ny\nz", EDIT_FUZZY, "  x\r\n  y\r\n  z\r\nc\r\n" },
	};

	expect(rows, ARRAY_LEN(rows));
}
END_TEST

START_TEST(test_fuzzy)
{
	static const struct row rows[] = {
		{ "def func():\n    print('match me')\n", "  print('match me')  ", "print('replaced')", EDIT_FUZZY,
		  "def func():\n    print('replaced')\n" },
		{ "class A:\n    def m(self):\n        return 1\n", "  def m(self):\n    return 1",
		  "def m(self):\n    return 2", EDIT_FUZZY, "class A:\n    def m(self):\n        return 2\n" },
		{ "def func():\n\tprint('tabs')\n", "    print('tabs')", "print('x')", EDIT_FUZZY,
		  "def func():\n\tprint('x')\n" },
		{ "def f():\n\tx = 1\n", "  x = 1", "if y:\n    x = 2", EDIT_FUZZY, "def f():\n\tif y:\n\t\tx = 2\n" },
		{ "def f():\n\tx = 1\n", "  x = 1", "if y:\n\tx = 2", EDIT_FUZZY, "def f():\n\tif y:\n\t\tx = 2\n" },
		{ "def f():\n    x = 1\n", " x = 1 ", "y = 1\n\nz = 2", EDIT_FUZZY,
		  "def f():\n    y = 1\n\n    z = 2\n" },
		{ "a\n    b\nc\n", "  b  ", "", EDIT_FUZZY, "a\nc\n" },
		{ "line1\n  line2\n", "line1\nline2", "new1\nnew2", EDIT_FUZZY, "new1\n  new2\n" },
		/* Flattened by the model: the line that was added goes with the one above. */
		{ "def f():\n    a()\n    b()\n", "def f():\na()\nb()", "def f():\na()\nb()\nc()", EDIT_FUZZY,
		  "def f():\n    a()\n    b()\n    c()\n" },
		/* Deeper and back again, in the file's tabs. */
		{ "\tf {\n\t\tg;\n\t}\n", "f {\n    g;\n}", "f {\n    if {\n        g;\n    }\n}", EDIT_FUZZY,
		  "\tf {\n\t\tif {\n\t\t\tg;\n\t\t}\n\t}\n" },
		/* Less deep than the first line. */
		{ "    if a:\n        b\n", "\tb", "    c\n  d", EDIT_FUZZY, "    if a:\n        c\n      d\n" },
		/* Alignment behind tabs stays blanks. */
		{ "\tcall(a,\n\t     b)\n", "call(a,\n b)", "call(a,\n     c)", EDIT_FUZZY, "\tcall(a,\n\t\tc)\n" },
		/* Tabs in `new`, a file with two blanks a level. */
		{ "a:\n  b:\n    c\n", "b:\nc", "b:\n\td:\n\t\te", EDIT_FUZZY, "a:\n  b:\n    d:\n      e\n" },
		{ "x\n    a\n\n    b\n", "a\n  \nb", "a\n\nc", EDIT_FUZZY, "x\n    a\n\n    c\n" },
		/* No line end at the end stays none. */
		{ "a\n    b", "  b\n", "c\n", EDIT_FUZZY, "a\n    c" },
		/* Blanks at line ends are the caller's wish. */
		{ "  a\n", "a ", "b  ", EDIT_FUZZY, "  b  \n" },
		{ "item\n  item  x\n", "item ", "y", EDIT_EXACT, "item\n  y x\n" },
	};

	expect(rows, ARRAY_LEN(rows));
}
END_TEST

START_TEST(test_refused)
{
	static const struct row rows[] = {
		{ "item\nitem\n", "item", "x", EDIT_FAILED,
		  "Edit 0: 'item' found 2 times (exact match), at lines 1, 2." },
		{ "item\nitem\n", "  item  ", "x", EDIT_FAILED, "Found 2 fuzzy matches" },
		{ "item\nitem\n", "  item  ", "x", EDIT_FAILED, "at lines 1, 2." },
		{ "aaa\n", "aa", "x", EDIT_FAILED, "found 2 times" },
		{ "a\nb\na\nb\na\n", " a\nb\na", "x", EDIT_FAILED, "Found 2 fuzzy matches" },
		{ "x  =  1\n", "x = 1", "x = 2", EDIT_FAILED, "not found in f" },
		{ "x  =  1\n", "x = 1", "x = 2", EDIT_FAILED, "The closest place is line 1;" },
		{ "a\nb\nc\nd\ne\n", "b\nX\nd", "x", EDIT_FAILED, "line 2 to 4 (2 of 3 lines are the same)" },
		{ "a\nb\nc\nd\ne\n", "b\nX\nd", "x", EDIT_FAILED, "    2   b\n    3 - X\n    3 + c\n    4   d" },
		{ "def hello_world():\n    pass\n", "def helo_world():", "x", EDIT_FAILED,
		  "    1 - def helo_world():\n    1 + def hello_world():" },
		{ "a\n", "zzzzzz", "x", EDIT_FAILED, "Nothing in the file is similar" },
		{ "", "zzzzzz", "x", EDIT_FAILED, "not found" },
		{ "a\n\n\nb\n", " \n \n \n", "x", EDIT_FAILED, "not found" },
		{ "a\nb\n", "a\\nb", "x", EDIT_FAILED, "escaped once too often" },
		{ "caf\xE9\n", "caf\xEF\xBF\xBD", "x", EDIT_FAILED, "not UTF-8" },
		{ "a\n", "this is a text of more than twenty characters", "x", EDIT_FAILED,
		  "'this is a text of mo...'" },
		{ "a\n", "two\nlines", "x", EDIT_FAILED, "'two\\nlines'" },
	};

	expect(rows, ARRAY_LEN(rows));
}
END_TEST

static double seconds(void)
{
	struct timespec t;

	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

START_TEST(test_hostile_sizes)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20), old = BUF_INIT(64 << 20), why = BUF_INIT(EDIT_WHY_MAX);
	double start = seconds();

	/* One long line of one letter, and a long `old` of it. */
	while (text.len < 4 << 20)
		buf_add_str(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	buf_add(&old, text.p, 1 << 20);
	ck_assert_int_eq(apply(&text, buf_cstr(&old), "x", &why), EDIT_FAILED);
	buf_add_char(&old, 'b');
	buf_clear(&why);
	ck_assert_int_eq(apply(&text, buf_cstr(&old), "x", &why), EDIT_FAILED);
	ck_assert_uint_lt(why.len, EDIT_WHY_MAX);

	/* Very many equal lines. */
	buf_clear(&text);
	buf_clear(&old);
	for (int i = 0; i < 400000; i++)
		buf_add_str(&text, "  x\n");
	for (int i = 0; i < 100000; i++)
		buf_add_str(&old, "x\n");
	buf_clear(&why);
	ck_assert_int_eq(apply(&text, buf_cstr(&old), "y", &why), EDIT_FAILED);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&why), "fuzzy matches"));
	buf_add_str(&old, "y\n");
	buf_clear(&why);
	ck_assert_int_eq(apply(&text, buf_cstr(&old), "y", &why), EDIT_FAILED);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&why), "closest place"));
	ck_assert_msg(seconds() - start < 20, "took %.1f s", seconds() - start);
}
END_TEST

/* Random edits with the right words and the wrong white space: what is outside of the place never changes. */
START_TEST(test_random_keeps_the_rest)
{
	unsigned int seed = 11;
	static const char *const indents[] = { "", "  ", "    ", "\t", "\t\t", " " };
	int fuzzy = 0;

	for (int round = 0; round < 5000; round++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 16), old = BUF_INIT(1 << 16),
					 why = BUF_INIT(EDIT_WHY_MAX);
		int lines = 3 + rand_r(&seed) % 20, first = rand_r(&seed) % lines,
		    count = 1 + rand_r(&seed) % (lines - first);
		const char *eol = rand_r(&seed) % 2 ? "\r\n" : "\n";
		size_t begin = 0, end = 0;

		for (int i = 0; i < lines; i++) {
			if (i == first)
				begin = text.len;
			buf_addf(&text, "%sword%d%s", indents[(size_t) rand_r(&seed) % ARRAY_LEN(indents)], i,
				 i + 1 < lines ? eol : "");
			if (i + 1 == first + count)
				end = text.len;
			if (i >= first && i < first + count)
				buf_addf(&old, "%sword%d\n", indents[(size_t) rand_r(&seed) % ARRAY_LEN(indents)], i);
		}
		_cleanup_buf_ struct buf before = BUF_INIT(1 << 16);
		buf_add(&before, text.p, text.len);
		enum edit_result how = apply(&text, buf_cstr(&old), "new1\n  new2\n\n      new3\n", &why);
		ck_assert_msg(how != EDIT_FAILED, "%s", buf_cstr(&why));
		fuzzy += how == EDIT_FUZZY;
		size_t rest = before.len - end;
		ck_assert_uint_ge(text.len, begin + rest);
		if (how == EDIT_FUZZY)
			ck_assert_mem_eq(text.p, before.p, begin);
		ck_assert_mem_eq(text.p + text.len - rest, before.p + end, rest);
	}
	ck_assert_int_gt(fuzzy, 1000);
}
END_TEST

UNIT_MAIN("mcp/edit", test_exact, test_line_ends, test_fuzzy, test_refused, test_hostile_sizes,
	  test_random_keeps_the_rest)
