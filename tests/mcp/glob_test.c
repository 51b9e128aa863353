/*
 * File name patterns: what they match, what is refused, and that no pattern takes long.
 */
#include "mcp/glob.h"

#include <string.h>
#include <time.h>

#include "tests/harness/unit.h"

static bool matches(const char *pattern, const char *path)
{
	_cleanup_glob_ struct glob g = { .alt = NULL };
	const char *why;

	ck_assert_msg(glob_compile(&g, pattern, &why) == 0, "%s: %s", pattern, why);
	return glob_match(&g, path);
}

START_TEST(test_matches)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} rows[] = {
		{ "**/*.py", "a.py", true },
		{ "**/*.py", "x/y/z/a.py", true },
		{ "**/*.py", "x/a.pyc", false },
		{ "src/**/*.py", "src/a.py", true },
		{ "src/**/*.py", "src/x/a.py", true },
		{ "src/**/*.py", "src/x/y/a.py", true },
		{ "src/**/*.py", "x/src/a.py", false },
		{ "src/**/*.py", "srcx/a.py", false },
		{ "*.py", "a.py", true },
		{ "*.py", "x/a.py", true },
		{ "x/**", "x/y/z/a.py", true },
		{ "x/**", "x", false },
		{ "x/**", "y/x/a", false },
		{ "x/", "x/y/a", true },
		{ "x/", "y/a", false },
		{ "**", "a/b", true },
		{ "{a,c}/*.py", "a/b.py", true },
		{ "{a,c}/*.py", "b/b.py", false },
		{ "*.{c,h}", "x/a.h", true },
		{ "*.{c,h,{cc,hh}}", "a.hh", true },
		{ "{a}", "{a}", true },
		{ "{a,b", "{a,b", true },
		{ "a{,.bak}", "a", true },
		{ "a{,.bak}", "a.bak", true },
		{ "*.PY", "a.py", false },
		{ "tests/test_*.py", "tests/test_x.py", true },
		{ "tests/test_*.py", "tests/sub/test_x.py", false },
		{ "*/b", "a/b", true },
		{ "*/b", "b", false },
		{ "*/b", "a/c/b", false },
		{ "a/*", "a/.hidden", true },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "a?c", "a\xC3\xA9" "c", true },
		{ "a?c", "a\xFF" "c", true },
		{ "a??c", "a\xC3\xA9" "c", false },
		{ "[a-c]x", "bx", true },
		{ "[!a-c]x", "bx", false },
		{ "[^a-c]x", "dx", true },
		{ "[]a]x", "]x", true },
		{ "[a-]x", "-x", true },
		{ "[\xC3\xA0-\xC3\xBF]x", "\xC3\xA9x", true },
		{ "[ab", "[ab", true },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "[\\]]", "]", true },
		{ "a**b", "axxb", true },
		{ "a**b", "a/b", false },
		{ "./src/*.c", "src/a.c", true },
		{ "src//a.c", "src/a.c", true },
		{ "foo..bar", "x/foo..bar", true },
		{ "a/**/b/**/c", "a/b/c", true },
		{ "a/**/b/**/c", "a/x/b/y/z/c", true },
		{ "a/**/b/**/c", "a/x/y/z/c", false },
		{ "**/a/*", "a/a/b", true },
		{ "*a*b*c*", "xaxbxcx", true },
		{ "*a*b*c*", "xaxcxbx", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(matches(rows[i].pattern, rows[i].path) == rows[i].match, "%s against %s", rows[i].pattern,
			      rows[i].path);
}
END_TEST

START_TEST(test_refused)
{
	static const char *const rows[] = { "",           "/etc/passwd", "~/x", "../etc/passwd", "a/../b", "..",
					    "a/{..,b}/c", ".",           "./" };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct glob g;
		const char *why = NULL;

		ck_assert_msg(glob_compile(&g, rows[i], &why) < 0, "%s was accepted", rows[i]);
		ck_assert_ptr_nonnull(why);
		ck_assert_uint_eq(g.count, 0);
	}
}
END_TEST

