/*
 * run_bash: a shell command in the sandbox. Runs on the event loop; init starts the command, the core gathers its
 * output.
 *
 * The answer is the exit code, the output, and what the server has to say about it. The last comes first when it comes to
 * room: the output gets what is left of the longest answer.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/bounds.h"
#include "mcp/excerpt.h"
#include "mcp/explain.h"
#include "mcp/tool.h"
#include "runtime/spec/initmsg.h"

enum { BASH_LINES_SHARE = 4 }; /* part of an answer, one of four, that our own lines behind the output may have */

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

/* Says how the command ended, up to where its output begins. False when it never ran, or nobody wants to know. */
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
	if (res->output_total > 0)
		buf_add_char(&call->text, '\n');
	tool_summary(call, "exit_code=%d, %s%llu bytes of output", code, call->is_error ? "killed for its memory, " : "",
		     (unsigned long long) res->output_total);
	return true;
}

static void add_output(struct tool_call *call, const struct exec_result *res, size_t room)
{
	cJSON *metrics = cJSON_GetObjectItemCaseSensitive(call->meta, "cloche/metrics");

	if (excerpt_add(&call->text, res, room) && metrics)
		cJSON_ReplaceItemInObjectCaseSensitive(metrics, "truncated", cJSON_CreateTrue());
}

static void done(struct tool_call *call, const struct exec_result *res)
{
	size_t max = (size_t) call->config->max_answer_chars;
	_cleanup_buf_ struct buf lines = BUF_INIT(max / BASH_LINES_SHARE);

	if (!tell_end(call, res))
		return;
	explain_command(&lines, call, res);
	size_t used = call->text.len + lines.len + strlen("\n\n");
	add_output(call, res, MAX(max - MIN(used, max), (size_t) EXCERPT_ROOM_MIN));
	/* An empty line in front, whether or not the output ends in a line break. */
	if (lines.len > 0)
		buf_addf(&call->text, "%s%s", call->text.p[call->text.len - 1] == '\n' ? "\n" : "\n\n", lines.p);
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
	size_t most = (size_t) call->config->max_answer_chars, tail = MIN(most / 2, (size_t) EXEC_TAIL_MAX);
	struct exec_request req = {
		.argv = argv,
		.timeout_ms = seconds * 1000,
		.output_max = most - tail,
		.tail_max = tail,
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
		"Runs a command with /bin/sh in the workspace and returns its exit code and output; for what only bash knows, such as [[ ]] or "
		"pipefail, write bash -c '...'. "
		"Use it to build, test, search inside files and run programs; to read and change files prefer the other tools. "
		"The first line is \"[Exit code: N]\" (negative: killed by that signal); standard output and error follow, and where they are "
		"long, their beginning and end. "
		"There is no terminal, no standard input and usually no network. "
		"When the command ends or times out, all it started is ended too, also in the background; each call begins anew in the workspace "
		"with a clean environment.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"command\":{\"type\":\"string\",\"description\":\"Such as make -s test; at most 128 KiB. The exit code of a pipe is that of its "
		"last command, so tail or grep behind a test hides its failure.\"},"
		"\"timeout\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Seconds until it is killed, 1 to 3600; COMMAND_TIMEOUT, 60 "
		"unless configured, when left out.\"},"
		"\"memory\":{\"type\":\"string\",\"pattern\":\"^[0-9]+[kmg]?$\",\"description\":\"Memory limit such as 512m; like the next "
		"two, at most the sandbox's own.\"},"
		"\"cpus\":{\"type\":\"number\",\"minimum\":0.01,\"description\":\"CPU limit such as 1.5.\"},"
		"\"pids\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Limit of processes and threads.\"}"
		"},\"required\":[\"command\"],\"additionalProperties\":false}",
	.destructive = true,
	.open_world = true,
	.mode = TOOL_ASYNC,
	.tasks = true,
	.run = run,
};
