/*
 * search_workspace: what is found, in which order, where it stops, what is never entered.
 */
#include <time.h>

#include "tests/mcp/double.h"

extern const struct mcp_tool tool_search_workspace;

static const char *call(const char *json)
{
	return double_call(&tool_search_workspace, json);
}

static void make(const char *path)
{
	char dir[200];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t len = (size_t) (slash - path);
		memcpy(dir, path, len);
		dir[len] = '\0';
		ck_assert(mkdir(dir, 0755) == 0 || errno == EEXIST);
	}
	double_put_str(path, "");
}

START_TEST(test_patterns)
{
	static const char *const files[] = {
		"a.py",    "b.txt",        "src/a.py",  "src/x/a.py", "src/x/y/a.py",         "src-old/a.py",
		"src0.py", ".hidden/a.py", ".git/a.py", ".venv/a.py", "src/__pycache__/a.py", ".mcp/a.py",
		"foo..bar"
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		make(files[i]);
	ck_assert_str_eq(
		call("{\"pattern\":\"**/*.py\"}"),
		"Found 7 matches:\n.hidden/a.py\na.py\nsrc-old/a.py\nsrc/a.py\nsrc/x/a.py\nsrc/x/y/a.py\nsrc0.py");
	ck_assert_str_eq(d.call.summary, "7 matches");
	ck_assert_str_eq(call("{\"pattern\":\"src/**/*.py\"}"), "Found 3 matches:\nsrc/a.py\nsrc/x/a.py\nsrc/x/y/a.py");
	ck_assert_str_eq(call("{\"pattern\":\"src/*.py\"}"), "Found 1 matches:\nsrc/a.py");
	ck_assert_str_eq(call("{\"pattern\":\"*.txt\"}"), "Found 1 matches:\nb.txt");
	ck_assert_str_eq(call("{\"pattern\":\"foo..bar\"}"), "Found 1 matches:\nfoo..bar");
	ck_assert_str_eq(call("{\"pattern\":\"src/x/**\"}"), "Found 2 matches:\nsrc/x/a.py\nsrc/x/y/a.py");
	ck_assert_str_eq(call("{\"pattern\":\"{src,src-old}/*.py\"}"), "Found 2 matches:\nsrc-old/a.py\nsrc/a.py");
	ck_assert_worked(call("{\"pattern\":\"*.rs\"}"), "No files found");
	ck_assert_worked(call("{\"pattern\":\"src\"}"), "No files found"); /* directories are no files */
	ck_assert_str_eq(call("{\"pattern\":\"*.py\",\"exclude_patterns\":[\"src\",\".hidden\"]}"),
			 "Found 3 matches:\na.py\nsrc-old/a.py\nsrc0.py");
	ck_assert_str_eq(call("{\"pattern\":\"*.py\",\"exclude_patterns\":[\"src*/*\",\".hidden/**\"]}"),
			 "Found 2 matches:\na.py\nsrc0.py");
	ck_assert_worked(call("{\"pattern\":\"*.py\",\"exclude_patterns\":[\"*.py\"]}"), "No files found");
	static const char *const refused[] = { "../etc/passwd", "/etc/passwd", "~/x", "a/../b" };
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		char json[100];
		(void) snprintf(json, sizeof(json), "{\"pattern\":\"%s\"}", refused[i]);
		ck_assert_failed(call(json), "Invalid glob pattern");
		ck_assert_has(buf_cstr(&d.call.text), "Path traversal or absolute paths are not allowed");
	}
	ck_assert_failed(call("{\"pattern\":\"\"}"), "Invalid glob pattern");
	double_teardown();
}
END_TEST

START_TEST(test_links)
{
	double_setup();
	make("dir/f.c");
	ck_assert_int_eq(symlink("dir", "to-dir.c"), 0);
	ck_assert_int_eq(symlink("dir/f.c", "to-file.c"), 0);
	ck_assert_int_eq(symlink("nowhere", "dangling.c"), 0);
	ck_assert_int_eq(symlink("..", "dir/up"), 0);
	ck_assert_int_eq(mkfifo("pipe.c", 0644), 0);
	ck_assert_str_eq(call("{\"pattern\":\"**/*.c\"}"), "Found 3 matches:\ndangling.c\ndir/f.c\nto-file.c");
	double_teardown();
}
END_TEST

