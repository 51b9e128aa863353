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
	ck_assert_worked(text, "[F] f1999\n[list truncated: 2000 of 2001 entries shown");
	ck_assert_has_not(text, "f2000");
	ck_assert_int_eq(unlink("f0000"), 0);
	ck_assert_has_not(call("{}"), "truncated");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_list_directory", test_list, test_cap)
