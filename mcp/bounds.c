/*
 * Limits of a call's command: see bounds.h. Runs in cloche-mcp, without any capability, on the event loop. What was asked for comes from
 * a model; the output of a command is only searched for fixed texts.
 */
#include "mcp/bounds.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/explain.h"
#include "mcp/folders.h"
#include "runtime/base/str.h"

#define MEMORY_LEAST ((uint64_t) 6 << 20) /* as --memory has it */

/* --- what the call asks for --------------------------------------------------------------------------------------- */

/* 0 when the argument is absent; -EINVAL: no size; -ERANGE: too little. */
static int asked_memory(const struct tool_call *call, uint64_t *ret)
{
	*ret = 0;
	return tool_arg(call, "memory") ? str_to_size(tool_arg_str(call, "memory"), MEMORY_LEAST, UINT64_MAX, ret) : 0;
}

static uint32_t capped(double value)
{
	return value < UINT32_MAX ? (uint32_t) value : UINT32_MAX;
}

static struct initmsg_limits asked(const struct tool_call *call)
{
	const cJSON *cpus = tool_arg(call, "cpus"), *pids = tool_arg(call, "pids");
	struct initmsg_limits limits = { .memory = 0 };

	(void) asked_memory(call, &limits.memory);
	if (cJSON_IsNumber(cpus))
		limits.cpu_milli = capped(round(cpus->valuedouble * 1000));
	if (cJSON_IsNumber(pids))
		limits.pids = capped(pids->valuedouble);
	return limits;
}

bool bounds_take(struct tool_call *call, struct initmsg_limits *ret)
{
	uint64_t memory;
	int r = asked_memory(call, &memory);

	if (r < 0) {
		tool_fail(call, "memory must be a size such as 512m or 2g, at least 6m, but is '%.40s'.", tool_arg_str(call, "memory"));
		return false;
	}
	*ret = asked(call);
	return true;
}

/* As shells, Python, Java, Go, Rust and Node.js say that a process or thread could not be started. */
static bool tells_of_failed_fork(const struct exec_result *res)
{
	static const char *const signs[] = {
		"annot fork", "fork: retry", "fork: Resource temporarily unavailable", "posix_spawn: Resource temporarily unavailable",
		"an't start new thread", "unable to create native thread", "failed to create new OS thread", "ailed to spawn thread",
	};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (explain_output_has(res, signs[i]))
			return true;
	return false;
}

struct limits_told bounds_told(const struct tool_call *call, const struct exec_result *res)
{
	return (struct limits_told) {
		.metrics = &res->metrics,
		.limits = &res->limits,
		.sandbox = &res->sandbox,
		.asked = asked(call),
		.killed = res->killed,
		.failed = explain_has_failed(res),
		.fork_failed = tells_of_failed_fork(res),
		.for_agent = true,
	};
}

/* --- what it asked for and did not get ---------------------------------------------------------------------------- */

static void add_memory(struct buf *text, uint64_t bytes)
{
	limits_add_size(text, bytes);
}

static void add_cpus(struct buf *text, uint64_t milli)
{
	limits_add_cpus(text, (uint32_t) milli);
}

static void add_pids(struct buf *text, uint64_t count)
{
	buf_addf(text, "%llu", (unsigned long long) count);
}

static void add_not_given(struct buf *lines, const char *name, uint64_t wanted, uint64_t held, uint64_t sandbox,
			  void (*add_value)(struct buf *text, uint64_t value))
{
	if (wanted == 0 || wanted == held)
		return;
	buf_addf(lines, BOUNDS_BEFORE "%s ", name);
	add_value(lines, wanted);
	buf_add_str(lines, " was asked for, but ");
	if (held == 0) {
		buf_add_str(lines, "cannot be held here: it ran without this limit");
	} else {
		buf_add_str(lines, sandbox > 0 && wanted > sandbox ? "is more than the sandbox has: it ran with " :
								     "cannot be held here for one command: it ran with ");
		add_value(lines, held);
	}
	buf_add_str(lines, "." BOUNDS_AFTER "\n");
}

static void add_all_not_given(struct buf *lines, const struct limits_told *told)
{
	const struct initmsg_limits *wanted = &told->asked, *held = told->limits, *sandbox = told->sandbox;

	add_not_given(lines, "memory", wanted->memory, held->memory, sandbox->memory, add_memory);
	add_not_given(lines, "cpus", wanted->cpu_milli, held->cpu_milli, sandbox->cpu_milli, add_cpus);
	add_not_given(lines, "pids", wanted->pids, held->pids, sandbox->pids, add_pids);
}

/* --- after a failure ---------------------------------------------------------------------------------------------- */

/* EMFILE in words, which is about a process; not ENFILE, which is about the machine, nor inotify's own limit. */
static bool ran_out_of_files(const struct exec_result *res)
{
	return explain_output_has(res, "oo many open files") && !explain_output_has(res, "oo many open files in system") &&
	       !explain_output_has(res, "inotify");
}

static void add_files(struct buf *lines, const struct mcp_config *config)
{
	buf_add_str(lines, BOUNDS_BEFORE "too many open files: each process may have ");
	if (config->open_files > 0)
		buf_addf(lines, "%lld", (long long) config->open_files);
	else
		buf_add_str(lines, "as many as ulimit -n tells");
	buf_add_str(lines, ". Close some, raise it in the command as far as it goes (ulimit -n $(ulimit -Hn)), or ask the user to allow more "
			   "(option --ulimit nofile=SOFT:HARD of cloche)." BOUNDS_AFTER "\n");
}

void bounds_add_lines(struct buf *lines, const struct tool_call *call, const struct exec_result *res)
{
	const struct limits_told told = bounds_told(call, res);

	add_all_not_given(lines, &told);
	(void) limits_add_others(lines, &told, BOUNDS_BEFORE, BOUNDS_AFTER "\n");
	if (!told.failed)
		return;
	if (ran_out_of_files(res))
		add_files(lines, call->config);
	folders_add_lines(lines, call->facts, explain_output_has(res, "o space left on device"), BOUNDS_BEFORE, BOUNDS_AFTER "\n");
}
