/*
 * write_file: what is written, what is refused, and that a refusal leaves nothing behind.
 */
#include "tests/mcp/double.h"

extern const struct mcp_tool tool_write_file;

static const char *call(const char *json)
{
	return double_call(&tool_write_file, json);
}

START_TEST(test_new_file)
{
	double_setup();
	ck_assert_str_eq(call("{\"filepath\":\"a.txt\",\"content\":\"h\\u00e9llo\\n\"}"),
			 "Successfully wrote 7 bytes to a.txt");
	ck_assert_file("a.txt", "h\xC3\xA9llo\n");
	ck_assert_worked(call("{\"filepath\":\"a/b/c.txt\",\"content\":\"\"}"),
			 "Successfully wrote 0 bytes to a/b/c.txt");
	ck_assert_file("a/b/c.txt", "");
	ck_assert_worked(call("{\"filepath\":\"/workspace/d.txt\",\"content\":\"x\"}"), "Successfully wrote 1 bytes");
	ck_assert_file("d.txt", "x");
	ck_assert_uint_eq(double_entries("."), 3);
	double_teardown();
}
END_TEST

START_TEST(test_existing_file)
{
	double_setup();
	struct stat st;

	double_put_str("a.sh", "old");
	ck_assert_int_eq(chmod("a.sh", 0755), 0);
	ck_assert_failed(call("{\"filepath\":\"a.sh\",\"content\":\"new\"}"), "already exists");
	ck_assert_file("a.sh", "old");
	ck_assert_worked(call("{\"filepath\":\"a.sh\",\"content\":\"new\",\"create_only\":false}"),
			 "Successfully wrote 3 bytes to a.sh");
	ck_assert_file("a.sh", "new");
	ck_assert_int_eq(stat("a.sh", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	ck_assert_int_eq(symlink("a.sh", "link"), 0);
	ck_assert_failed(call("{\"filepath\":\"link\",\"content\":\"x\"}"), "already exists");
	ck_assert_worked(call("{\"filepath\":\"link\",\"content\":\"through\",\"create_only\":false}"),
			 "Successfully wrote");
	ck_assert_file("a.sh", "through");
	ck_assert_int_eq(lstat("link", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(link("a.sh", "hard"), 0);
	ck_assert_worked(call("{\"filepath\":\"a.sh\",\"content\":\"y\",\"create_only\":false}"), "hard links");
	ck_assert_file("hard", "through");
	double_teardown();
}
END_TEST

START_TEST(test_refused)
{
	double_setup();
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	double_put_str("file", "");
	ck_assert_int_eq(mkfifo("fifo", 0644), 0);
	ck_assert_int_eq(symlink("/tmp", "out"), 0);
	static const struct {
		const char *json, *want;
	} rows[] = {
		{ "{\"filepath\":\"../x\",\"content\":\"x\"}", "outside the workspace boundary" },
		{ "{\"filepath\":\"/etc/x\",\"content\":\"x\"}", "outside the workspace boundary" },
		{ "{\"filepath\":\"out/x\",\"content\":\"x\"}", "outside the workspace boundary" },
		{ "{\"filepath\":\"dir\",\"content\":\"x\"}", "already exists" },
		{ "{\"filepath\":\"dir\",\"content\":\"x\",\"create_only\":false}", "is a directory" },
		{ "{\"filepath\":\"\",\"content\":\"x\",\"create_only\":false}", "is a directory" },
		{ "{\"filepath\":\"new/\",\"content\":\"x\"}", "names a directory" },
		{ "{\"filepath\":\"file/\",\"content\":\"x\",\"create_only\":false}", "names a directory" },
		{ "{\"filepath\":\"file/x\",\"content\":\"x\"}", "a file, not a directory" },
		{ "{\"filepath\":\"fifo\",\"content\":\"x\",\"create_only\":false}", "named pipe" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_failed(call(rows[i].json), rows[i].want);
		ck_assert_has_not(buf_cstr(&d.call.text), d.dir);
	}
	ck_assert_uint_eq(double_entries("."), 4);
	double_teardown();
}
END_TEST

START_TEST(test_size_guard)
{
	double_setup();
	d.config.max_write_bytes = 5;
	ck_assert_failed(call("{\"filepath\":\"new/a.txt\",\"content\":\"\\u00e9\\u00e9\\u00e9\"}"),
			 "exceeds MAX_WRITE_SIZE_BYTES");
	ck_assert_uint_eq(double_entries("."), 0);
	ck_assert_failed(call("{\"filepath\":\"../a.txt\",\"content\":\"too long\"}"),
			 "outside the workspace boundary");
	ck_assert_worked(call("{\"filepath\":\"a.txt\",\"content\":\"12345\"}"), "wrote 5 bytes");
	double_teardown();
}
END_TEST

START_TEST(test_syntax_gate)
{
	double_setup();
	ck_assert_failed(call("{\"filepath\":\"new/dir/bad.py\",\"content\":\"def foo(:\\n\"}"),
			 "Python syntax error at line 1");
	ck_assert_uint_eq(double_entries("."), 0);
	ck_assert_worked(call("{\"filepath\":\"good.py\",\"content\":\"def foo():\\n    pass\\n\"}"),
			 "Successfully wrote");
	ck_assert_failed(call("{\"filepath\":\"a.jsonl\",\"content\":\"{}\\n{broken\\n\"}"),
			 "JSONL parse error at line 2");
	ck_assert_failed(call("{\"filepath\":\"good.py\",\"content\":\"(\",\"create_only\":false}"),
			 "Python syntax error");
	ck_assert_file("good.py", "def foo():\n    pass\n");
	double_put_str("broken.json", "[");
	ck_assert_worked(call("{\"filepath\":\"broken.json\",\"content\":\"[1\",\"create_only\":false}"),
			 "Warning: the file was not valid before");
	ck_assert_file("broken.json", "[1");
	ck_assert_worked(call("{\"filepath\":\"a.txt\",\"content\":\"{\"}"), "Successfully wrote 1 bytes to a.txt");
	d.exec = DOUBLE_MISSING;
	ck_assert_worked(call("{\"filepath\":\"b.py\",\"content\":\"(\"}"), "not checked: there is no python3");
	ck_assert_uint_eq(double_entries("."), 4);
	double_teardown();
}
END_TEST

START_TEST(test_audit_line_has_no_content)
{
	_cleanup_buf_ struct buf line = BUF_INIT(1000);

	double_setup();
	(void) call("{\"filepath\":\"a.txt\",\"content\":\"secret\"}");
	tool_write_file.describe(&d.call, &line);
	ck_assert_str_eq(line.p, "filepath='a.txt', content_length=6, create_only=true");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_write_file", test_new_file, test_existing_file, test_refused, test_size_guard, test_syntax_gate,
	  test_audit_line_has_no_content)
