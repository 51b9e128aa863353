/*
 * Tool calls that outlive their request: see task.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "mcp/answer.h"
#include "mcp/batch.h"
#include "mcp/log.h"
#include "mcp/resource.h"
#include "mcp/subscribe.h"
#include "runtime/base/clock.h"
#include "runtime/base/jsonw.h"

enum { TASK_ANSWER_MAX = 16 * 1024 };

/* --- the table ---------------------------------------------------------------------------------------------------- */

struct task *task_find(const struct server *s, const char *id)
{
	for (struct task *task = s->tasks; task; task = task->next)
		if (strcmp(task->id, id) == 0)
			return task;
	return NULL;
}

bool task_exists(const struct server *s, const char *id)
{
	return task_find(s, id) != NULL;
}

size_t task_ids(struct server *s, const char *prefix, const char **ids, size_t max)
{
	size_t count = 0;

	for (const struct task *task = s->tasks; task && count < max; task = task->next)
		if (strncmp(task->id, prefix, strlen(prefix)) == 0)
			ids[count++] = task->id;
	return count;
}

bool task_has_room(const struct server *s)
{
	return s->task_working < TASK_WORKING_MAX;
}

bool task_is_terminal(const struct task *task)
{
	return task->over || task->cancelled;
}

static void drop(struct server *s, struct task *task)
{
	struct task **p = &s->tasks;

	while (*p != task)
		p = &(*p)->next;
	*p = task->next;
	s->task_count--;
	call_free(task->call);
	free(task);
}

/* Drops the task that ended first; one that works never. */
static void make_room(struct server *s)
{
	struct task *first = NULL;

	for (struct task *task = s->tasks; task; task = task->next)
		if (task->over && (!first || task->ended_ms < first->ended_ms))
			first = task;
	if (first)
		drop(s, first);
}

