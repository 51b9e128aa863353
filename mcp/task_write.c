/*
 * What is told of a task: see task.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include <string.h>
#include <time.h>

#include "mcp/answer.h"
#include "mcp/excerpt.h"
#include "mcp/result.h"
#include "mcp/task.h"
#include "mcp/text.h"
#include "runtime/base/clock.h"
#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"

enum {
	TASK_SUMMARY_MAX = 160,
	TASK_POLL_MS = 1000,       /* the interval that clients are advised to ask in, */
	TASK_POLL_LATER_MS = 5000, /* and that for a task that has run for */
	TASK_POLL_LATER_AFTER_MS = 60 * 1000,
};

static const char *status_name(const struct task *task, enum mcp_version version)
{
	if (task->cancelled)
		return "cancelled";
	if (!task->over)
		return "working";
	/* "failed" is for a result with isError in 2025-11-25, but only for protocol errors, which no task has, in the extension. */
	return task->call->pub.is_error && version != MCP_2026_07_28 ? "failed" : "completed";
}

/* A sentence for people and models, as the member @name. */
static void add_summary(struct buf *b, const char *name, const struct task *task)
{
	const struct call *call = task->call;
	const char *text = buf_cstr(&call->pub.text);
	_cleanup_buf_ struct buf line = BUF_INIT(TASK_SUMMARY_MAX * 4);

	if (task->cancelled)
		buf_add_str(&line, "Cancelled by request.");
	else if (!task->over)
		buf_addf(&line, "Running for %lld s; %llu bytes of output so far.", (long long) (clock_now_ms() - call->started_ms) / 1000,
			 call->job_active ? (unsigned long long) call->job.capture.total : 0);
	else if (call->pub.summary[0])
		buf_add_str(&line, call->pub.summary);
	else
		text_add_line(&line, text, strcspn(text, "\n"), TASK_SUMMARY_MAX);
	jsonw_name(b, name);
	jsonw_string(b, buf_cstr(&line), line.len);
}

static void add_time(struct buf *b, const char *name, int64_t ms)
{
	time_t seconds = (time_t) (ms / 1000);
	struct tm tm;
	char text[32];

	(void) gmtime_r(&seconds, &tm);
	(void) strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	jsonw_name(b, name);
	buf_addf(b, "\"%s.%03dZ\"", text, (int) (ms % 1000));
}

void task_write(struct buf *b, const struct task *task, enum mcp_version version)
{
	bool stateless = version == MCP_2026_07_28, later = clock_now_ms() - task->begun_ms >= TASK_POLL_LATER_AFTER_MS;

	jsonw_member(b, "taskId", task->id);
	jsonw_member(b, "status", status_name(task, version));
	add_summary(b, "statusMessage", task);
	add_time(b, "createdAt", task->created_ms);
	add_time(b, "lastUpdatedAt", task->updated_ms);
	jsonw_name(b, stateless ? "ttlMs" : "ttl");
	buf_addf(b, "%lld", (long long) task->ttl_ms);
	jsonw_name(b, stateless ? "pollIntervalMs" : "pollInterval");
	buf_addf(b, "%d", later ? TASK_POLL_LATER_MS : TASK_POLL_MS);
}

void task_write_result(struct buf *b, struct task *task, enum mcp_version version)
{
	task->call->request->terms.version = version;
	result_write(b, task->call);
}

void task_write_detailed(struct buf *b, struct task *task)
{
	task_write(b, task, MCP_2026_07_28);
	if (!task->over || task->cancelled)
		return;
	jsonw_name(b, "result");
	buf_add_char(b, '{');
	task_write_result(b, task, MCP_2026_07_28);
	buf_add_char(b, '}');
}

void task_write_list(struct server *s, struct buf *b)
{
	buf_add_char(b, '[');
	for (const struct task *task = s->tasks; task; task = task->next) {
		buf_add_str(b, task == s->tasks ? "{" : ",{");
		jsonw_member(b, "id", task->id);
		jsonw_member(b, "tool", task->call->tool->name);
		jsonw_member(b, "status", status_name(task, MCP_2025_11_25));
		add_time(b, "created", task->created_ms);
		add_time(b, "updated", task->updated_ms);
		add_summary(b, "summary", task);
		buf_add_char(b, '}');
	}
	buf_add_char(b, ']');
}

/* What the command has printed so far, as run_bash would show it, but for a character that is not yet complete. */
static void add_output(struct buf *b, const struct capture *capture, size_t room)
{
	_cleanup_(exec_result_done) struct exec_result res = { .output_total = capture->total, .output_newlines = capture->newlines };

	capture_peek(capture, &res.output, &res.tail);
	struct buf *last = res.tail.len > 0 ? &res.tail : &res.output;
	size_t whole = utf8_floor(buf_cstr(last), last->len);
	res.output_total -= last->len - whole;
	buf_truncate(last, whole);
	(void) excerpt_add(b, &res, room);
}

bool task_write_output(struct server *s, const char *id, struct buf *b)
{
	const struct task *task = task_find(s, id);

	if (!task)
		return false;
	if (task->over)
		buf_add(b, buf_cstr(&task->call->pub.text), task->call->pub.text.len);
	else if (task->call->job_active)
		add_output(b, &task->call->job.capture, (size_t) s->config->max_answer_chars);
	return true;
}