START_TEST(test_too_much_is_refused)
{
	struct glob g;
	const char *why;
	char text[GLOB_PATTERN_MAX + 2];

	ck_assert_int_lt(glob_compile(&g, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &why), 0); /* 256 */
	ck_assert_ptr_nonnull(strstr(why, "128"));
	ck_assert_int_eq(glob_compile(&g, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", &why), 0); /* 128 */
	ck_assert_uint_eq(g.count, 128);
	glob_done(&g);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_lt(glob_compile(&g, text, &why), 0);
	for (size_t i = 1; i < sizeof(text) - 1; i += 2)
		text[i] = '/';
	text[GLOB_PATTERN_MAX] = '\0';
	ck_assert_int_lt(glob_compile(&g, text, &why), 0);
	memset(text, '{', GLOB_PATTERN_MAX);
	ck_assert_int_eq(glob_compile(&g, text, &why), 0);
	glob_done(&g);
}
END_TEST

START_TEST(test_excludes)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} rows[] = {
		{ "node_modules", "node_modules", true },
		{ "node_modules", "a/node_modules", true },
		{ "node_modules", "node_modules_x", false },
		{ "**/node_modules/**", "node_modules/a", true },
		{ "**/node_modules/**", "x/node_modules/a/b", true },
		{ "tests/*", "tests/a/b/c.py", true },
		{ "tests/*", "x/tests/a", false },
		{ "*.py", "x/y/a.py", true },
		{ "src/*.js", "src/x/y.js", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_glob_ struct glob g = { .alt = NULL };
		const char *why;

		ck_assert_int_eq(glob_compile(&g, rows[i].pattern, &why), 0);
		ck_assert_msg(glob_excludes(&g, rows[i].path) == rows[i].match, "%s against %s", rows[i].pattern,
			      rows[i].path);
	}
}
END_TEST

/* Whenever a path matches, every directory above it must be entered. */
START_TEST(test_walk_never_misses)
{
	static const char *const patterns[] = { "*.py",      "src/**/*.c", "a/b/c",       "x/**", "**",
						"{a,b/c}/*", "*/b",        "a/**/b/**/c", "a/",   "?/[ab]/*" };
	static const char *const paths[] = { "a.py",  "a/b.py", "src/a.c",   "src/x/y/a.c", "a/b/c", "a/x",
					     "b/c/d", "x/y",    "x/a/b/c/d", "a/q/b/r/c",   "z/a/f", "q/b" };

	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		_cleanup_glob_ struct glob g = { .alt = NULL };
		const char *why;

		ck_assert_int_eq(glob_compile(&g, patterns[i], &why), 0);
		for (size_t k = 0; k < ARRAY_LEN(paths); k++) {
			char dir[64];

			for (const char *slash = strchr(paths[k], '/'); slash; slash = strchr(slash + 1, '/')) {
				size_t len = (size_t) (slash - paths[k]);
				memcpy(dir, paths[k], len);
				dir[len] = '\0';
				ck_assert_msg(!glob_match(&g, paths[k]) || glob_may_match_below(&g, dir), "%s %s %s",
					      patterns[i], paths[k], dir);
			}
		}
	}
	_cleanup_glob_ struct glob g = { .alt = NULL };
	const char *why;
	ck_assert_int_eq(glob_compile(&g, "src/*.c", &why), 0);
	ck_assert(!glob_may_match_below(&g, "lib"));
	ck_assert(!glob_may_match_below(&g, "src/deep"));
}
END_TEST

static double seconds(void)
{
	struct timespec t;

	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* Patterns that make backtracking matchers take for ever. */
START_TEST(test_no_pattern_is_slow)
{
	char pattern[GLOB_PATTERN_MAX + 1] = "", path[4096] = "";
	double start = seconds();

	for (int i = 0; i < 250; i++)
		(void) strncat(pattern, "*a", sizeof(pattern) - strlen(pattern) - 1);
	(void) strncat(pattern, "b", sizeof(pattern) - strlen(pattern) - 1);
	memset(path, 'a', 255);
	for (int i = 0; i < 100; i++)
		ck_assert(!matches(pattern, path));
	pattern[0] = '\0';
	for (int i = 0; i < 30; i++)
		(void) strncat(pattern, "**/a/", sizeof(pattern) - strlen(pattern) - 1);
	(void) strncat(pattern, "b", sizeof(pattern) - strlen(pattern) - 1);
	for (size_t i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "a/", 3);
	for (int i = 0; i < 100; i++)
		ck_assert(!matches(pattern, path));
	ck_assert_msg(seconds() - start < 5, "took %.1f s", seconds() - start);
}
END_TEST

START_TEST(test_random)
{
	static const char alphabet[] = "ab*?[]!-{},/\\.\xC3\xA9";
	unsigned int seed = 7;
	double start = seconds();

	for (int round = 0; round < 20000; round++) {
		char pattern[40], path[40];
		size_t n = (size_t) rand_r(&seed) % (sizeof(pattern) - 1),
		       m = (size_t) rand_r(&seed) % (sizeof(path) - 1);
		const char *why = NULL;
		struct glob g;

		for (size_t i = 0; i < n; i++)
			pattern[i] = alphabet[(size_t) rand_r(&seed) % (sizeof(alphabet) - 1)];
		for (size_t i = 0; i < m; i++)
			path[i] = "ab/.\xC3\xA9-"[(size_t) rand_r(&seed) % 7];
		pattern[n] = path[m] = '\0';
		if (glob_compile(&g, pattern, &why) < 0) {
			ck_assert_ptr_nonnull(why);
			continue;
		}
		if (glob_match(&g, path))
			ck_assert(glob_excludes(&g, path));
		glob_done(&g);
	}
	ck_assert_msg(seconds() - start < 10, "took %.1f s", seconds() - start);
}
END_TEST

UNIT_MAIN("mcp/glob", test_matches, test_refused, test_too_much_is_refused, test_excludes, test_walk_never_misses,
	  test_no_pattern_is_slow, test_random)
