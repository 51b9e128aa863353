/*
 * Subscriptions: see subscribe.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/subscribe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/extra.h"
#include "mcp/listen.h"
#include "mcp/resource.h"
#include "mcp/task.h"
#include "runtime/base/jsonw.h"

enum { REFUSAL_MAX = 4096 };

/* --- the table ---------------------------------------------------------------------------------------------------- */

static struct subscription *find(const struct server *s, const struct stream *stream, const char *uri)
{
	struct subscription *sub = s->subscribe.subscriptions;

	while (sub && (sub->stream != stream || strcmp(sub->name, uri) != 0))
		sub = sub->next;
	return sub;
}

/* Answers those who wait for @sub: it is ready, or they have taken it back. */
static void answer_waiting(struct subscription *sub)
{
	struct server *s = sub->server;

	while (sub->waiting) {
		struct request *req = sub->waiting;
		sub->waiting = req->next;
		s->subscribe.waiting_count--;
		answer_empty(s, req);
	}
}

/* Frees the subscription behind @link and takes it out of the list. */
static void drop(struct server *s, struct subscription **link)
{
	struct subscription *sub = *link;

	*link = sub->next;
	s->subscribe.count--;
	s->subscribe.bytes -= strlen(sub->name);
	watch_drop(sub->watch);
	free(sub);
}

void subscribe_drop_all(struct server *s, const struct stream *stream)
{
	for (struct subscription **link = &s->subscribe.subscriptions; *link;) {
		if ((*link)->stream == stream)
			drop(s, link);
		else
			link = &(*link)->next;
	}
}

static void file_event(void *owner, enum watch_event event)
{
	struct subscription *sub = owner;

	if (event == WATCH_CHANGED) {
		sub->due = true;
		return;
	}
	sub->ready = true;
	if (sub->stream)
		listen_ready(sub->server, sub->stream);
	else
		answer_waiting(sub);
}

/* Whether @uri is one of a resource, and which. 0 or -errno as of resource_parse(). */
static int find_resource(const struct server *s, const char *uri, struct resource *ret)
{
	int r = resource_parse(uri, ret);

	if (r < 0 && extra_resource(uri)) {
		ret->kind = RESOURCE_SKILL; /* like that one it never changes */
		return 0;
	}
	if (r < 0)
		return r;
	if (ret->kind == RESOURCE_JOB_OUTPUT)
		return task_exists(s, ret->path) ? 0 : -ENOENT;
	return ret->kind == RESOURCE_POLICY && !s->config->policy ? -ENOENT : 0;
}

int subscribe_new(struct server *s, struct stream *stream, enum subscribe_kind kind, const char *name, struct subscription **ret)
{
	struct resource what = { .kind = RESOURCE_JOBS };
	size_t len = strlen(name);
	const struct task *task = kind == SUBSCRIBE_TASK ? task_find(s, name) : NULL;
	int r = kind == SUBSCRIBE_RESOURCE ? find_resource(s, name, &what) : task ? 0 : -ENOENT;

	if (r < 0)
		return r;
	if (s->subscribe.count >= SUBSCRIBE_MAX || s->subscribe.bytes + len > SUBSCRIBE_BYTES_MAX)
		return -ENOSPC;
	struct subscription *sub = calloc(1, sizeof(*sub) + len + 1);
	if (!sub)
		return -ENOMEM;
	sub->server = s;
	sub->stream = stream;
	sub->kind = kind;
	sub->due = task && task_is_terminal(task); /* there will be no other occasion */
	memcpy(sub->name, name, len + 1);
	sub->ready = what.kind != RESOURCE_FILE;
	if (!sub->ready)
		sub->watch = watch_add(&s->subscribe.watcher, what.path, file_event, sub);
	if (!sub->ready && !sub->watch) {
		free(sub);
		return -ENOMEM;
	}
	struct subscription **end = &s->subscribe.subscriptions;
	while (*end)
		end = &(*end)->next;
	*end = sub;
	s->subscribe.count++;
	s->subscribe.bytes += len;
	*ret = sub;
	return 0;
}

/* --- requests of the session -------------------------------------------------------------------------------------- */

/* @error as of subscribe_new(). */
static void refuse(struct server *s, struct request *req, const char *uri, int error)
{
	_cleanup_buf_ struct buf message = BUF_INIT(REFUSAL_MAX);

	if (error == -ENOMEM)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "Out of memory.");
	if (error == -ENOSPC)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL,
				     "There are too many subscriptions: %d of them, or %d bytes of their URIs, are the limit. Unsubscribe "
				     "from some, or subscribe to a directory.",
				     SUBSCRIBE_MAX, SUBSCRIBE_BYTES_MAX);
	buf_addf(&message, "Resource '%s' %s.", ws_show(uri).s, resource_problem(error));
	answer_refuse_resource(s, req, error == -EINVAL ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND, uri, buf_cstr(&message));
}

