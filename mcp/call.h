/*
 * The life of a tool call: validated, run on a worker thread or as commands of the event loop, answered or cancelled.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "mcp/initc.h"
#include "mcp/loop.h"
#include "mcp/state.h"
#include "mcp/tool.h"
#include "mcp/work.h"

struct call {
	struct tool_call pub; /* what the tool sees */
	struct server *server;
	struct request *request;
	const struct mcp_tool *tool;
	struct call *next;
	cJSON *args;
	atomic_bool cancelled;
	bool silent; /* cancelled by the client: nothing more is sent for it */
	struct task *task; /* what it has become, with its request answered, or NULL */
	int64_t task_ms; /* when it becomes a task, where its client takes one in place of the result */
	int64_t started_ms;
	int64_t progress_ms; /* when the next progress notification is due */

	/* A worker's call. */
	bool wants_worker; /* and has none yet */
	struct work_item work;
	struct loop_post finished;

	/* A command of this call, one at a time. */
	struct initc_job job;
	bool job_active;
	void (*exec_done)(struct tool_call *call, const struct exec_result *res);

	/* A worker that waits for its command. */
	struct loop_post exec_wanted;
	const struct exec_request *exec_req;
	struct exec_result *exec_res;
	int exec_error;
	bool exec_over;
	pthread_mutex_t lock; /* guards exec_over */
	pthread_cond_t wake;
};

/* Begins a call of @tool and takes the request over. With @ttl_ms, as a task that is kept for so long; else 0. */
void call_start(struct server *s, struct request *req, const struct mcp_tool *tool, int64_t ttl_ms);

/* Cancels the call whose id has the JSON text @id. False when there is none. */
bool call_cancel(const struct server *s, const char *id);

/* Kills what @call runs and sends nothing more for it. It ends as always, soon. */
void call_stop(struct call *call);

/* Frees @call, which is not among those in progress any more, with its request. */
void call_free(struct call *call);

/* The call of this id that will be answered, or NULL. */
struct call *call_find(const struct server *s, const char *id);

/* Answers a call of TOOL_ASYNC whose tool waits for no command any more. */
void call_settle(struct call *call);

/*
 * Begins calls that waited for a worker, sends due progress notifications and makes long calls tasks; returns when there is more to do,
 * or INT64_MAX.
 */
int64_t call_tick(struct server *s, int64_t now_ms);
