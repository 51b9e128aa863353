/*
 * Unified diffs: the text itself, and that patch(1) makes the new file from the old one with every one of them.
 */
#include "mcp/diff.h"

#include "mcp/lines.h"

#include "tests/mcp/double.h"

enum { SHOWN_MAX = 64 * 1024 }; /* bytes of a diff */

static struct buf text_of(const char *s)
{
	struct buf b = BUF_INIT(1 << 24);

	buf_add_str(&b, s);
	return b;
}

static void expect(const char *a, const char *b, const char *want)
{
	_cleanup_buf_ struct buf x = text_of(a), y = text_of(b), out = BUF_INIT(1 << 20);

	ck_assert_int_eq(diff_unified(&out, "f", &x, &y, SHOWN_MAX), 0);
	ck_assert_str_eq(buf_cstr(&out), want);
}

#define HEAD "--- a/f\n+++ b/f\n"

START_TEST(test_texts)
{
	expect("same\n", "same\n", "");
	expect("a\n", "b\n", HEAD "@@ -1 +1 @@\n-a\n+b\n");
	expect("hello", "world",
	       HEAD "@@ -1 +1 @@\n-hello\n\\ No newline at end of file\n+world\n\\ No newline at end of file\n");
	expect("hello", "hello\n", HEAD "@@ -1 +1 @@\n-hello\n\\ No newline at end of file\n+hello\n");
	expect("", "a\nb\n", HEAD "@@ -0,0 +1,2 @@\n+a\n+b\n");
	expect("a\nb\n", "", HEAD "@@ -1,2 +0,0 @@\n-a\n-b\n");
	expect("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", HEAD "@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6\n");
	expect("1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n", HEAD "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n");
	expect("1\n2\n3\n4\n5", "1\nx\n3\n4\n5",
	       HEAD "@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n\\ No newline at end of file\n");
	/* Changes with at most six lines between them share a hunk. */
	expect("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
	       HEAD "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
	expect("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
	       HEAD "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
	expect("a\r\nb\r\n", "a\r\nc\r\n", HEAD "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n");
	expect("a\xFF\nb\n", "a\xFF\nc\n", HEAD "@@ -1,2 +1,2 @@\n a\xEF\xBF\xBD\n-b\n+c\n");
}
END_TEST

START_TEST(test_names)
{
	static const struct {
		const char *name, *head;
	} rows[] = {
		{ "dir/a.c", "--- a/dir/a.c\n+++ b/dir/a.c\n" },
		{ "with blank", "--- a/with blank\t\n+++ b/with blank\t\n" },
		{ "quote\"", "--- \"a/quote\\\"\"\n+++ \"b/quote\\\"\"\n" },
		{ "line\nbreak", "--- \"a/line\\012break\"\n+++ \"b/line\\012break\"\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf x = text_of("a\n"), y = text_of("b\n"), out = BUF_INIT(1000);

		ck_assert_int_eq(diff_unified(&out, rows[i].name, &x, &y, SHOWN_MAX), 0);
		ck_assert_msg(strncmp(out.p, rows[i].head, strlen(rows[i].head)) == 0, "%s", out.p);
	}
}
END_TEST

/* The old file, patched with the diff, must be the new one. */
static void round_trip(const struct buf *a, const struct buf *b)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	ck_assert_int_eq(diff_unified(&out, "f", a, b, SHOWN_MAX), 0);
	if (out.len == 0) {
		ck_assert_uint_eq(a->len, b->len);
		return;
	}
	double_put("f", buf_cstr(a), a->len);
	double_put("p", out.p, out.len);
	if (system("patch --binary -s -p1 -i p >log 2>&1") != 0)
		ck_abort_msg("%s\n--- from\n%s\n--- diff\n%s", buf_cstr(double_get("log")), buf_cstr(a), out.p);
	if (b->len == 0 && access("f", F_OK) != 0)
		return; /* patch removes a file that has become empty */
	const struct buf *got = double_get("f");
	ck_assert_uint_eq(got->len, b->len);
	ck_assert_mem_eq(buf_cstr(got), buf_cstr(b), b->len);
}

/* A few different lines, so that much is repeated and alignments are ambiguous; sometimes no newline at the end. */
static struct buf random_text(unsigned int *seed, int lines)
{
	static const char *const pool[] = { "a\n",  "b\n",   "c\n", "\n",  "longer line\n", "a\r\n",
					    "\t\n", "x y\n", "-\n", "+\n", "@@ -1 +1 @@\n", "\\\n" };
	struct buf b = BUF_INIT(1 << 24);

	for (int i = 0; i < lines; i++)
		buf_add_str(&b, pool[(size_t) rand_r(seed) % ARRAY_LEN(pool)]);
	if (rand_r(seed) % 4 == 0)
		buf_add_str(&b, "no end");
	return b;
}

START_TEST(test_random_texts_apply)
{
	double_setup();
	unsigned int seed = 20240502;

	for (int round = 0; round < 250; round++) {
		_cleanup_buf_ struct buf a = random_text(&seed, rand_r(&seed) % 30),
					 b = random_text(&seed, rand_r(&seed) % 30);
		round_trip(&a, &b);
	}
	double_teardown();
}
END_TEST

START_TEST(test_random_edits_apply)
{
	double_setup();
	unsigned int seed = 20240503;

	for (int round = 0; round < 250; round++) {
		_cleanup_buf_ struct buf a = random_text(&seed, 20 + rand_r(&seed) % 200), b = BUF_INIT(1 << 24);

		for (size_t i = 0; i < a.len;) {
			size_t n = (size_t) rand_r(&seed) % 60;
			n = MIN(n, a.len - i);
			buf_add(&b, a.p + i, n);
			i += n;
			if (rand_r(&seed) % 3 == 0)
				buf_add_str(&b, rand_r(&seed) % 2 ? "new\n" : "z");
			i = MIN(i + (size_t) (rand_r(&seed) % 3 == 0 ? rand_r(&seed) % 9 : 0), a.len);
		}
		round_trip(&a, &b);
	}
	double_teardown();
}
END_TEST

/*
 * Texts without anything in common are replaced as a whole, soon; a diff too long to be shown says so and applies as
 * far as it goes.
 */
START_TEST(test_bounds)
{
	double_setup();
	_cleanup_buf_ struct buf a = BUF_INIT(1 << 24), b = BUF_INIT(1 << 24), c = BUF_INIT(1 << 24);

	for (int i = 0; i < 3000; i++) {
		buf_addf(&a, "a%d\n", i);
		buf_addf(&b, "b%d\n", i);
	}
	round_trip(&a, &b);
	for (int i = 0; i < 20000; i++)
		buf_addf(&c, "this is the line with number %d%s\n", i, i % 50 == 0 ? ", changed" : "");
	_cleanup_buf_ struct buf plain = BUF_INIT(1 << 24), out = BUF_INIT(1 << 20);
	for (int i = 0; i < 20000; i++)
		buf_addf(&plain, "this is the line with number %d\n", i);
	ck_assert_int_eq(diff_unified(&out, "f", &plain, &c, SHOWN_MAX), 0);
	ck_assert_uint_le(out.len, SHOWN_MAX);
	ck_assert_has(out.p, "hunks of the diff are not shown, the first at line ");
	ck_assert_has(out.p, ": too long. To see it, call read_file with offset ");
	double_put("f", plain.p, plain.len);
	double_put("p", out.p, out.len);
	ck_assert_int_eq(system("patch -s -p1 -i p"), 0);
	_cleanup_buf_ struct buf huge = BUF_INIT(1 << 24);
	for (int i = 0; i < LINES_MAX + 2; i++)
		buf_add_str(&huge, i % 2 ? "y\n" : "x\n");
	buf_clear(&out);
	buf_clear(&b);
	buf_add_str(&b, "z\n");
	ck_assert_int_eq(diff_unified(&out, "f", &huge, &b, SHOWN_MAX), 0);
	ck_assert_str_eq(out.p, "[the diff is not shown: too long]\n");
	/* Not even the names fit. */
	_cleanup_buf_ struct buf name = BUF_INIT(4096);
	while (name.len < 4000)
		buf_add_str(&name, "a\\");
	buf_clear(&out);
	ck_assert_int_eq(diff_unified(&out, name.p, &plain, &c, 2000), 0);
	ck_assert_str_eq(out.p, "[the diff is not shown: too long]\n");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/diff", test_texts, test_names, test_random_texts_apply, test_random_edits_apply, test_bounds)
