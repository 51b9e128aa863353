/*
 * Proposals for arguments: words, paths of a workspace that is not friendly, and the cap.
 */
#include "mcp/complete.h"

#include "mcp/ws.h"
#include "tests/mcp/double.h"

static struct buf shown;

static const char *show(struct completions *c)
{
	buf_done(&shown);
	shown = (struct buf) BUF_INIT(2 * COMPLETE_TEXT_MAX);
	completions_write(&shown, c);
	completions_done(c);
	return buf_cstr(&shown);
}

static const char *words(const char *const *list, const char *typed)
{
	struct completions c = COMPLETIONS_INIT;

	complete_word(&c, list, typed);
	return show(&c);
}

static const char *paths(const char *typed, bool relative)
{
	struct completions c = COMPLETIONS_INIT;

	complete_path(&c, &d.call, typed, relative);
	return show(&c);
}

#define ONE(value) "{\"values\":[\"" value "\"],\"total\":1,\"hasMore\":false}"
#define NONE "{\"values\":[],\"total\":0,\"hasMore\":false}"

START_TEST(test_words)
{
	static const char *const list[] = { "make check", "make test", "npm test", NULL };

	ck_assert_str_eq(words(list, "make"), "{\"values\":[\"make check\",\"make test\"],\"total\":2,\"hasMore\":false}");
	ck_assert_str_eq(words(list, "n"), ONE("npm test"));
	ck_assert_str_eq(words(list, "npm test "), NONE);
	ck_assert_str_eq(words(NULL, ""), NONE);
	buf_done(&shown);
}
END_TEST

START_TEST(test_paths)
{
	double_setup();
	ck_assert_str_eq(paths("", false), NONE);
	ck_assert_int_eq(mkdir("src", 0755), 0);
	ck_assert_int_eq(mkdir("src/deep", 0755), 0);
	ck_assert_int_eq(mkdir(".git", 0755), 0);
	double_put_str("src/a.c", "");
	double_put_str("src/a b\".c", "");
	double_put_str("setup.py", "");
	double_put_str(".env", "");
	ck_assert_str_eq(paths("", false), "{\"values\":[\".env\",\"setup.py\",\"src/\"],\"total\":3,\"hasMore\":false}");
	ck_assert_str_eq(paths("s", false), "{\"values\":[\"setup.py\",\"src/\"],\"total\":2,\"hasMore\":false}");
	ck_assert_str_eq(paths("sr", false), ONE("src/"));
	ck_assert_str_eq(paths("src", false), ONE("src/"));
	ck_assert_str_eq(paths("src/a", false), "{\"values\":[\"src/a b\\\".c\",\"src/a.c\"],\"total\":2,\"hasMore\":false}");
	ck_assert_str_eq(paths("src/d", true), ONE("src/deep/"));
	ck_assert_str_eq(paths("./src/d", false), ONE("./src/deep/"));
	ck_assert_str_eq(paths(".g", false), NONE);
	/* Not there, no directory, case. */
	ck_assert_str_eq(paths("nothing/x", false), NONE);
	ck_assert_str_eq(paths("setup.py/x", false), NONE);
	ck_assert_str_eq(paths("S", false), NONE);
	/* By the workspace's name. */
	ck_assert_str_eq(paths("/workspace/sr", false), ONE("/workspace/src/"));
	ck_assert_str_eq(paths("/", false), ONE("/workspace/"));
	ck_assert_str_eq(paths("/work", false), ONE("/workspace/"));
	ck_assert_str_eq(paths("/workspace", false), ONE("/workspace/"));
	ck_assert_str_eq(paths("/workspaces", false), NONE);
	ck_assert_str_eq(paths("/workspace/sr", true), NONE);
	double_teardown();
	buf_done(&shown);
}
END_TEST

START_TEST(test_hostile_paths)
{
	static char longest[3 * WS_PATH_MAX];

	double_setup();
	ck_assert_int_eq(mkdir("in", 0755), 0);
	ck_assert_int_eq(symlink("in", "to-dir"), 0);
	ck_assert_int_eq(symlink("/workspace/in", "to-dir-absolute"), 0);
	ck_assert_int_eq(symlink("/etc", "to-etc"), 0);
	ck_assert_int_eq(symlink("..", "to-above"), 0);
	ck_assert_int_eq(symlink("to-self", "to-self"), 0);
	ck_assert_int_eq(mkfifo("to-pipe", 0644), 0);
	double_put_str("in/new\nline", "");
	double_put_str("in/not\xff" "utf8", "");
	double_put_str("in/\xc3\xa4", "");
	/* A link out of the workspace is a name like another; nothing behind it is looked at. */
	ck_assert_str_eq(paths("to-", false), "{\"values\":[\"to-above\",\"to-dir/\",\"to-dir-absolute/\",\"to-etc\",\"to-pipe\","
					      "\"to-self\"],\"total\":6,\"hasMore\":false}");
	ck_assert_str_eq(paths("to-etc/", false), NONE);
	ck_assert_str_eq(paths("to-above/", false), NONE);
	ck_assert_str_eq(paths("to-pipe/", false), NONE);
	ck_assert_str_eq(paths("to-dir/", false), ONE("to-dir/\xc3\xa4"));
	ck_assert_str_eq(paths("/etc/pass", false), NONE);
	ck_assert_str_eq(paths("../", false), NONE);
	ck_assert_str_eq(paths("..", false), NONE);
	ck_assert_str_eq(paths("in/../", false), NONE);
	ck_assert_str_eq(paths("in//..//in/", false), NONE);
	memset(longest, 'x', sizeof(longest) - 1);
	ck_assert_str_eq(paths(longest, false), NONE);
	memset(longest, '/', sizeof(longest) - 1);
	ck_assert_str_eq(paths(longest, false), NONE);
	longest[WS_PATH_MAX - 1] = '\0';
	ck_assert_str_eq(paths(longest, false), NONE);
	double_teardown();
	buf_done(&shown);
}
END_TEST

START_TEST(test_cap)
{
	struct completions c = COMPLETIONS_INIT;
	char name[64];
	static char large[COMPLETE_TEXT_MAX / 2];

	double_setup();
	for (int i = 0; i < COMPLETE_VALUES_MAX + 1; i++) {
		(void) snprintf(name, sizeof(name), "f%03d", i);
		double_put_str(name, "");
	}
	const char *all = paths("", false);
	ck_assert_has(all, "\"f099\"]");
	ck_assert_has(all, ",\"total\":101,\"hasMore\":true}");
	ck_assert_int_eq(unlink("f000"), 0);
	ck_assert_has(paths("", false), "\"f100\"],\"total\":100,\"hasMore\":false}");
	double_teardown();
	/* What does not fit into the text is left out, and told. */
	memset(large, 'x', sizeof(large) - 1);
	for (int i = 0; i < 3; i++)
		completions_add(&c, large);
	completions_add(&c, "small");
	ck_assert_uint_eq(c.shown, 2);
	ck_assert_has(show(&c), "x\",\"small\"],\"total\":4,\"hasMore\":true}");
	c = (struct completions) COMPLETIONS_INIT;
	c.incomplete = true;
	ck_assert_str_eq(show(&c), "{\"values\":[],\"hasMore\":true}");
	buf_done(&shown);
}
END_TEST

UNIT_MAIN("mcp/complete", test_words, test_paths, test_hostile_paths, test_cap)
