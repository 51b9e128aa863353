/*
 * The list of protected paths, and what options may name.
 */
#include "runtime/spec/protected.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "tests/harness/unit.h"

START_TEST(test_list)
{
	static const char *const named[] = { ".git/hooks", ".git/config", ".claude", ".mcp.json", ".vscode", ".envrc", ".github/workflows" };
	struct err err;
	size_t count = 0;

	for (const struct protected_path *row = protected_paths; row->path; row++, count++) {
		ck_assert_ptr_eq(protected_parse("protect", row->path, &err), row->path);
		ck_assert_uint_gt(strlen(row->reason), 5);
		ck_assert_ptr_eq(protected_find(row->path), row);
		for (const struct protected_path *other = protected_paths; other != row; other++)
			ck_assert_msg(!protected_is_below(row->path, other->path), "'%s' is covered by '%s'", row->path, other->path);
		/* In a repository a folder stops git; elsewhere a file would be committed. */
		bool in_repository = strncmp(row->path, ".git/", 5) == 0;
		ck_assert_msg(in_repository || row->stand_in == PROTECTED_FOLDER || row->stand_in == PROTECTED_NONE, "%s", row->path);
	}
	ck_assert_uint_gt(count, ARRAY_LEN(named));
	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		ck_assert_str_eq(protected_find(named[i])->path, named[i]);
}
END_TEST

START_TEST(test_below)
{
	static const struct {
		const char *path, *dir;
		bool below;
	} cases[] = {
		{ "a", "a", true }, { "a/b", "a", true }, { "ab", "a", false }, { "a", "ab", false }, { "a", "a/b", false }, { ".git/hooks/x", ".git", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(protected_is_below(cases[i].path, cases[i].dir) == cases[i].below, "%s, %s", cases[i].path, cases[i].dir);
}
END_TEST

START_TEST(test_find)
{
	static const struct {
		const char *path, *row;
	} cases[] = {
		{ ".git/hooks/pre-commit", ".git/hooks" }, { ".git", ".git/hooks" }, { ".github", ".github/workflows" }, { ".gith", NULL },
		{ ".github/x", NULL }, { "src", NULL }, { ".git/HEAD", NULL }, { "sub/.git/hooks", NULL }, { "", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct protected_path *row = protected_find(cases[i].path);
		ck_assert_pstr_eq(row ? row->path : NULL, cases[i].row);
	}
}
END_TEST

START_TEST(test_parse)
{
	static const struct {
		const char *value, *path;
	} cases[] = {
		{ "a", "a" }, { "a/b/", "a/b/" }, { "./a", "a" }, { "././a", "a" }, { "/workspace/a", "a" }, { "/workspace/./a", "a" }, { "", NULL },
		{ ".", NULL }, { "./", NULL }, { "..", NULL }, { "a/..", NULL }, { "a/./b", NULL }, { "a//b", NULL }, { "/", NULL }, { "/a", NULL },
		{ "/workspace", NULL }, { "/workspace/", NULL }, { "/workspace//a", NULL }, { "a\nb", NULL }, { "a\x7f", NULL },
		{ "/workspace/../a", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { .text = "" };
		ck_assert_pstr_eq(protected_parse("protect", cases[i].value, &err), cases[i].path);
		ck_assert_msg(!cases[i].path == (strstr(err.text, "--protect '") != NULL), "'%s': %s", cases[i].value, err.text);
	}
}
END_TEST

UNIT_MAIN("runtime/spec/protected", test_list, test_below, test_find, test_parse)