START_TEST(test_cap)
{
	char path[40];

	double_setup();
	for (int i = 0; i < 50; i++) {
		(void) snprintf(path, sizeof(path), "d%d/f%02d.x", i % 3, i);
		make(path);
	}
	ck_assert_worked(call("{\"pattern\":\"*.x\"}"), "Found 50 matches:");
	ck_assert_has_not(buf_cstr(&d.call.text), "truncated");
	make("d2/z.x");
	ck_assert_worked(call("{\"pattern\":\"*.x\"}"), "Found 50 matches:");
	ck_assert_has(buf_cstr(&d.call.text), "\n[results truncated: matches 1 to 50 of 51, sorted, are shown. To go on, repeat the call with offset 50, or ");
	ck_assert_has_not(buf_cstr(&d.call.text), "z.x");
	ck_assert_str_eq(call("{\"pattern\":\"*.x\",\"offset\":50}"), "Found 1 matches:\nd2/z.x");
	ck_assert_worked(call("{\"pattern\":\"*.x\",\"offset\":51}"), "No files found from offset 51 on: there are 51 that match '*.x'.");
	d.config.max_search_results = 2;
	ck_assert_has(call("{\"pattern\":\"*.x\"}"), "Found 2 matches:\nd0/f00.x\nd0/f03.x\n[results truncated: matches 1 to 2 of 51, ");
	ck_assert_has(call("{\"pattern\":\"*.x\",\"offset\":1}"), "Found 2 matches:\nd0/f03.x\nd0/f06.x\n[results truncated: matches 2 to 3 of 51, ");
	/* Paths that do not fit into an answer. */
	d.config.max_search_results = 1000;
	d.config.max_answer_chars = 2000;
	char long_name[300];
	for (int i = 0; i < 20; i++) {
		memset(long_name, 'n', 200);
		(void) snprintf(long_name + 200, 100, "%02d.y", i);
		make(long_name);
	}
	ck_assert_worked(call("{\"pattern\":\"*.y\"}"), "Found 5 matches:\n");
	ck_assert_has(buf_cstr(&d.call.text), "\n[results truncated: matches 1 to 5 of 20, ");
	ck_assert_worked(call("{\"pattern\":\"*.y\",\"offset\":15}"), "Found 5 matches:\n");
	ck_assert_has_not(buf_cstr(&d.call.text), "truncated");
	double_teardown();
}
END_TEST

START_TEST(test_large_tree)
{
	char path[40];

	double_setup();
	for (int i = 0; i < 200; i++) {
		(void) snprintf(path, sizeof(path), "d%03d", i);
		ck_assert_int_eq(mkdir(path, 0755), 0);
		for (int k = 0; k < 60; k++) {
			(void) snprintf(path, sizeof(path), "d%03d/file%02d.c", i, k);
			double_put_str(path, "");
		}
	}
	time_t start = time(NULL);
	ck_assert_has(call("{\"pattern\":\"**/file59.c\"}"), "Found 50 matches:\nd000/file59.c\nd001/file59.c\n");
	ck_assert_has(buf_cstr(&d.call.text), "matches 1 to 50 of 200, sorted, are shown. ");
	/* Counting ends some time. */
	d.config.max_search_results = 1;
	ck_assert_has(call("{\"pattern\":\"file00.c\"}"), "matches 1 to 1 of at least 16");
	ck_assert_has(call("{\"pattern\":\"file00.c\",\"offset\":199}"), "Found 1 matches:\nd199/file00.c");
	ck_assert_has_not(buf_cstr(&d.call.text), "truncated");
	ck_assert_worked(call("{\"pattern\":\"nothing\"}"), "No files found");
	ck_assert_int_lt(time(NULL) - start, 20);
	atomic_store(&d.cancelled, true);
	(void) call("{\"pattern\":\"nothing\"}");
	ck_assert(d.call.is_error);
	double_teardown();
}
END_TEST

START_TEST(test_deep_tree)
{
	double_setup();
	int depth = 0;

	while (depth < 200) {
		ck_assert_int_eq(mkdir("d", 0755), 0);
		ck_assert_int_eq(chdir("d"), 0);
		depth++;
	}
	double_put_str("f", "");
	ck_assert_has(call("{\"pattern\":\"f\"}"), "search incomplete");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_search_workspace", test_patterns, test_links, test_cap, test_large_tree, test_deep_tree)
