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
	ck_assert_uint_eq(d.asked.output_max + d.asked.tail_max, 40000);
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
	res.output_total = 0;
	print(&res, "caf\xE9");
	ck_assert_str_eq(call_with("{\"command\":\"x\"}", &res), "[Exit code: -9]\ncaf\xEF\xBF\xBD");
	double_teardown();
}
END_TEST

START_TEST(test_long_output)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);

	for (int i = 0; i < 20000; i++) {
		buf_add_char(&res.output, 'h');
		buf_add_char(&res.tail, 't');
	}
	res.output_total = 60000;
	const char *text = call_with("{\"command\":\"x\"}", &res);
	ck_assert(strncmp(text, "[Exit code: 0]\nhhhh", 19) == 0);
	ck_assert_has(text, "\n[... output truncated at 39KB: ");
	ck_assert_has(text, " bytes from the middle of 60000 are left out here. To see them, run it again with its output in a file, ");
	ck_assert_str_eq(text + strlen(text) - 4, "tttt");
	ck_assert_uint_le(strlen(text), 40000);
	ck_assert_uint_gt(strlen(text), 39000);
	/* What just fits is not cut. */
	_cleanup_(exec_result_done) struct exec_result full = exited(0);
	size_t most = 40000 - strlen("[Exit code: 0]\n") - strlen("\n\n");
	for (size_t i = 0; i < most; i++)
		buf_add_char(&full.output, 'x');
	full.output_total = most;
	ck_assert_has_not(call_with("{\"command\":\"x\"}", &full), "truncated");
	/* What the server has to say goes before the output. */
	full.denials = (struct initmsg_denials) { .kinds = 1, .rows = { { SYS_mount, EPERM, 3 } } };
	text = call_with("{\"command\":\"x\"}", &full);
	ck_assert_has(text, "output truncated at 38KB");
	ck_assert_has(text, "xxxx\n\n[Denied by the sandbox: mount");
	ck_assert_uint_le(strlen(text), 40000);
	double_teardown();
}
END_TEST

/* At every length that may be set, all there is to say at once fits. */
START_TEST(test_longest_answer)
{
	static const char *const signs = "Read-only file system\nResource temporarily unavailable\nNetwork is unreachable\nmust be root\nToo many open files\n";
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(1);

	memset(&res.denials, 0xFF, sizeof(res.denials));
	for (size_t i = 0; i < INITMSG_DENIALS_MAX; i++)
		res.denials.rows[i].nr = SYS_mount;
	d.facts = (struct facts) { .offline = true, .has_mounts = true, .writable = "/workspace and /tmp" };
	while (res.output.len < 10000) {
		buf_add_str(&res.output, signs);
		buf_add_str(&res.tail, signs);
	}
	res.output_total = 1000000;
	res.output_newlines = 50000;
	for (d.config.max_answer_chars = 2000; d.config.max_answer_chars < 9000; d.config.max_answer_chars += 37) {
		const char *text = call_with("{\"command\":\"x\",\"memory\":\"100g\"}", &res);
		ck_assert(strncmp(text, "[Exit code: 1]\n", 15) == 0);
		ck_assert_uint_le(strlen(text), (size_t) d.config.max_answer_chars);
		ck_assert_has(text, "output truncated at ");
		res.timed_out = !res.timed_out;
		(void) call_with("{\"command\":\"x\"}", &res);
		ck_assert_uint_le(d.call.text.len, (size_t) d.config.max_answer_chars);
		res.timed_out = !res.timed_out;
	}
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

/* What the call asks for reaches init; what makes no sense does not. */
START_TEST(test_limits_asked)
{
	static const struct {
		const char *args;
		struct initmsg_limits want;
	} rows[] = {
		{ "{\"command\":\"x\"}", { 0 } },
		{ "{\"command\":\"x\",\"memory\":\"512m\"}", { .memory = 512 << 20 } },
		{ "{\"command\":\"x\",\"memory\":\"8388608\"}", { .memory = 8 << 20 } },
		{ "{\"command\":\"x\",\"memory\":\"2GiB\",\"cpus\":0.5,\"pids\":20}", { .memory = 2ULL << 30, .cpu_milli = 500, .pids = 20 } },
		{ "{\"command\":\"x\",\"cpus\":1.2345,\"pids\":1}", { .cpu_milli = 1235, .pids = 1 } },
		{ "{\"command\":\"x\",\"cpus\":1e300,\"pids\":9007199254740992}", { .cpu_milli = UINT32_MAX, .pids = UINT32_MAX } },
	};
	static const char *const wrong[] = { "5", "0", "-1", "6m ", "5m", "much", "1.5g", "", "99999999999g", "512mm" };

	double_setup();
	_cleanup_(exec_result_done) struct exec_result ok = exited(0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ok.limits = ok.sandbox = rows[i].want;
		ck_assert_str_eq(call_with(rows[i].args, &ok), "[Exit code: 0]");
		ck_assert_uint_eq(d.asked.limits.memory, rows[i].want.memory);
		ck_assert_uint_eq(d.asked.limits.cpu_milli, rows[i].want.cpu_milli);
		ck_assert_uint_eq(d.asked.limits.pids, rows[i].want.pids);
	}
	d.execs = 0;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char args[100];

		(void) snprintf(args, sizeof(args), "{\"command\":\"x\",\"memory\":\"%s\"}", wrong[i]);
		ck_assert_failed(call_with(args, &ok), "memory must be a size such as 512m or 2g, at least 6m, but is '");
	}
	ck_assert_int_eq(d.execs, 0);
	double_teardown();
}
END_TEST

