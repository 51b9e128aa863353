/*
 * What is proposed for a path that leads to nothing: something that is there, or nothing.
 */
#include "mcp/nearby.h"

#include "tests/mcp/double.h"

static const struct {
	const char *path, *want; /* NULL: nothing */
} rows[] = {
	{ "src/man.c", "src/main.c" },
	{ "src/Main.c", "src/main.c" },
	{ "sources/main.c", NULL },
	{ "scr/main.c", "src/main.c" },         /* a directory in the path */
	{ "scr/none.c", "src" },                /* … and what follows is not there either */
	{ "docs/a/b/guide.md", NULL },          /* nothing like it */
	{ "src/deep/er/file.txt", "src/deeper" },
	{ "Makefil", "Makefile" },
	{ "x", NULL },                          /* too short to tell */
	{ "src/x", NULL },
	{ "src/escape/pass", NULL },            /* leads outside */
	{ ".gti", NULL },                       /* what is hidden is not proposed */
	{ "", NULL },
	{ "src/", NULL },
	{ "to-src/man.c", "to-src/main.c" },    /* through a link */
	{ "bell-name", NULL },                  /* nobody can give the name in a call */
	{ "latin.txt", NULL },
};

START_TEST(test_rows)
{
	double_setup();
	char near[WS_PATH_MAX];

	ck_assert_int_eq(mkdir("src", 0755) | mkdir("src/deeper", 0755) | mkdir(".git", 0755), 0);
	double_put_str("src/main.c", "");
	double_put_str("Makefile", "");
	double_put_str("y", "");
	double_put_str("bell\aname", "");
	double_put_str("lat\xEDn.txt", "");
	ck_assert_int_eq(symlink("/etc", "src/escape"), 0);
	ck_assert_int_eq(symlink("src", "to-src"), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool found = nearby_find(&d.call, rows[i].path, near);
		ck_assert_msg(found == (rows[i].want != NULL), "%s: %s", rows[i].path, found ? near : "nothing");
		if (found)
			ck_assert_str_eq(near, rows[i].want);
	}
	double_teardown();
}
END_TEST

/* A path of any length, with names of any length. */
START_TEST(test_long_paths)
{
	double_setup();
	char near[WS_PATH_MAX], path[WS_PATH_MAX + 10];

	ck_assert_int_eq(mkdir("dir", 0755), 0);
	for (size_t len = 1; len < sizeof(path); len += len < 600 ? 1 : 97) {
		memset(path, 'a', len);
		path[len] = '\0';
		ck_assert(!nearby_find(&d.call, path, near));
		for (size_t i = 3; i < len; i += 4)
			path[i] = '/';
		if (len > 4)
			memcpy(path, "dri", 3);
		bool found = nearby_find(&d.call, path, near);
		ck_assert(!found || strcmp(near, "dir") == 0);
	}
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/nearby", test_rows, test_long_paths)
