/*
 * search_and_replace: the whole tool, from the arguments to the file.
 */
#include "tests/mcp/double.h"

extern const struct mcp_tool tool_search_and_replace;

static const char *call(const char *json)
{
	return double_call(&tool_search_and_replace, json);
}

START_TEST(test_exact_edits)
{
	double_setup();
	struct stat st;

	double_put_str("f.txt", "one\ntwo\nthree\n");
	ck_assert_int_eq(chmod("f.txt", 0755), 0);
	ck_assert_str_eq(call("{\"filepath\":\"f.txt\",\"edits\":[{\"old\":\"one\",\"new\":\"1\"},{\"old\":\"three\","
			      "\"new\":\"3\"}]}"),
			 "Successfully applied 2 edits (2 exact, 0 fuzzy-matched) to f.txt\n\n--- a/f.txt\n+++ "
			 "b/f.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n"
			 "-three\n+3\n");
	ck_assert_str_eq(d.call.summary, "2 edits (2 exact, 0 fuzzy-matched)");
	ck_assert_file("f.txt", "1\ntwo\n3\n");
	ck_assert_int_eq(stat("f.txt", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	/* Later edits see earlier ones. */
	ck_assert_worked(call("{\"filepath\":\"f.txt\",\"edits\":[{\"old\":\"1\",\"new\":\"x\"},{\"old\":\"x\\ntwo\","
			      "\"new\":\"y\"}]}"),
			 "2 edits");
	ck_assert_file("f.txt", "y\n3\n");
	ck_assert_uint_eq(double_entries("."), 1);
	double_teardown();
}
END_TEST

START_TEST(test_dry_run)
{
	double_setup();
	double_put_str("f.txt", "line1\n  line2\n");
	const char *text = call("{\"filepath\":\"f.txt\",\"edits\":[{\"old\":\"line1\\nline2\",\"new\":\"new1\\nnew2\"}"
				"],\"dry_run\":true}");
	ck_assert_worked(text, "DRY RUN");
	ck_assert_has(text, "1 edits (0 exact, 1 fuzzy-matched)");
	ck_assert_has(text, "-line1\n-  line2\n+new1\n+  new2\n");
	ck_assert_file("f.txt", "line1\n  line2\n");
	ck_assert_failed(call("{\"filepath\":\"f.txt\",\"edits\":[{\"old\":\"nope\",\"new\":\"x\"}],\"dry_run\":true}"),
			 "not found");
	double_put_str("f.json", "{}");
	ck_assert_failed(call("{\"filepath\":\"f.json\",\"edits\":[{\"old\":\"}\",\"new\":\"\"}],\"dry_run\":true}"),
			 "JSON parse error");
	double_teardown();
}
END_TEST

START_TEST(test_all_or_nothing)
{
	double_setup();
	double_put_str("f.txt", "a\nb\nb\n");
	static const struct {
		const char *edits, *want;
	} rows[] = {
		{ "[{\"old\":\"a\",\"new\":\"x\"},{\"old\":\"missing\",\"new\":\"y\"}]",
		  "Edit 1: 'missing' not found in f.txt" },
		{ "[{\"old\":\"missing\",\"new\":\"y\"}]", "Edit 0" },
		{ "[{\"old\":\"b\",\"new\":\"y\"}]", "found 2 times (exact match)" },
		{ "[{\"old\":\" b \",\"new\":\"y\"}]", "Found 2 fuzzy matches" },
		{ "[{\"old\":\"\",\"new\":\"y\"}]", "empty 'old' text" },
		{ "[{\"old\":\"a\"}]", "Edit 0 must contain 'old' and 'new' keys" },
		{ "[{\"old\":\"a\",\"new\":\"x\"},{\"new\":\"a\"}]", "Edit 1 must contain 'old' and 'new' keys" },
		{ "[{\"old\":\"a\",\"new\":5}]", "must contain 'old' and 'new' keys" },
		{ "[7]", "must contain 'old' and 'new' keys" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char json[300];

		(void) snprintf(json, sizeof(json), "{\"filepath\":\"f.txt\",\"edits\":%s}", rows[i].edits);
		ck_assert_failed(call(json), rows[i].want);
		ck_assert_file("f.txt", "a\nb\nb\n");
	}
	double_teardown();
}
END_TEST

START_TEST(test_no_change)
{
	double_setup();
	double_put_str("f.txt", "a\n");
	ck_assert_worked(call("{\"filepath\":\"f.txt\",\"edits\":[]}"), "No changes made");
	ck_assert_worked(call("{\"filepath\":\"f.txt\",\"edits\":[{\"old\":\"a\",\"new\":\"a\"}]}"), "No changes made");
	ck_assert_worked(call("{\"filepath\":\"f.txt\",\"edits\":[{\"old\":\"a\",\"new\":\"b\"},{\"old\":\"b\",\"new\":"
			      "\"a\"}]}"),
			 "No changes made");
	double_teardown();
}
END_TEST

START_TEST(test_bytes_are_kept)
{
	double_setup();
	double_put_str("crlf.txt", "\xEF\xBB\xBFline1\r\nline2\r\nlast");
	ck_assert_worked(
		call("{\"filepath\":\"crlf.txt\",\"edits\":[{\"old\":\"line1\\nline2\",\"new\":\"new1\\nnew2\"}]}"),
		"1 exact");
	ck_assert_file("crlf.txt", "\xEF\xBB\xBFnew1\r\nnew2\r\nlast");
	ck_assert_worked(call("{\"filepath\":\"crlf.txt\",\"edits\":[{\"old\":\"\\ufeffnew1\",\"new\":\"\\ufeffx\"}]}"),
			 "1 exact");
	ck_assert_file("crlf.txt", "\xEF\xBB\xBFx\r\nnew2\r\nlast");
	double_put_str("latin.txt", "caf\xE9\nx\f\xC2\x85y\rz\n");
	ck_assert_worked(call("{\"filepath\":\"latin.txt\",\"edits\":[{\"old\":\"z\",\"new\":\"w\"}]}"), "1 exact");
	ck_assert_file("latin.txt", "caf\xE9\nx\f\xC2\x85y\rw\n");
	ck_assert_failed(call("{\"filepath\":\"latin.txt\",\"edits\":[{\"old\":\"w\",\"new\":\"\\u00e9\"}]}"),
			 "not in UTF-8");
	double_put_str("bom.py", "\xEF\xBB\xBFx = 1\n");
	ck_assert_worked(call("{\"filepath\":\"bom.py\",\"edits\":[{\"old\":\"1\",\"new\":\"2\"}]}"), "1 exact");
	ck_assert_file("bom.py", "\xEF\xBB\xBFx = 2\n");
	double_teardown();
}
END_TEST

START_TEST(test_syntax_gate)
{
	double_setup();
	double_put_str("f.py", "def f():\n    return 1\n");
	ck_assert_failed(call("{\"filepath\":\"f.py\",\"edits\":[{\"old\":\"f():\",\"new\":\"f(:\"}]}"),
			 "Python syntax error at line 1");
	ck_assert_file("f.py", "def f():\n    return 1\n");
	/* A broken file may be repaired step by step. */
	double_put_str("f.py", "a = (\nb = )\nc = 1\n");
	ck_assert_worked(call("{\"filepath\":\"f.py\",\"edits\":[{\"old\":\"b = )\",\"new\":\"b = 2\"}]}"),
			 "still is not: Python syntax error");
	ck_assert_worked(call("{\"filepath\":\"f.py\",\"edits\":[{\"old\":\"a = (\",\"new\":\"a = 1\"}]}"), "1 exact");
	ck_assert_has_not(buf_cstr(&d.call.text), "Warning");
	ck_assert_file("f.py", "a = 1\nb = 2\nc = 1\n");
	double_teardown();
}
END_TEST

START_TEST(test_targets)
{
	double_setup();
	struct stat st;

	ck_assert_failed(call("{\"filepath\":\"nope\",\"edits\":[]}"), "File 'nope' not found");
	ck_assert_failed(call("{\"filepath\":\"no/such\",\"edits\":[]}"), "File 'no/such' not found");
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ck_assert_failed(call("{\"filepath\":\"dir\",\"edits\":[]}"), "is a directory");
	ck_assert_failed(call("{\"filepath\":\".\",\"edits\":[]}"), "is a directory");
	ck_assert_failed(call("{\"filepath\":\"../x\",\"edits\":[]}"), "outside the workspace boundary");
	double_put("bin", "a\0b", 3);
	ck_assert_failed(call("{\"filepath\":\"bin\",\"edits\":[]}"), "binary");
	ck_assert_int_eq(mkfifo("fifo", 0644), 0);
	ck_assert_failed(call("{\"filepath\":\"fifo\",\"edits\":[]}"), "named pipe");
	double_put_str("dir/real", "a\n");
	ck_assert_int_eq(symlink("/workspace/dir/real", "link"), 0);
	ck_assert_worked(call("{\"filepath\":\"link\",\"edits\":[{\"old\":\"a\",\"new\":\"b\"}]}"), "+++ b/dir/real");
	ck_assert_file("dir/real", "b\n");
	ck_assert_int_eq(lstat("link", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	double_put_str("empty", "");
	ck_assert_failed(call("{\"filepath\":\"empty\",\"edits\":[{\"old\":\"a\",\"new\":\"b\"}]}"),
			 "not found in empty");
	double_teardown();
}
END_TEST

/* A diff that does not fit into an answer says how much is missing and where. */
START_TEST(test_long_diff)
{
	double_setup();
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 20), json = BUF_INIT(1 << 20);
	for (int i = 0; i < 5000; i++)
		buf_addf(&data, "this is line number %d\n", i);
	double_put("f", data.p, data.len);
	buf_add_str(&json, "{\"filepath\":\"f\",\"edits\":[");
	for (int i = 0; i < 200; i++)
		buf_addf(&json, "%s{\"old\":\"number %d\\n\",\"new\":\"changed %d\\n\"}", i ? "," : "", 20 * i + 1, i);
	buf_add_str(&json, "]}");
	const char *text = call(json.p), *note = strstr(text, " hunks of the diff are not shown, the first at line ");
	ck_assert_worked(text, "Successfully applied 200 edits (200 exact, 0 fuzzy-matched)");
	ck_assert_ptr_nonnull(note);
	ck_assert_uint_gt(strlen(text), 30000);
	int line = 0, offset = 0;
	ck_assert_int_eq(sscanf(note, " hunks of the diff are not shown, the first at line %d: too long. To see it, call read_file with offset %d.]", &line,
				&offset), 2);
	ck_assert_int_eq(offset, line - 1);
	ck_assert_int_eq(line % 20, 2); /* lines are counted from 1 */
	d.config.max_answer_chars = 2000;
	double_put("f", data.p, data.len);
	ck_assert_worked(call(json.p), " hunks of the diff are not shown");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_search_and_replace", test_long_diff, test_exact_edits, test_dry_run, test_all_or_nothing, test_no_change,
	  test_bytes_are_kept, test_syntax_gate, test_targets)
