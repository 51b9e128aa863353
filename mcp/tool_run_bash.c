/*
 * run_bash: a shell command in the sandbox. Runs on the event loop; init starts the command, the core gathers its
 * output.
 *
 * Half of the output's cap belongs to its beginning and half to its end, where a compiler's or a test's verdict stands.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/bounds.h"
#include "mcp/explain.h"
#include "mcp/tool.h"
#include "runtime/base/utf8.h"
#include "runtime/spec/initmsg.h"

enum {
	BASH_OUTPUT_MAX = 51200, /* bytes of output in the answer */
	BASH_HEAD_MAX = BASH_OUTPUT_MAX / 2,
	BASH_TAIL_MAX = BASH_OUTPUT_MAX - BASH_HEAD_MAX,
};

static void add_output(struct buf *text, const struct exec_result *res)
{
	size_t head = res->output.len, skip = 0;

	if (res->tail.len > 0) {
		head = utf8_floor(res->output.p, res->output.len);
		skip = utf8_skip_partial(res->tail.p, res->tail.len);
	}
	utf8_repair(text, res->output.p, head);
	if (res->tail.len == 0)
		return;
	unsigned long long total = res->output_total, left_out = total - head - (res->tail.len - skip);
	buf_addf(text,
		 "\n[... output truncated at 50KB: %llu bytes from the middle of %llu are left out here. To see all of "
		 "it, send the output to a file and look at parts with head, tail or grep ...]\n",
		 left_out, total);
	utf8_repair(text, res->tail.p + skip, res->tail.len - skip);
}

static const char *refusal(const struct exec_result *res)
{
	if (res->refused_step == INITMSG_STEP_CWD)
		return "the workspace cannot be entered. Was it removed or are its permissions too strict?";
	if (res->refused_step == INITMSG_STEP_EXEC && res->refused_errnum == ENOENT)
		return "there is no /bin/sh in this sandbox. Its root filesystem lacks a shell";
	if (res->refused_errnum == EAGAIN)
		return "too many processes or commands are running. Wait for some to end and try again";
	if (res->refused_errnum == ENOMEM)
		return "memory is short. Try again when other commands have ended";
	if (res->refused_errnum == E2BIG)
		return "the command is too long. Write it to a file with write_file and run that";
	if (res->refused_step == INITMSG_STEP_SETUP)
		return "its own isolation could not be set up, and without it nothing is run. Try again; if it stays "
		       "so, restart the session";
	return "the sandbox refused it. Try again; if it stays so, restart the session";
}

/* Says how the command ended. False when it never ran, or nobody wants to know. */
static bool tell_end(struct tool_call *call, const struct exec_result *res)
{
	long long seconds = (long long) tool_arg_int(call, "timeout");

	if (res->refused_step) {
		tool_fail(call, "The command could not be started: %s.", refusal(res));
		return false;
	}
	if (res->cancelled) {
		tool_fail(call, "The command was cancelled; it and everything it had started were killed.");
		return false;
	}
	if (res->timed_out) {
		if (!tool_arg(call, "timeout"))
			seconds = (long long) call->config->command_timeout_s;
		tool_fail(call,
			  "Command timed out after %llds; it and everything it had started were killed. Give it more "
			  "time with the timeout parameter (at most %lld), or make it do less at once.",
			  seconds, (long long) call->config->command_timeout_max_s);
		buf_add_str(&call->text, res->output_total ? " Its output until then:\n" : " It had printed nothing.");
		add_output(&call->text, res);
		tool_summary(call, "Timeout after %llds", seconds);
		return true;
	}
	int code = WIFEXITED(res->wait_status) ? WEXITSTATUS(res->wait_status) : -WTERMSIG(res->wait_status);
	struct limits_told told = bounds_told(call, res);
	buf_addf(&call->text, "[Exit code: %d]", code);
	if (limits_out_of_memory(&told)) {
		call->is_error = true; /* not of the command: as a timeout */
		buf_add_str(&call->text, "\n" BOUNDS_BEFORE);
		limits_add_memory(&call->text, &told);
		buf_add_str(&call->text, BOUNDS_AFTER);
	}
	if (res->output_total > 0) {
		buf_add_char(&call->text, '\n');
		add_output(&call->text, res);
	}
	tool_summary(call, "exit_code=%d, %s%llu bytes of output", code, call->is_error ? "killed for its memory, " : "",
		     (unsigned long long) res->output_total);
	return true;
}

