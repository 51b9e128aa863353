/*
 * What a tool may use while it serves a call: see tool.h. Runs in cloche-mcp, without any capability. Except for what
 * belongs to TOOL_ASYNC handlers, these functions are called on any thread.
 */
#include "mcp/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/answer.h"
#include "mcp/call.h"
#include "mcp/log.h"
#include "mcp/metrics.h"

static struct call *call_of(struct tool_call *pub)
{
	return pub->state;
}

void tool_fail(struct tool_call *call, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&call->text);
	call->is_error = true;
	va_start(ap, fmt);
	buf_vaddf(&call->text, fmt, ap);
	va_end(ap);
}

void tool_summary(struct tool_call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(call->summary, sizeof(call->summary), fmt, ap);
	va_end(ap);
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

const cJSON *tool_arg(const struct tool_call *call, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(call->args, name);
}

const char *tool_arg_str(const struct tool_call *call, const char *name)
{
	const char *s = cJSON_GetStringValue(tool_arg(call, name));

	return s ? s : "";
}

int64_t tool_arg_int(const struct tool_call *call, const char *name)
{
	const cJSON *arg = tool_arg(call, name);

	return cJSON_IsNumber(arg) ? (int64_t) arg->valuedouble : 0;
}

bool tool_arg_bool(const struct tool_call *call, const char *name)
{
	return cJSON_IsTrue(tool_arg(call, name));
}

/* --- logging ------------------------------------------------------------------------------------------------------ */

enum { LOG_TEXT_MAX = 1000 };

/* A line on its way from a worker to the event loop. */
struct log_post {
	struct loop_post post;
	struct call *call; /* alive: its own post comes later */
	enum mcp_log_level level;
	char text[LOG_TEXT_MAX];
};

static void tell_client(struct call *call, enum mcp_log_level level, const char *text)
{
	if (!call->silent)
		answer_log(call->server, call->request, level, text);
}

static void log_posted(struct loop_post *post)
{
	struct log_post *log = CONTAINER_OF(post, struct log_post, post);

	tell_client(log->call, log->level, log->text);
	free(log);
}

void tool_log(struct tool_call *pub, enum mcp_log_level level, const char *fmt, ...)
{
	struct call *call = call_of(pub);
	struct log_post *log = calloc(1, sizeof(*log));
	va_list ap;

	if (!log)
		return;
	log->post.run = log_posted;
	log->call = call;
	log->level = level;
	va_start(ap, fmt);
	(void) vsnprintf(log->text, sizeof(log->text), fmt, ap);
	va_end(ap);
	log_line(level, "%s: %s", call->tool->name, log->text);
	if (call->tool->mode == TOOL_WORKER)
		loop_post(&call->server->loop, &log->post);
	else
		log_posted(&log->post);
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

void exec_result_done(struct exec_result *res)
{
	buf_done(&res->output);
	buf_done(&res->tail);
}

static void async_done(struct initc_job *job)
{
	struct call *call = CONTAINER_OF(job, struct call, job);
	struct exec_result res = job->res;

	call->job_active = false;
	if (res.refused_step == 0)
		metrics_add(&call->pub, &res);
	call->exec_done(&call->pub, &res);
	exec_result_done(&res);
	call_settle(call);
}

int tool_exec_async(struct tool_call *pub, const struct exec_request *req,
		    void (*done)(struct tool_call *call, const struct exec_result *res))
{
	struct call *call = call_of(pub);

	if (call->job_active)
		return -EBUSY;
	call->job.done = async_done;
	call->exec_done = done;
	int r = initc_start(&call->server->initc, &call->job, req, pub->config->root_name, INITC_LOOP);
	call->job_active = r == 0;
	return r;
}

static void wake_worker(struct call *call, int error)
{
	(void) pthread_mutex_lock(&call->lock);
	call->exec_error = error;
	call->exec_over = true;
	(void) pthread_cond_signal(&call->wake);
	(void) pthread_mutex_unlock(&call->lock);
}

static void sync_done(struct initc_job *job)
{
	struct call *call = CONTAINER_OF(job, struct call, job);

	call->job_active = false;
	*call->exec_res = job->res;
	wake_worker(call, 0);
}

static void start_for_worker(struct loop_post *post)
{
	struct call *call = CONTAINER_OF(post, struct call, exec_wanted);
	int r = -ECANCELED;

	call->job.done = sync_done;
	if (!atomic_load(&call->cancelled))
		r = initc_start(&call->server->initc, &call->job, call->exec_req, call->pub.config->root_name,
				INITC_WORKER);
	if (r < 0)
		wake_worker(call, r);
	else
		call->job_active = true;
}

int tool_exec(struct tool_call *pub, const struct exec_request *req, struct exec_result *res)
{
	struct call *call = call_of(pub);

	*res = (struct exec_result) { .refused_step = 0 };
	call->exec_req = req;
	call->exec_res = res;
	call->exec_over = false;
	call->exec_wanted.run = start_for_worker;
	loop_post(&call->server->loop, &call->exec_wanted);
	(void) pthread_mutex_lock(&call->lock);
	while (!call->exec_over)
		(void) pthread_cond_wait(&call->wake, &call->lock);
	(void) pthread_mutex_unlock(&call->lock);
	return call->exec_error;
}