/* What could not be given is said behind the output. */
START_TEST(test_limits_not_given)
{
	static const char args[] = "{\"command\":\"x\",\"memory\":\"8g\",\"cpus\":4,\"pids\":1000}";

	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);
	res.limits = res.sandbox = (struct initmsg_limits) { .memory = 2ULL << 30, .cpu_milli = 1500, .pids = 512 };
	ck_assert_str_eq(call_with(args, &res), "[Exit code: 0]\n\n"
		"[Limit of the sandbox: memory 8192 MiB was asked for, but is more than the sandbox has: it ran with 2048 MiB.]\n"
		"[Limit of the sandbox: cpus 4 was asked for, but is more than the sandbox has: it ran with 1.5.]\n"
		"[Limit of the sandbox: pids 1000 was asked for, but is more than the sandbox has: it ran with 512.]");
	ck_assert(!d.call.is_error);
	res.limits = (struct initmsg_limits) { .memory = 8ULL << 30, .pids = 1000 };
	res.sandbox.memory = res.sandbox.pids = 0; /* without limits of its own */
	ck_assert_str_eq(call_with(args, &res), "[Exit code: 0]\n\n"
		"[Limit of the sandbox: cpus 4 was asked for, but cannot be held here: it ran without this limit.]");
	res.limits.pids = 2000;
	ck_assert_has(call_with(args, &res), "pids 1000 was asked for, but cannot be held here for one command: it ran with 2000.");
	double_teardown();
}
END_TEST

START_TEST(test_killed_for_memory)
{
	double_setup();
	_cleanup_(exec_result_done) struct exec_result res = exited(0);
	res.wait_status = SIGKILL;
	res.killed = INITMSG_KILLED_MEMORY;
	res.metrics = (struct initmsg_metrics) { .memory_peak = 512 << 20, .measured = INITMSG_EXACT };
	res.limits.memory = 512 << 20;
	res.sandbox.memory = 1 << 30;
	ck_assert_failed(call_with("{\"command\":\"x\",\"memory\":\"512m\"}", &res),
			 "[Exit code: -9]\n[Limit of the sandbox: killed: used 512 MiB of 512 MiB of memory, the limit of this call (its argument "
			 "memory). ");
	print(&res, "so far\n");
	const char *text = call_with("{\"command\":\"x\"}", &res);
	ck_assert_has(text, "[Exit code: -9]\n[Limit of the sandbox: killed: used 512 MiB of 512 MiB of memory, the limit of a single command. ");
	ck_assert_str_eq(text + strlen(text) - strlen("]\nso far\n"), "]\nso far\n");
	ck_assert_has(d.call.summary, "exit_code=-9, killed for its memory");
	/* Another SIGKILL is the command's own business. */
	res.killed = INITMSG_NOT_KILLED;
	ck_assert_str_eq(call_with("{\"command\":\"x\"}", &res), "[Exit code: -9]\nso far\n");
	ck_assert(!d.call.is_error);
	double_teardown();
}
END_TEST

/* Lines about limits stand behind the output, after those about what was denied; only those that are true. */
START_TEST(test_limits_felt)
{
	static const struct {
		const char *output, *want;
	} rows[] = {
		{ "OSError: [Errno 24] Too many open files: 'x'\n", "too many open files: each process may have 4096. " },
		{ "Error: EMFILE: too many open files, open 'x'\n", "too many open files: each process may have 4096. " },
		{ "accept: Too many open files in system\n", NULL },
		{ "inotify_init: Too many open files\n", NULL },
		{ "sh: 0: Cannot fork\n", "a process or thread could not be started: there may be 448 at once" },
		{ "bash: fork: retry: Resource temporarily unavailable\n", "a process or thread could not be started" },
		{ "RuntimeError: can't start new thread\n", "a process or thread could not be started" },
		{ "java.lang.OutOfMemoryError: unable to create native thread\n", "a process or thread could not be started" },
		{ "read: Resource temporarily unavailable\n", NULL },
		{ "write: No space left on device\n", "no space left on a device. Folders in memory have sizes: /dev/shm " },
		{ "done\n", NULL },
	};

	double_setup();
	d.config.open_files = 4096;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(exec_result_done) struct exec_result res = exited(1);

		memcpy(d.facts.in_memory[0], "/dev/shm", sizeof("/dev/shm"));
		res.limits.pids = 448;
		print(&res, rows[i].output);
		const char *text = call_with("{\"command\":\"x\"}", &res), *line = strstr(text, "\n\n[Limit of the sandbox: ");
		ck_assert_msg(!line == !rows[i].want, "%s", text);
		if (line)
			ck_assert_has(line, rows[i].want);
		res.wait_status = 0; /* somebody else's message */
		ck_assert_has_not(call_with("{\"command\":\"x\"}", &res), "[Limit");
	}
	_cleanup_(exec_result_done) struct exec_result res = exited(0);
	res.metrics.pids_refused = 9; /* told although the command did not mind: its work may be incomplete */
	res.denials = (struct initmsg_denials) { .kinds = 1, .rows = { { SYS_mount, EPERM, 3 } } };
	const char *text = call_with("{\"command\":\"x\"}", &res);
	ck_assert(strncmp(text, "[Exit code: 0]\n\n[Denied by the sandbox: mount", 45) == 0);
	ck_assert_has(text, "]\n[Limit of the sandbox: new processes or threads were refused 9 times. ");
	ck_assert_int_eq(text[strlen(text) - 1], ']');
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_run_bash", test_request, test_results, test_long_output, test_longest_answer, test_timeout, test_refused,
	  test_not_started, test_denials, test_notes, test_notes_are_true, test_limits_asked, test_limits_not_given,
	  test_killed_for_memory, test_limits_felt)
