/*
 * Subscriptions: who wants to hear when a resource changes.
 *
 * In the handshake revisions a client subscribes to one URI at a time, and its subscriptions last until it unsubscribes or
 * begins a new session (resources/subscribe). In 2026-07-28 it opens a stream and names all it wants in it (listen.h). Both may
 * exist side by side.
 *
 * A subscription to a file is confirmed once the file is watched (watch.h), so that no later change is missed. A notification
 * says that something changed, not what: several changes become one, at most every SUBSCRIBE_INTERVAL_MS, and one for all while
 * the reader of our output does not keep up. Everything belongs to the event loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/watch.h"
#include "runtime/base/attr.h"

enum {
	SUBSCRIBE_MAX = 256,               /* of the session and all streams together */
	SUBSCRIBE_BYTES_MAX = 1024 * 1024, /* of their URIs */
	SUBSCRIBE_WAITING_MAX = 256,       /* requests that wait for a file to be watched */
	SUBSCRIBE_INTERVAL_MS = 100,       /* between two notifications of one subscription */
};

struct request;
struct server;
struct stream;

enum subscribe_kind { SUBSCRIBE_RESOURCE, SUBSCRIBE_TASK };

struct subscription {
	struct subscription *next;
	struct server *server;
	struct stream *stream;   /* whose it is, or NULL: the session's */
	struct watch *watch;     /* of a file, else NULL */
	struct request *waiting; /* requests of the session to be answered once it is ready */
	bool ready;              /* changes are noticed from now on */
	bool due;                /* there is one to tell, */
	int64_t not_before_ms;   /* but not before */
	enum subscribe_kind kind;
	char name[];             /* the URI as the client wrote it; the id of a task */
};

struct subscribe {
	struct watcher watcher;
	struct subscription *subscriptions;
	struct stream *streams;
	unsigned int count, stream_count, waiting_count;
	size_t bytes;
};

void subscribe_init(struct server *s);

/* To be called when no worker thread is left. */
void subscribe_done(struct server *s);

/* The resource @uri, one of cloche://, has changed. Cheap; call it as often as you like. */
void subscribe_changed(struct server *s, const char *uri);

/* So has the status of the task @id. */
void subscribe_task_changed(struct server *s, const char *id);

/*
 * resources/subscribe and resources/unsubscribe: take @req over and answer it, the former when the resource is watched. To
 * subscribe twice, or to unsubscribe from what is not subscribed to, changes nothing and is no error.
 */
void subscribe_add(struct server *s, struct request *req);
void subscribe_remove(struct server *s, struct request *req);

/* Whether a request with the id of the JSON text @id waits here, or is a stream. */
bool subscribe_has(const struct server *s, const char *id);

/* Ends it without another word. False when there is none. */
bool subscribe_cancel(struct server *s, const char *id);

/* Forgets the subscriptions of the handshake session: another one begins. */
void subscribe_end_session(struct server *s);

/* Sends what is due; returns when there is more to do, or INT64_MAX. */
int64_t subscribe_tick(struct server *s, int64_t now_ms);

/*
 * For listen.c. Adds a subscription to @name, a URI or the id of a task, for @stream (NULL: the session), which may be ready at
 * once. 0, or what resource_parse() says of the URI, -ENOENT also for a task, -ENOSPC when there are too many, -ENOMEM.
 */
int subscribe_new(struct server *s, struct stream *stream, enum subscribe_kind kind, const char *name, struct subscription **ret)
	_must_check_;

/* Ends all subscriptions of @stream (NULL: the session). */
void subscribe_drop_all(struct server *s, const struct stream *stream);