void subscribe_add(struct server *s, struct request *req)
{
	const char *uri = rpc_param_str(&req->rpc, "uri");
	struct subscription *sub = uri ? find(s, NULL, uri) : NULL;
	int r = 0;

	if (!uri)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "resources/subscribe needs the uri of a resource, a string.");
	if (s->subscribe.waiting_count >= SUBSCRIBE_WAITING_MAX)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL,
				     "%d subscriptions wait already until what they name is watched. Try again in a moment.",
				     SUBSCRIBE_WAITING_MAX);
	if (!sub)
		r = subscribe_new(s, NULL, SUBSCRIBE_RESOURCE, uri, &sub);
	if (r < 0)
		return refuse(s, req, uri, r);
	if (sub->ready)
		return answer_empty(s, req);
	request_slim(s, req);
	req->next = sub->waiting;
	sub->waiting = req;
	s->subscribe.waiting_count++;
}

void subscribe_remove(struct server *s, struct request *req)
{
	const char *uri = rpc_param_str(&req->rpc, "uri");

	if (!uri)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "resources/unsubscribe needs the uri of a resource, a string.");
	for (struct subscription **link = &s->subscribe.subscriptions; *link; link = &(*link)->next) {
		if ((*link)->stream || strcmp((*link)->name, uri) != 0)
			continue;
		answer_waiting(*link);
		drop(s, link);
		break;
	}
	answer_empty(s, req);
}

/* Where the request with this id stands in the list of those that wait for @sub, or NULL. */
static struct request **find_waiting(struct subscription *sub, const char *id)
{
	for (struct request **p = &sub->waiting; *p; p = &(*p)->next)
		if (strcmp((*p)->rpc.id, id) == 0)
			return p;
	return NULL;
}

bool subscribe_has(const struct server *s, const char *id)
{
	for (struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next)
		if (find_waiting(sub, id))
			return true;
	return listen_find(s, id) != NULL;
}

bool subscribe_cancel(struct server *s, const char *id)
{
	struct stream *stream = listen_find(s, id);

	if (stream) {
		listen_end(s, stream, false);
		return true;
	}
	for (struct subscription **link = &s->subscribe.subscriptions; *link; link = &(*link)->next) {
		struct request **p = find_waiting(*link, id), *req = p ? *p : NULL;
		if (!req)
			continue;
		*p = req->next;
		s->subscribe.waiting_count--;
		request_free(s, req);
		if (!(*link)->waiting)
			drop(s, link);
		return true;
	}
	return false;
}

void subscribe_end_session(struct server *s)
{
	for (struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next)
		answer_waiting(sub);
	subscribe_drop_all(s, NULL);
}

/* --- notifications ------------------------------------------------------------------------------------------------ */

static void changed(struct server *s, enum subscribe_kind kind, const char *name)
{
	for (struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next)
		if (sub->kind == kind && strcmp(sub->name, name) == 0)
			sub->due = true;
}

void subscribe_changed(struct server *s, const char *uri)
{
	changed(s, SUBSCRIBE_RESOURCE, uri);
}

void subscribe_task_changed(struct server *s, const char *id)
{
	changed(s, SUBSCRIBE_TASK, id);
}

static bool may_tell(const struct subscription *sub)
{
	return sub->stream ? listen_is_open(sub->stream) : sub->ready && sub->server->session.ready;
}

static void write_updated(struct buf *b, const struct subscription *sub)
{
	answer_begin_notification(b, "notifications/resources/updated");
	jsonw_member(b, "uri", sub->name);
}

static void write_task(struct buf *b, const struct subscription *sub)
{
	struct task *task = task_find(sub->server, sub->name);

	if (!task)
		return; /* its time is over */
	answer_begin_notification(b, "notifications/tasks");
	task_write_detailed(b, task);
}

static void tell(struct subscription *sub, int64_t now_ms)
{
	static void (*const write[])(struct buf *b, const struct subscription *sub) = {
		[SUBSCRIBE_RESOURCE] = write_updated,
		[SUBSCRIBE_TASK] = write_task,
	};
	_cleanup_buf_ struct buf b = BUF_INIT(OUT_MESSAGE_MAX);

	sub->due = false;
	sub->not_before_ms = now_ms + SUBSCRIBE_INTERVAL_MS;
	write[sub->kind](&b, sub);
	if (b.len > 0 && sub->stream)
		listen_add_meta(&b, sub->stream);
	if (b.len > 0)
		(void) answer_notify(sub->server, &b, false);
}

int64_t subscribe_tick(struct server *s, int64_t now_ms)
{
	int64_t next = watch_tick(&s->subscribe.watcher, now_ms);

	listen_tick(s);
	for (struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next) {
		if (!sub->due || !may_tell(sub) || out_congested(&s->out))
			continue; /* the loop comes by again when that has changed */
		if (now_ms < sub->not_before_ms)
			next = MIN(next, sub->not_before_ms);
		else
			tell(sub, now_ms);
	}
	return next;
}

void subscribe_init(struct server *s)
{
	s->subscribe = (struct subscribe) { .subscriptions = NULL };
	watch_init(&s->subscribe.watcher, &s->loop, &s->work, s->config, s->root_fd);
}

void subscribe_done(struct server *s)
{
	listen_end_all(s, false);
	for (struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next) {
		while (sub->waiting) {
			struct request *req = sub->waiting;
			sub->waiting = req->next;
			request_free(s, req);
		}
	}
	subscribe_drop_all(s, NULL);
	watch_done(&s->subscribe.watcher);
}
