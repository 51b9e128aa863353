/*
 * The life of a tool call: see call.h. Runs in cloche-mcp, without any capability, on the event loop; only
 * run_on_worker() is called on another thread.
 */
#include "mcp/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/extra.h"
#include "mcp/log.h"
#include "mcp/registry.h"
#include "mcp/result.h"
#include "mcp/schema.h"
#include "mcp/task.h"
#include "mcp/text.h"
#include "runtime/base/clock.h"

enum {
	CALL_SHOWN_ARGUMENT = 200, /* bytes of an argument in the audit line */
	CALL_SHOWN_REFUSED = 40,   /* … of one that was not even valid */
	CALL_SHOWN_SUMMARY = 150,
	CALL_LINE_MAX = 2048,
};

/* --- audit -------------------------------------------------------------------------------------------------------- */

static void add_argument(struct buf *line, const cJSON *value, size_t shown)
{
	if (cJSON_IsString(value)) {
		log_add_quoted(line, value->valuestring, strlen(value->valuestring), shown);
	} else if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
		buf_addf(line, "%s of %d", cJSON_IsArray(value) ? "list" : "object", cJSON_GetArraySize(value));
	} else {
		rpc_write_tree(line, value);
	}
}

static void add_arguments(struct buf *line, const cJSON *args, size_t shown)
{
	const cJSON *arg;

	cJSON_ArrayForEach(arg, args) {
		buf_addf(line, "%s%.64s=", arg == args->child ? "" : ", ", arg->string);
		add_argument(line, arg, shown);
		if (buf_error(line))
			return;
	}
}

/* "name(arg=…)" to the log and, when @tell, to the client. */
static void audit_call(struct call *call, const cJSON *refused_args)
{
	_cleanup_buf_ struct buf line = BUF_INIT(CALL_LINE_MAX);

	buf_addf(&line, "%s(", call->tool->name);
	if (refused_args)
		add_arguments(&line, refused_args, CALL_SHOWN_REFUSED);
	else if (call->tool->describe)
		call->tool->describe(&call->pub, &line);
	else
		add_arguments(&line, call->args, CALL_SHOWN_ARGUMENT);
	buf_add_str(&line, buf_error(&line) ? "" : ")");
	log_line(MCP_LOG_INFO, "TOOL_CALL %s", buf_cstr(&line));
	if (!refused_args)
		answer_log(call->server, call->request, MCP_LOG_INFO, buf_cstr(&line));
}

/* How it ended, to the client. */
static void tell_outcome(const struct call *call)
{
	const char *text = buf_cstr(&call->pub.text);
	_cleanup_buf_ struct buf line = BUF_INIT(CALL_LINE_MAX);

	if (call->pub.is_error) {
		buf_addf(&line, "%s failed: %.500s", call->tool->name, text);
	} else {
		buf_addf(&line, "%s: %s", call->tool->name, call->pub.summary);
		if (!call->pub.summary[0])
			text_add_line(&line, text, strcspn(text, "\n"), CALL_SHOWN_SUMMARY);
	}
	answer_log(call->server, call->request, call->pub.is_error ? MCP_LOG_ERROR : MCP_LOG_INFO, buf_cstr(&line));
}

