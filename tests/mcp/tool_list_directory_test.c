/*
 * list_directory: order, kinds, what is hidden, and the cap.
 */
#include "tests/mcp/double.h"

extern const struct mcp_tool tool_list_directory;

static const char *call(const char *json)
{
	return double_call(&tool_list_directory, json);
}

START_TEST(test_list)
{
	static const char *const dirs[] = { "src", "a-dir", ".git", "__pycache__", ".venv", ".mcp" };

	double_setup();
	ck_assert_str_eq(call("{}"), "Directory is empty.");
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		ck_assert_int_eq(mkdir(dirs[i], 0755), 0);
	double_put_str("b.txt", "");
	double_put_str("B.txt", "");
	double_put_str(".env", "");
	double_put_str("src/x", "");
	double_put_str("new\nline", "");
	ck_assert_int_eq(mkfifo("pipe", 0644), 0);
	ck_assert_int_eq(symlink("src", "to-dir"), 0);
	ck_assert_int_eq(symlink("/workspace/src", "to-dir-absolute"), 0);
	ck_assert_int_eq(symlink("/etc", "to-outside"), 0);
	ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
	ck_assert_str_eq(
		call("{}"),
		"[D] a-dir\n[D] src\n[D] to-dir\n[D] to-dir-absolute\n[F] .env\n[F] B.txt\n[F] b.txt\n[F] dangling\n"
		"[F] new\\x0aline\n[F] pipe\n[F] to-outside");
	ck_assert_str_eq(d.call.summary, "11 entries");
	ck_assert_str_eq(call("{\"path\":\"/workspace/src\"}"), "[F] x");
	ck_assert_str_eq(call("{\"path\":\"to-dir\"}"), "[F] x");
	ck_assert_str_eq(call("{\"path\":\"a-dir\"}"), "Directory is empty.");
	ck_assert_failed(call("{\"path\":\"nowhere\"}"), "Path 'nowhere' not found");
	ck_assert_failed(call("{\"path\":\"b.txt\"}"), "is not a directory");
	ck_assert_failed(call("{\"path\":\"..\"}"), "outside the workspace boundary");
	ck_assert_failed(call("{\"path\":\"to-outside\"}"), "outside the workspace boundary");
	double_teardown();
}
END_TEST

START_TEST(test_cap)
{
	char name[32];

	double_setup();
	for (int i = 0; i < 2001; i++) {
		(void) snprintf(name, sizeof(name), "f%04d", i);
		double_put_str(name, "");
	}
	const char *text = call("{}");
	ck_assert_worked(text, "[F] f1999\n[list truncated: entries 1 to 2000 of 2001 are shown. To go on, call list_directory with the same path and "
				"offset 2000.]");
	ck_assert_has_not(text, "f2000");
	ck_assert_str_eq(call("{\"offset\":2000}"), "[F] f2000");
	ck_assert_str_eq(call("{\"offset\":2001}"), "No entries from offset 2001 on: there are 2001.");
	ck_assert_int_eq(unlink("f0000"), 0);
	ck_assert_has_not(call("{}"), "truncated");
	double_teardown();
}
END_TEST

/* Names that do not fit into an answer: all of them, directories first, come in parts. */
START_TEST(test_long_answer)
{
	char path[300], json[40];
	int64_t offset = 0, last;

	double_setup();
	_cleanup_buf_ struct buf want = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
	for (int i = 0; i < 400; i++) { /* names of 200 bytes that need twice as many when shown, and of 4 */
		(void) snprintf(path, sizeof(path), "%03d%c", i, i % 2 ? 'x' : '\0');
		for (int k = 4; i % 2 && k < 200; k++)
			(void) snprintf(path + k, sizeof(path) - (size_t) k, "\x01");
		ck_assert_int_eq(i < 100 ? mkdir(path, 0755) : mknod(path, S_IFREG | 0644, 0), 0);
	}
	do {
		(void) snprintf(json, sizeof(json), "{\"offset\":%lld}", (long long) offset);
		const char *text = call(json), *note = strstr(text, "\n[list truncated: entries ");
		buf_addf(&again, "%s%.*s", offset ? "\n" : "", note ? (int) (note - text) : (int) strlen(text), text);
		last = offset;
		if (note)
			ck_assert_int_eq(sscanf(strstr(note, "and offset "), "and offset %ld", &offset), 1);
		ck_assert(!note || offset > last);
	} while (offset > last);
	d.config.max_answer_chars = 200000;
	buf_add_str(&want, call("{}"));
	ck_assert_has_not(want.p, "truncated");
	ck_assert_uint_gt(want.len, 100000);
	ck_assert_str_eq(again.p, want.p);
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_list_directory", test_list, test_cap, test_long_answer)
