/*
 * Tasks: tasks/get, result, list and cancel of revision 2025-11-25, and tasks/get, update and cancel of the extension
 * io.modelcontextprotocol/tasks of 2026-07-28. What a task is, and when a call becomes one, see task.h. Runs on the event loop of
 * cloche-mcp, without any capability.
 */
#include "mcp/answer.h"
#include "mcp/method.h"
#include "mcp/task.h"
#include "runtime/base/jsonw.h"

enum { TASKS_ANSWER_MAX = 64 * 1024 };

/* Whether the revision of @req, and its client, know tasks; if not, @req has been refused. */
static bool knows_tasks(struct server *s, struct request *req)
{
	static const char missing[] = "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_EXTENSION_TASKS "\":{}}}}";

	if (req->terms.version == MCP_2025_11_25 || req->terms.tasks)
		return true;
	if (req->terms.version == MCP_2026_07_28)
		answer_refuse(s, req, RPC_MISSING_CAPABILITY, missing,
			      "%s is for clients that declare the extension " MCP_EXTENSION_TASKS " in this request.", req->rpc.method);
	else
		answer_refuse(s, req, RPC_METHOD_NOT_FOUND, NULL, "There is no method \"%s\" in protocol version %s.", req->rpc.method,
			      session_version_name(req->terms.version));
	return false;
}

/* The task that @req names; NULL when @req has been refused. */
static struct task *named_task(struct server *s, struct request *req)
{
	const char *id = rpc_param_str(&req->rpc, "taskId");

	if (!knows_tasks(s, req))
		return NULL;
	if (!id) {
		answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "%s needs the taskId, a string.", req->rpc.method);
		return NULL;
	}
	struct task *task = task_find(s, id);
	if (!task)
		answer_refuse(s, req, RPC_INVALID_PARAMS, NULL,
			      "There is no task \"%.40s\". A result is dropped after its time to live, or when %d newer tasks need the room, and "
			      "all of them when the server ends.", id, TASK_MAX);
	return task;
}

static void get(struct server *s, struct request *req)
{
	struct task *task = named_task(s, req);
	_cleanup_buf_ struct buf b = BUF_INIT(OUT_MESSAGE_MAX);

	if (!task)
		return;
	answer_begin(&b, req);
	if (req->terms.version == MCP_2026_07_28)
		task_write_detailed(&b, task);
	else
		task_write(&b, task, req->terms.version);
	answer_finish(s, req, &b);
}

static void result(struct server *s, struct request *req)
{
	struct task *task = named_task(s, req);

	if (task && task_answer_result(s, task, req) < 0)
		answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "%d requests wait for results of tasks, and there may be no more. Use tasks/get.",
			      TASK_READERS_MAX);
}

static void list(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(TASKS_ANSWER_MAX);

	if (!knows_tasks(s, req) || !answer_is_first_page(s, req))
		return;
	answer_begin(&b, req);
	jsonw_name(&b, "tasks");
	buf_add_char(&b, '[');
	for (const struct task *task = s->tasks; task; task = task->next) {
		buf_add_str(&b, task == s->tasks ? "{" : ",{");
		task_write(&b, task, req->terms.version);
		buf_add_char(&b, '}');
	}
	buf_add_char(&b, ']');
	answer_finish(s, req, &b);
}

static void cancel(struct server *s, struct request *req)
{
	bool stateless = req->terms.version == MCP_2026_07_28;
	struct task *task = named_task(s, req);
	_cleanup_buf_ struct buf b = BUF_INIT(TASKS_ANSWER_MAX);

	if (!task)
		return;
	if (task_is_terminal(task) && !stateless)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "The task \"%s\" has ended already; its result is in tasks/result.", task->id);
	task_cancel(task);
	answer_begin(&b, req);
	if (!stateless)
		task_write(&b, task, req->terms.version);
	answer_finish(s, req, &b);
}

/* Tools ask for no input, so that no response is ever outstanding: all of them are ignored, as the extension wants it. */
static void update(struct server *s, struct request *req)
{
	struct task *task = named_task(s, req);

	if (!task)
		return;
	if (!cJSON_IsObject(rpc_param(&req->rpc, "inputResponses")))
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "tasks/update needs inputResponses, an object.");
	answer_empty(s, req);
}

static const char *capability(enum mcp_version version)
{
	if (version == MCP_2026_07_28)
		return "\"extensions\":{\"" MCP_EXTENSION_TASKS "\":{}}";
	return version == MCP_2025_11_25 ? "\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}" : NULL;
}

static const struct method methods[] = {
	{ "tasks/get", METHOD_BOTH, get },
	{ "tasks/cancel", METHOD_BOTH, cancel },
	{ "tasks/result", METHOD_HANDSHAKE, result },
	{ "tasks/list", METHOD_HANDSHAKE, list },
	{ "tasks/update", METHOD_STATELESS, update },
	{ NULL },
};

const struct method_group methods_tasks = { methods, capability };
