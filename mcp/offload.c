/*
 * Requests on a worker thread: see offload.h. Runs in cloche-mcp, without any capability, on the event loop; only
 * run_on_worker() is called on another thread.
 */
#include "mcp/offload.h"

#include <string.h>

#include "mcp/answer.h"

/* Whose answers may be made at the same time: each is in memory until the reader takes it. */
enum { OFFLOAD_RUNNING_MAX = WORK_THREADS_MAX };

static void leave_list(struct offload *o)
{
	struct offload **link = &o->server->offloads;

	while (*link != o)
		link = &(*link)->next;
	*link = o->next;
	o->server->call_count--;
}

static void end(struct offload *o)
{
	leave_list(o);
	if (atomic_load(&o->cancelled)) {
		request_free(o->server, o->request);
		o->request = NULL;
	}
	o->done(o);
}

static void cancel(struct offload *o)
{
	atomic_store(&o->cancelled, true);
	if (!o->is_running)
		end(o);
}

static void worker_finished(struct loop_post *post)
{
	struct offload *o = CONTAINER_OF(post, struct offload, finished);

	o->server->offload_running--;
	end(o);
}

static void run_on_worker(struct work_item *item)
{
	struct offload *o = CONTAINER_OF(item, struct offload, work);

	if (!atomic_load(&o->cancelled))
		o->run(o);
	loop_post(&o->server->loop, &o->finished);
}

void offload_start(struct server *s, struct request *req, struct offload *o, void (*run)(struct offload *o),
		   void (*done)(struct offload *o))
{
	struct offload **last = &s->offloads;

	*o = (struct offload) {
		.call = {
			.config = s->config,
			.facts = state_facts(s),
			.root_fd = s->root_fd,
			.text = BUF_INIT(TOOL_TEXT_MAX),
			.cancelled = &o->cancelled,
			.server = s,
		},
		.server = s,
		.request = req,
		.work = { .run = run_on_worker },
		.finished = { .run = worker_finished },
		.run = run,
		.done = done,
	};
	while (*last)
		last = &(*last)->next;
	*last = o;
	s->call_count++;
	offload_tick(s);
}

/* The first that no worker has. */
static struct offload *next_to_run(const struct server *s)
{
	struct offload *o = s->offloads;

	while (o && o->is_running)
		o = o->next;
	return o;
}

void offload_tick(struct server *s)
{
	struct offload *o;

	while (s->offload_running < OFFLOAD_RUNNING_MAX && !out_congested(&s->out) && (o = next_to_run(s))) {
		int r = work_submit(&s->work, &o->work);
		o->is_running = r == 0;
		s->offload_running += r == 0;
		if (r == 0)
			continue;
		answer_error(s, o->request, RPC_INTERNAL_ERROR,
			     "This cannot be looked up now: no thread could be started. Try again in a moment.", NULL);
		cancel(o);
	}
}

void offload_stop(struct server *s)
{
	for (struct offload *o = next_to_run(s); o; o = next_to_run(s))
		cancel(o);
}

void offload_release(struct offload *o)
{
	buf_done(&o->call.text);
}

static struct offload *find(const struct server *s, const char *id)
{
	for (struct offload *o = s->offloads; o; o = o->next)
		if (!atomic_load(&o->cancelled) && strcmp(o->request->rpc.id, id) == 0)
			return o;
	return NULL;
}

bool offload_has(const struct server *s, const char *id)
{
	return find(s, id) != NULL;
}

bool offload_cancel(struct server *s, const char *id)
{
	struct offload *o = find(s, id);

	if (o)
		cancel(o);
	return o != NULL;
}
