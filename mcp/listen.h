/*
 * Streams of notifications in 2026-07-28: subscriptions/listen.
 *
 * A stream is a request that stays unanswered. Its first message acknowledges what of its wishes is honoured, and every message
 * on it carries the request's id, as its client wrote it. The client ends it with notifications/cancelled; the server answers the
 * request when it ends itself. Everything belongs to the event loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum { LISTEN_STREAMS_MAX = 64 };

/* Lists whose changes a stream can be told about, bits. What cloche itself lists never changes. */
enum listen_list { LISTEN_TOOLS = 1 << 0, LISTEN_PROMPTS = 1 << 1, LISTEN_RESOURCES = 1 << 2 };

struct request;
struct server;
struct stream;

/*
 * Opens a stream and takes @req over. Honoured are its lists that are in @lists, the URIs that name resources and the ids of tasks,
 * as long as there is room (subscribe.h).
 */
void listen_start(struct server *s, struct request *req, unsigned int lists);

/* A subscription of @stream has become ready. */
void listen_ready(struct server *s, struct stream *stream);

/* Whether @stream has been acknowledged: before that nothing may be sent on it. */
bool listen_is_open(const struct stream *stream);

/* Adds the _meta that belongs to every message on @stream, as the last member of its params. */
void listen_add_meta(struct buf *b, const struct stream *stream);

/* One of the lists (one bit) has changed: tells the streams that asked for it. */
void listen_list_changed(struct server *s, enum listen_list list);

/* Sends notifications about lists that could not be sent before. */
void listen_tick(struct server *s);

/* The stream whose request's id has the JSON text @id, or NULL. */
struct stream *listen_find(const struct server *s, const char *id);

/* Ends @stream: says nothing, or answers it (@say) because the server itself ends. */
void listen_end(struct server *s, struct stream *stream, bool say);
void listen_end_all(struct server *s, bool say);
