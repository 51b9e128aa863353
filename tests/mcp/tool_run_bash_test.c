/*
 * run_bash: what is asked of init, and the text made of a result.
 */
#include "tests/mcp/double.h"

extern const struct mcp_tool tool_run_bash;

/* Calls the tool and answers in the place of init. */
static const char *call_with(const char *json, const struct exec_result *res)
{
	d.done = NULL;
	(void) double_call(&tool_run_bash, json);
	if (d.done)
		d.done(&d.call, res);
	return buf_cstr(&d.call.text);
}

static struct exec_result exited(int code)
{
	return (struct exec_result){ .wait_status = code << 8, .output = BUF_INIT(1 << 20), .tail = BUF_INIT(1 << 20) };
}

static void print(struct exec_result *res, const char *text)
{
	buf_add_str(&res->output, text);
	res->output_total += strlen(text);
}

START_TEST(test_request)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result ok = exited(0);

	ck_assert_str_eq(call_with("{\"command\":\"echo hi\"}", &ok), "[Exit code: 0]");
	ck_assert_str_eq(d.command, "/bin/sh|-c|echo hi");
	ck_assert_int_eq(d.asked.timeout_ms, 60000);
	ck_assert_uint_eq(d.asked.output_max + d.asked.tail_max, 51200);
	ck_assert_ptr_null(d.asked.input);
	ck_assert_ptr_null(d.asked.cwd);
	(void) call_with("{\"command\":\"x\",\"timeout\":7}", &ok);
	ck_assert_int_eq(d.asked.timeout_ms, 7000);
	d.config.command_timeout_s = 5;
	(void) call_with("{\"command\":\"x\"}", &ok);
	ck_assert_int_eq(d.asked.timeout_ms, 5000);
	double_teardown();
}
END_TEST

START_TEST(test_results)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(1);

	print(&res, "out\nerr\n");
	ck_assert_str_eq(call_with("{\"command\":\"x\"}", &res), "[Exit code: 1]\nout\nerr\n");
	ck_assert(!d.call.is_error);
	ck_assert_has(d.call.summary, "exit_code=1");
	res.wait_status = SIGKILL;
	ck_assert_has(call_with("{\"command\":\"x\"}", &res), "[Exit code: -9]\n");
	ck_assert(!d.call.is_error);
	buf_clear(&res.output);
	print(&res, "caf\xE9");
	ck_assert_str_eq(call_with("{\"command\":\"x\"}", &res), "[Exit code: -9]\ncaf\xEF\xBF\xBD");
	double_teardown();
}
END_TEST

START_TEST(test_long_output)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);

	for (int i = 0; i < 25599; i++)
		buf_add_char(&res.output, 'h');
	buf_add_str(&res.output, "\xC3"); /* the cut goes through a character, at both ends */
	buf_add_str(&res.tail, "\xA9");
	for (int i = 0; i < 25599; i++)
		buf_add_char(&res.tail, 't');
	res.output_total = 60000;
	const char *text = call_with("{\"command\":\"x\"}", &res);
	ck_assert(strncmp(text, "[Exit code: 0]\nhhhh", 19) == 0);
	ck_assert_has(text, "output truncated at 50KB");
	ck_assert_has(text, "8802 bytes from the middle of 60000");
	ck_assert_str_eq(text + strlen(text) - 4, "tttt");
	ck_assert_has_not(text, "\xEF\xBF\xBD");
	ck_assert_uint_lt(strlen(text), 65000);
	/* Exactly the cap is not cut. */
	_cleanup_(exec_result_done) struct exec_result full = exited(0);
	for (int i = 0; i < 51200; i++)
		buf_add_char(&full.output, 'x');
	full.output_total = 51200;
	ck_assert_has_not(call_with("{\"command\":\"x\"}", &full), "truncated");
	double_teardown();
}
END_TEST

START_TEST(test_timeout)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);

	res.timed_out = true;
	res.wait_status = SIGKILL;
	ck_assert_failed(call_with("{\"command\":\"sleep 9\",\"timeout\":1}", &res), "timed out after 1s");
	ck_assert_has(buf_cstr(&d.call.text), "printed nothing");
	print(&res, "so far");
	ck_assert_failed(call_with("{\"command\":\"sleep 99\"}", &res), "timed out after 60s");
	ck_assert_has(buf_cstr(&d.call.text), "until then:\nso far");
	double_teardown();
}
END_TEST

START_TEST(test_refused)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);

	ck_assert_failed(call_with("{\"command\":\"x\",\"timeout\":0}", &res), "from 1 to 3600 seconds, but is 0");
	ck_assert_failed(call_with("{\"command\":\"x\",\"timeout\":-1}", &res), "from 1 to 3600");
	ck_assert_failed(call_with("{\"command\":\"x\",\"timeout\":1000000000}", &res), "from 1 to 3600");
	ck_assert_int_eq(d.execs, 0);
	_cleanup_buf_ struct buf json = BUF_INIT(1 << 20);
	buf_add_str(&json, "{\"command\":\"");
	for (int i = 0; i < 131071; i++)
		buf_add_char(&json, 'x');
	buf_add_str(&json, "x\"}");
	ck_assert_failed(call_with(json.p, &res), "131072 bytes, but a command may have 131071");
	ck_assert_int_eq(d.execs, 0);
	buf_truncate(&json, json.len - 3);
	buf_add_str(&json, "\"}");
	ck_assert_worked(call_with(json.p, &res), "[Exit code: 0]");
	ck_assert_failed(call_with("{\"command\":\"x\"}", &(struct exec_result) { .cancelled = true }), "cancelled");
	d.async_result = -EPIPE;
	ck_assert_failed(call_with("{\"command\":\"x\"}", &res), "init does not answer");
	double_teardown();
}
END_TEST

START_TEST(test_not_started)
{
	static const struct {
		int step, errnum;
		const char *want;
	} rows[] = {
		{ INITMSG_STEP_CWD, EACCES, "the workspace cannot be entered" },
		{ INITMSG_STEP_EXEC, ENOENT, "no /bin/sh" },
		{ INITMSG_STEP_SETUP, EAGAIN, "too many processes" },
		{ INITMSG_STEP_SETUP, EPERM, "isolation" },
		{ INITMSG_STEP_REQUEST, EAGAIN, "too many" },
		{ INITMSG_STEP_EXEC, EIO, "refused" },
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct exec_result res = { .refused_step = rows[i].step, .refused_errnum = rows[i].errnum };

		ck_assert_failed(call_with("{\"command\":\"x\"}", &res), "could not be started");
		ck_assert_has(buf_cstr(&d.call.text), rows[i].want);
	}
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_run_bash", test_request, test_results, test_long_output, test_timeout, test_refused,
	  test_not_started)
