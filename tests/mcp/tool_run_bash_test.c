/*
 * run_bash: what is asked of init, and the text made of a result.
 */
#include <sys/syscall.h>

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

/* What follows the output when system calls were refused. */
START_TEST(test_denials)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);
	res.denials = (struct initmsg_denials) { .kinds = 1, .rows = { { SYS_mount, EPERM, 3 } } };
	const char *text = call_with("{\"command\":\"x\"}", &res);

	ck_assert_has(text, "[Exit code: 0]\n\n[Denied by the sandbox: mount (EPERM, 3 times). ");
	ck_assert_int_eq(text[strlen(text) - 1], ']');
	print(&res, "a line\n");
	ck_assert_has(call_with("{\"command\":\"x\"}", &res), "[Exit code: 0]\na line\n\n[Denied by the sandbox: mount");
	print(&res, "half a line");
	ck_assert_has(call_with("{\"command\":\"x\"}", &res), "a line\nhalf a line\n\n[Denied by the sandbox: mount");
	const cJSON *list = cJSON_GetObjectItem(d.call.meta, "cloche/denials");
	ck_assert_int_eq(cJSON_GetArraySize(list), 1);
	ck_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), "call")), "mount");
	ck_assert_int_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), "times")->valueint, 3);
	res.timed_out = true;
	ck_assert_failed(call_with("{\"command\":\"x\"}", &res), "[Denied by the sandbox: mount");
	memset(&res.denials, 0xFF, sizeof(res.denials));
	ck_assert_failed(call_with("{\"command\":\"x\"}", &res), "calls of other kinds");
	double_teardown();
}
END_TEST

/* Error messages that the sandbox is the reason for, and those that it is not. */
START_TEST(test_notes)
{
	static const struct {
		const char *output, *want;
	} rows[] = {
		{ "touch: cannot touch '/usr/x': Read-only file system\n", "writing outside of /workspace and /tmp" },
		{ "open /usr/x: read-only file system\n", "writing outside of /workspace and /tmp" },
		{ "cat: /var/log/syslog: No such file or directory\n", "files of the host outside of the workspace" },
		{ "ls: cannot access '/home/me/.ssh': No such file or directory\n", "here, but not /home, /var. Use" },
		{ "mv: cannot move 'a' to 'b': Device or resource busy\n", "protected paths and volumes" },
		{ "curl: (6) Could not resolve host: example.com\n", "the network. There is none here" },
		{ "dial tcp: lookup proxy.golang.org: no such host\n", "the network. There is none here" },
		{ "Error: getaddrinfo EAI_AGAIN registry.npmjs.org\n", "the network. There is none here" },
		{ "OSError: [Errno 101] Network is unreachable\n", "the network. There is none here" },
		{ "sudo: The \"no new privileges\" flag is set\n", "root. Nothing becomes root here" },
		{ "Bad system call\n", "ended with SIGSYS" },
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(exec_result_done) struct exec_result res = exited(1);

		d.facts = (struct facts) { .has_mounts = true, .offline = true, .writable = "/workspace and /tmp" };
		d.facts.hidden[1] = d.facts.hidden[9] = true; /* /home and /var */
		print(&res, rows[i].output);
		print(&res, rows[i].output);
		const char *text = call_with("{\"command\":\"x\"}", &res), *note = strstr(text, "\n\n[Denied by the sandbox: ");
		ck_assert_has(text, rows[i].want);
		ck_assert_ptr_nonnull(note);
		ck_assert_msg(!strstr(note + 3, "[Denied"), "twice: %s", text);
		ck_assert_ptr_null(d.call.meta);
		/* A command that worked printed somebody else's message. */
		res.wait_status = 0;
		ck_assert_has_not(call_with("{\"command\":\"x\"}", &res), "[Denied");
		res.timed_out = true;
		ck_assert_has(call_with("{\"command\":\"x\"}", &res), rows[i].want);
	}
	double_teardown();
}
END_TEST

START_TEST(test_notes_are_true)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(1);

	print(&res, "Network is unreachable\nRead-only file system\nDevice or resource busy\n");
	ck_assert_has_not(call_with("{\"command\":\"x\"}", &res), "[Denied"); /* nothing is known */
	d.facts.hidden[1] = true; /* /home */
	print(&res, "/var/x: No such file or directory\n/home/agent/x: No such file or directory\n/workspace/home/x: No such file or "
		    "directory\n/home/me/x: found\nx: No such file or directory");
	ck_assert_has_not(call_with("{\"command\":\"x\"}", &res), "[Denied");
	print(&res, "no such file\nPermission denied\nOperation not permitted\n");
	d.facts = (struct facts) { .offline = true, .writable = "/tmp" };
	ck_assert_has_not(call_with("{\"command\":\"x\"}", &res), "protected paths");
	/* The end of a long output counts as well. */
	_cleanup_(exec_result_done) struct exec_result cut = exited(1);
	for (int i = 0; i < 25600; i++)
		buf_add_char(&cut.output, 'h');
	buf_add_str(&cut.tail, "Network is unreachable");
	cut.output_total = 90000;
	ck_assert_has(call_with("{\"command\":\"x\"}", &cut), "the network. There is none");
	/* Ended by the filter, without a word. */
	_cleanup_(exec_result_done) struct exec_result ended = exited(0);
	ended.wait_status = SIGSYS;
	ck_assert_has(call_with("{\"command\":\"x\"}", &ended), "[Exit code: -31]\n\n[Denied by the sandbox: a program that was ended");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_run_bash", test_request, test_results, test_long_output, test_timeout, test_refused,
	  test_not_started, test_denials, test_notes, test_notes_are_true)