static void audit_done(struct call *call)
{
	const char *text = buf_cstr(&call->pub.text);
	size_t first_line = strcspn(text, "\n");
	_cleanup_buf_ struct buf line = BUF_INIT(CALL_LINE_MAX);

	if (call->pub.summary[0])
		buf_addf(&line, "%s | Output snippet: ", call->pub.summary);
	log_add_quoted(&line, text, call->pub.summary[0] ? call->pub.text.len : first_line, CALL_SHOWN_SUMMARY);
	log_line(call->pub.is_error ? MCP_LOG_WARNING : MCP_LOG_INFO, "TOOL_DONE %s [%s] %lldms | %s%s",
		 call->tool->name, call->pub.is_error ? "FAIL" : "OK", (long long) (clock_now_ms() - call->started_ms),
		 call->silent ? "cancelled | " : "", buf_cstr(&line));
	if (!call->silent)
		tell_outcome(call);
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

static void send_result(struct call *call)
{
	_cleanup_buf_ struct buf b = BUF_INIT(OUT_MESSAGE_MAX);

	answer_begin(&b, call->request);
	result_write(&b, call);
	buf_add_char(&b, '}');
	rpc_end_result(&b);
	answer_send(call->server, call->request, &b);
}

/* It is no longer in progress. */
static void unlink_call(struct call *call)
{
	struct server *s = call->server;
	struct call **p = &s->calls;

	while (*p != call)
		p = &(*p)->next;
	*p = call->next;
	s->call_count--;
}

void call_free(struct call *call)
{
	request_free(call->server, call->request);
	buf_done(&call->pub.text);
	buf_done(&call->pub.image);
	cJSON_Delete(call->pub.meta);
	cJSON_Delete(call->args);
	(void) pthread_mutex_destroy(&call->lock);
	(void) pthread_cond_destroy(&call->wake);
	free(call);
}

static void finish(struct call *call)
{
	if (buf_error(&call->pub.text))
		tool_fail(&call->pub, "The answer of %s does not fit into %d bytes: ask for less at once.",
			  call->tool->name, TOOL_TEXT_MAX);
	audit_done(call);
	unlink_call(call);
	if (call->task)
		return task_end(call->task);
	if (!call->silent)
		send_result(call);
	call_free(call);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/*
 * The oldest call whose turn on a worker has come, or NULL. An answer is in memory until the reader takes it: so only as many calls
 * as there are workers have one that is not yet sent. Those that were cancelled have none.
 */
static struct call *next_for_worker(const struct server *s)
{
	bool full = s->worker_calls >= WORK_THREADS_MAX || out_congested(&s->out);
	struct call *next = NULL;

	for (struct call *call = s->calls; call; call = call->next)
		if (call->wants_worker && (!full || atomic_load(&call->cancelled)))
			next = call;
	return next;
}

static void start_workers(struct server *s)
{
	struct call *call;

	while ((call = next_for_worker(s)) != NULL) {
		int r = work_submit(&s->work, &call->work);
		call->wants_worker = false;
		s->worker_calls += r == 0;
		if (r == 0)
			continue;
		tool_fail(&call->pub, "%s cannot run now: no thread could be started. Try again in a moment.", call->tool->name);
		finish(call);
	}
}

static void worker_finished(struct loop_post *post)
{
	struct call *call = CONTAINER_OF(post, struct call, finished);
	struct server *s = call->server;

	s->worker_calls--;
	finish(call);
	start_workers(s);
}

static void run_on_worker(struct work_item *item)
{
	struct call *call = CONTAINER_OF(item, struct call, work);

	if (!atomic_load(&call->cancelled))
		call->tool->run(&call->pub);
	loop_post(&call->server->loop, &call->finished);
}

void call_settle(struct call *call)
{
	if (!call->job_active)
		finish(call);
}

static struct call *call_new(struct server *s, struct request *req, const struct mcp_tool *tool)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->server = s;
	call->request = req;
	call->tool = tool;
	call->pub = (struct tool_call) {
		.config = s->config,
		.facts = state_facts(s),
		.root_fd = s->root_fd,
		.text = BUF_INIT(TOOL_TEXT_MAX),
		.cancelled = &call->cancelled,
		.server = s,
		.state = call,
	};
	call->started_ms = clock_now_ms();
	call->progress_ms = req->rpc.token ? call->started_ms + SERVER_PROGRESS_MS : INT64_MAX;
	call->task_ms = req->terms.tasks && tool->tasks ? call->started_ms + extra_task_after_ms() : INT64_MAX;
	call->work.run = run_on_worker;
	call->finished.run = worker_finished;
	(void) pthread_mutex_init(&call->lock, NULL);
	(void) pthread_cond_init(&call->wake, NULL);
	call->next = s->calls;
	s->calls = call;
	s->call_count++;
	return call;
}

/* Fills call->args, or fails the call. */
static bool take_arguments(struct call *call)
{
	struct rpc *m = &call->request->rpc;
	const cJSON *schema = registry_schema(call->tool);
	_cleanup_buf_ struct buf problems = BUF_INIT(SCHEMA_PROBLEMS_MAX);
	cJSON *params = cJSON_GetObjectItemCaseSensitive(m->tree, "params");
	cJSON *args = cJSON_DetachItemFromObjectCaseSensitive(params, "arguments"); /* NULL when there are none */

	if (cJSON_IsNull(args)) {
		cJSON_Delete(args);
		args = NULL;
	}
	if (m->nul_name[0]) {
		audit_call(call, args);
		cJSON_Delete(args);
		tool_fail(&call->pub,
			  "The argument '%s' holds the character U+0000, which no text or path may hold. Leave it out; to "
			  "make a binary file, use run_bash with printf or base64 -d.",
			  m->nul_name);
		return false;
	}
	if (!schema) {
		cJSON_Delete(args);
		tool_fail(&call->pub, "Out of memory.");
		return false;
	}
	_cleanup_buf_ struct buf refused = BUF_INIT(CALL_LINE_MAX);
	add_arguments(&refused, args, CALL_SHOWN_REFUSED);
	call->args = schema_apply(schema, args, &problems);
	call->pub.args = call->args;
	if (call->args)
		return true;
	log_line(MCP_LOG_INFO, "TOOL_CALL %s(%s)", call->tool->name, buf_cstr(&refused));
	tool_fail(&call->pub, "Invalid arguments for %s:\n%s", call->tool->name, buf_cstr(&problems));
	buf_truncate(&call->pub.text, call->pub.text.len - 1); /* the last line's break */
	return false;
}

void call_start(struct server *s, struct request *req, const struct mcp_tool *tool, int64_t ttl_ms)
{
	struct call *call = call_new(s, req, tool);

	if (!call)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "Out of memory.");
	if (ttl_ms > 0 && task_begin(call, ttl_ms) < 0) {
		answer_error(s, req, RPC_INTERNAL_ERROR, "No task can be begun now. Call the tool without \"task\".", NULL);
		unlink_call(call);
		return call_free(call);
	}
	if (!take_arguments(call))
		return finish(call);
	/* The message's text and tree may be large; only the id and the token are needed from here on. */
	cJSON_Delete(req->rpc.tree);
	req->rpc.tree = NULL;
	req->rpc.params = NULL;
	req->rpc.method = NULL;
	audit_call(call, NULL);
	if (tool->mode == TOOL_ASYNC) {
		tool->run(&call->pub);
		return call_settle(call);
	}
	call->wants_worker = true;
	start_workers(s);
}

