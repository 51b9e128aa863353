/*
 * What a command used, for programs: see metrics.h. Runs in cloche-mcp, without any capability, on the event loop.
 */
#include "mcp/metrics.h"

#include <sys/wait.h>

#include "mcp/bounds.h"

static void add_number(cJSON *object, const char *name, uint64_t n)
{
	(void) cJSON_AddNumberToObject(object, name, (double) n);
}

/* A figure that may be unknown. */
static void add_known(cJSON *object, const char *name, uint64_t n, uint64_t unit, uint64_t unknown)
{
	if (n != unknown)
		add_number(object, name, n / unit);
}

static void add_flag(cJSON *object, const char *name, bool on)
{
	(void) cJSON_AddBoolToObject(object, name, on);
}

static void add_end(cJSON *metrics, const struct exec_result *res)
{
	if (WIFSIGNALED(res->wait_status))
		add_number(metrics, "signal", (uint64_t) WTERMSIG(res->wait_status));
	else
		add_number(metrics, "exit_status", (uint64_t) WEXITSTATUS(res->wait_status));
}

static void add_figures(cJSON *metrics, const struct exec_result *res)
{
	const struct initmsg_metrics *m = &res->metrics;

	add_number(metrics, "wall_ms", m->wall_us / 1000);
	add_known(metrics, "cpu_user_ms", m->cpu_user_us, 1000, INITMSG_UNKNOWN);
	add_known(metrics, "cpu_system_ms", m->cpu_system_us, 1000, INITMSG_UNKNOWN);
	add_known(metrics, "memory_peak", m->memory_peak, 1, 0);
	add_known(metrics, "processes_peak", m->processes_peak, 1, 0);
	add_known(metrics, "bytes_read", m->read_bytes, 1, INITMSG_UNKNOWN);
	add_known(metrics, "bytes_written", m->written_bytes, 1, INITMSG_UNKNOWN);
	if (res->limits.cpu_milli > 0)
		add_known(metrics, "throttled_ms", m->throttled_us, 1000, INITMSG_UNKNOWN);
	add_number(metrics, "output_bytes", res->output_total);
}

static void add_limits(cJSON *metrics, const struct initmsg_limits *limits)
{
	cJSON *object = cJSON_AddObjectToObject(metrics, "limits");

	add_known(object, "memory", limits->memory, 1, 0);
	if (limits->cpu_milli > 0)
		(void) cJSON_AddNumberToObject(object, "cpus", (double) limits->cpu_milli / 1000);
	add_known(object, "pids", limits->pids, 1, 0);
}

void metrics_add(struct tool_call *call, const struct exec_result *res)
{
	const struct limits_told told = bounds_told(call, res);
	bool exact = res->metrics.measured == INITMSG_EXACT;
	cJSON *metrics = cJSON_CreateObject();

	if (!call->meta)
		call->meta = cJSON_CreateObject();
	add_end(metrics, res);
	add_figures(metrics, res);
	add_flag(metrics, "timed_out", res->timed_out);
	add_flag(metrics, "oom_killed", limits_out_of_memory(&told) || res->metrics.oom_kills > 0);
	if (exact || limits_out_of_pids(&told))
		add_flag(metrics, "pids_limit_hit", limits_out_of_pids(&told));
	add_flag(metrics, "truncated", res->output.len + res->tail.len < res->output_total);
	(void) cJSON_AddStringToObject(metrics, "measured", exact ? "exact" : "approximate");
	add_limits(metrics, &res->limits);
	cJSON_DeleteItemFromObjectCaseSensitive(call->meta, "cloche/metrics");
	if (!cJSON_AddItemToObject(call->meta, "cloche/metrics", metrics))
		cJSON_Delete(metrics);
}