static void done(struct tool_call *call, const struct exec_result *res)
{
	if (tell_end(call, res))
		explain_command(call, res);
}

/* The seconds allowed, or -1 with the call failed. */
static int64_t allowed_seconds(struct tool_call *call)
{
	int64_t max = call->config->command_timeout_max_s;
	int64_t seconds =
		tool_arg(call, "timeout") ? tool_arg_int(call, "timeout") : MIN(call->config->command_timeout_s, max);

	if (seconds >= 1 && seconds <= max)
		return seconds;
	tool_fail(
		call,
		"timeout must be from 1 to %lld seconds, but is %lld. For longer work, split it into several commands.",
		(long long) max, (long long) seconds);
	return -1;
}

static void run(struct tool_call *call)
{
	const char *command = tool_arg_str(call, "command");
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	int64_t seconds = allowed_seconds(call);

	struct initmsg_limits limits;
	if (seconds < 0 || !bounds_take(call, &limits))
		return;
	struct exec_request req = {
		.argv = argv,
		.timeout_ms = seconds * 1000,
		.output_max = BASH_HEAD_MAX,
		.tail_max = BASH_TAIL_MAX,
		.limits = limits,
	};
	int r = -E2BIG;
	if (strlen(command) < INITMSG_STRING_MAX)
		r = tool_exec_async(call, &req, done);
	if (r == -E2BIG)
		tool_fail(call,
			  "The command has %zu bytes, but a command may have %d. Write it to a file with write_file "
			  "and run that file.",
			  strlen(command), INITMSG_STRING_MAX - 1);
	else if (r == -EAGAIN)
		tool_fail(call, "Too many commands are running at once. Try again when one has ended.");
	else if (r < 0)
		tool_fail(call,
			  "The command could not be started: the sandbox's init does not answer. Restart the session.");
}

const struct mcp_tool tool_run_bash = {
	.name = "run_bash",
	.title = "Run Shell Command",
	.description =
		"Runs a command with /bin/sh in the workspace and returns its exit code and output; for what only "
		"bash knows, such as [[ ]] or pipefail, write bash -c '...'. "
		"The first line is \"[Exit code: N]\" (negative: killed by that signal); standard output and standard "
		"error follow as they were printed, and of more than 50 KB the beginning and the end. "
		"Use it to build, test, search inside files and run programs; to read and change files prefer the "
		"other tools. "
		"There is no terminal and nothing to read on standard input, and usually no network. "
		"When the command ends or times out, everything it started is ended too, also in the background; "
		"each call begins anew in the workspace with a clean environment.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"command\":{\"type\":\"string\",\"description\":\"Shell command of at most 128 KiB, such as make "
		"-s test. The exit code of a pipe is that of its last command, so tail or grep behind a test hides its "
		"failure.\"},"
		"\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Seconds until it is killed: 1 to "
		"3600 unless configured. Default: COMMAND_TIMEOUT, 60 unless configured.\"},"
		"\"memory\":{\"type\":\"string\",\"pattern\":\"^[0-9]+[kmg]?$\",\"description\":\"Memory limit such as 512m; like the next "
		"two, at most the sandbox's own.\"},"
		"\"cpus\":{\"type\":\"number\",\"minimum\":0.01,\"description\":\"CPU limit such as 1.5.\"},"
		"\"pids\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Limit of processes and threads.\"}"
		"},\"required\":[\"command\"],\"additionalProperties\":false}",
	.destructive = true,
	.open_world = true,
	.mode = TOOL_ASYNC,
	.run = run,
};