/* --- cancellation and progress ------------------------------------------------------------------------------------ */

struct call *call_find(const struct server *s, const char *id)
{
	for (struct call *call = s->calls; call; call = call->next)
		if (!call->silent && !call->task && strcmp(call->request->rpc.id, id) == 0)
			return call;
	return NULL;
}

void call_stop(struct call *call)
{
	call->silent = true;
	call->progress_ms = call->task_ms = INT64_MAX;
	atomic_store(&call->cancelled, true);
	if (call->job_active)
		initc_cancel(&call->job);
}

bool call_cancel(const struct server *s, const char *id)
{
	struct call *call = call_find(s, id);

	if (!call)
		return false;
	call_stop(call);
	start_workers(call->server);
	return true;
}

static void send_progress(struct call *call, int64_t now_ms)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4096);
	double seconds = (double) (now_ms - call->started_ms) / 1000;

	answer_begin_notification(&b, "notifications/progress");
	buf_addf(&b, "\"progressToken\":%s,\"progress\":%.3f", call->request->rpc.token, seconds);
	if (call->request->terms.version >= MCP_2025_03_26 && call->job_active)
		buf_addf(&b, ",\"message\":\"%s: running for %.0f s, %llu bytes of output\"", call->tool->name, seconds,
			 (unsigned long long) call->job.capture.total);
	else if (call->request->terms.version >= MCP_2025_03_26)
		buf_addf(&b, ",\"message\":\"%s: running for %.0f s\"", call->tool->name, seconds);
	answer_relate(&b, call->request);
	(void) answer_notify(call->server, &b, true);
}

/* The client need not wait for it any longer. When there is no room for a task, it goes on as it is. */
static void become_task(struct call *call, int64_t now_ms)
{
	call->task_ms = now_ms + TASK_AFTER_MS;
	if (!call->server->stopping && task_begin(call, TASK_TTL_MS) == 0)
		call->task_ms = INT64_MAX;
}

int64_t call_tick(struct server *s, int64_t now_ms)
{
	int64_t next = INT64_MAX;

	start_workers(s);
	for (struct call *call = s->calls; call; call = call->next) {
		if (now_ms >= call->progress_ms) {
			send_progress(call, now_ms);
			call->progress_ms = now_ms + SERVER_PROGRESS_MS;
		}
		if (now_ms >= call->task_ms)
			become_task(call, now_ms);
		next = MIN(next, call->progress_ms);
		next = MIN(next, call->task_ms);
	}
	return next;
}