static int64_t wall_ms(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int make_id(char id[TASK_ID_SIZE])
{
	unsigned char random[TASK_ID_SIZE / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t) sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		(void) snprintf(id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* --- telling it --------------------------------------------------------------------------------------------------- */

/* The answer to the call: the handle in place of a result. */
static void send_handle(const struct task *task)
{
	const struct request *req = task->call->request;
	_cleanup_buf_ struct buf b = BUF_INIT(TASK_ANSWER_MAX);

	answer_begin(&b, req);
	if (req->terms.version == MCP_2026_07_28) {
		task_write(&b, task, MCP_2026_07_28);
		answer_begin_meta(&b, "task");
	} else {
		_cleanup_buf_ struct buf text = BUF_INIT(TASK_ANSWER_MAX);
		buf_addf(&text, "%s runs in the background as task %s. What it has printed so far is the resource " RESOURCE_URI_JOB_OUTPUT ".",
			 task->call->tool->name, task->id, task->id);
		jsonw_name(&b, "task");
		buf_add_char(&b, '{');
		task_write(&b, task, req->terms.version);
		buf_add_str(&b, "},\"_meta\":{\"" MCP_META_IMMEDIATE_RESPONSE "\":");
		jsonw_str(&b, buf_cstr(&text));
	}
	buf_add_str(&b, "}}");
	rpc_end_result(&b);
	answer_send(task->call->server, req, &b);
}

static void tell_output(const struct task *task)
{
	char uri[sizeof(RESOURCE_URI_JOB_OUTPUT) + TASK_ID_SIZE];

	(void) snprintf(uri, sizeof(uri), RESOURCE_URI_JOB_OUTPUT, task->id);
	subscribe_changed(task->call->server, uri);
}

/* Its status has changed: tells those who watch the list or the task, and a handshake client. */
static void tell_status(const struct task *task)
{
	struct server *s = task->call->server;
	_cleanup_buf_ struct buf b = BUF_INIT(TASK_ANSWER_MAX);

	subscribe_changed(s, RESOURCE_URI_JOBS);
	subscribe_task_changed(s, task->id);
	if (task->call->request->terms.version != MCP_2025_11_25 || s->session.version != MCP_2025_11_25 || !s->session.ready)
		return;
	answer_begin_notification(&b, "notifications/tasks/status");
	task_write(&b, task, MCP_2025_11_25);
	(void) answer_notify(s, &b, true);
}

static void send_result(struct server *s, struct task *task, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(OUT_MESSAGE_MAX);

	answer_begin(&b, req);
	task_write_result(&b, task, req->terms.version);
	answer_finish(s, req, &b);
}

/* --- the life of a task ------------------------------------------------------------------------------------------- */

/* Puts @call behind the others. */
static struct task *add(struct server *s, struct call *call, int64_t ttl_ms)
{
	struct task *task = calloc(1, sizeof(*task)), **last = &s->tasks;

	if (!task)
		return NULL;
	*task = (struct task) { .call = call, .begun_ms = clock_now_ms(), .created_ms = wall_ms(), .ttl_ms = ttl_ms };
	task->updated_ms = task->created_ms;
	while (*last)
		last = &(*last)->next;
	*last = task;
	s->task_count++;
	return task;
}

int task_begin(struct call *call, int64_t ttl_ms)
{
	struct server *s = call->server;
	struct request *req = call->request;
	char id[TASK_ID_SIZE];

	if (!task_has_room(s))
		return -EBUSY;
	int r = make_id(id);
	if (r < 0)
		return r;
	if (s->task_count >= TASK_MAX)
		make_room(s);
	struct task *task = add(s, call, ttl_ms);
	if (!task)
		return -ENOMEM;
	memcpy(task->id, id, sizeof(id));
	s->task_working++;
	call->task = task;
	send_handle(task);
	req->task_id = task->id;
	batch_unref(req->batch);
	req->batch = NULL;
	if (req->terms.version == MCP_2026_07_28) { /* where nothing more may be sent of it */
		call->progress_ms = INT64_MAX;
		req->terms.log_level = MCP_LOG_OFF;
	}
	log_line(MCP_LOG_INFO, "TASK_BEGIN %s as %.8s...", call->tool->name, task->id);
	subscribe_changed(s, RESOURCE_URI_JOBS);
	return 0;
}

void task_end(struct task *task)
{
	struct call *call = task->call;
	struct server *s = call->server;

	task->over = true;
	task->ended_ms = clock_now_ms();
	task->ttl_ms = MAX(task->ttl_ms, task->ended_ms - task->begun_ms + TASK_KEEP_MS);
	s->task_working--;
	cJSON_Delete(call->args); /* a command may be long */
	call->args = NULL;
	call->pub.args = NULL;
	request_slim(s, call->request);
	if (!task->cancelled) {
		task->updated_ms = wall_ms();
		tell_status(task);
	}
	tell_output(task); /* it is the text of the result now */
	while (task->readers) {
		struct request *req = task->readers;
		task->readers = req->next;
		s->task_readers--;
		send_result(s, task, req);
	}
}

void task_cancel(struct task *task)
{
	if (task_is_terminal(task))
		return;
	task->cancelled = true;
	task->updated_ms = wall_ms();
	call_stop(task->call);
	tell_status(task);
}

/* --- who waits for results ---------------------------------------------------------------------------------------- */

int task_answer_result(struct server *s, struct task *task, struct request *req)
{
	struct request **last = &task->readers;

	if (task->over) {
		send_result(s, task, req);
		return 0;
	}
	if (s->task_readers >= TASK_READERS_MAX)
		return -ENOBUFS;
	while (*last)
		last = &(*last)->next;
	request_slim(s, req);
	req->next = NULL;
	*last = req;
	s->task_readers++;
	return 0;
}

/* Where the request with this id hangs, or NULL. */
static struct request **find_reader(const struct server *s, const char *id)
{
	for (struct task *task = s->tasks; task; task = task->next)
		for (struct request **p = &task->readers; *p; p = &(*p)->next)
			if (strcmp((*p)->rpc.id, id) == 0)
				return p;
	return NULL;
}

bool task_reader_has(const struct server *s, const char *id)
{
	return find_reader(s, id) != NULL;
}

bool task_reader_cancel(struct server *s, const char *id)
{
	struct request **link = find_reader(s, id);

	if (!link)
		return false;
	struct request *req = *link;
	*link = req->next;
	s->task_readers--;
	request_free(s, req);
	return true;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void look_for_output(struct task *task, int64_t now_ms)
{
	uint64_t total = task->call->job_active ? task->call->job.capture.total : task->told;

	if (now_ms < task->look_ms || total == task->told)
		return;
	task->look_ms = now_ms + TASK_OUTPUT_TELL_MS;
	task->told = total;
	tell_output(task);
}

int64_t task_tick(struct server *s, int64_t now_ms)
{
	int64_t next = INT64_MAX;
	struct task *following;

	for (struct task *task = s->tasks; task; task = following) {
		int64_t end_ms = task->begun_ms + task->ttl_ms;
		following = task->next;
		if (!task->over) {
			look_for_output(task, now_ms);
			next = MIN(next, now_ms + TASK_OUTPUT_TELL_MS);
		} else if (now_ms >= end_ms) {
			drop(s, task);
			subscribe_changed(s, RESOURCE_URI_JOBS);
		} else {
			next = MIN(next, end_ms);
		}
	}
	return next;
}

void task_stop(struct server *s)
{
	for (struct task *task = s->tasks; task; task = task->next)
		if (!task->readers)
			task_cancel(task);
}

void task_done(struct server *s)
{
	while (s->tasks)
		drop(s, s->tasks);
}
