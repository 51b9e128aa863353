/*
 * What goes out: results, refusals and notifications.
 *
 * A result is begun, gets its members, and is finished, which sends it and ends the request's life:
 *
 *	_cleanup_buf_ struct buf b = BUF_INIT(8192);
 *	answer_begin(&b, req);
 *	jsonw_name(&b, "tools"); …
 *	answer_finish(s, req, &b);
 */
#pragma once

#include "mcp/state.h"

enum { ANSWER_FIXED_TTL_MS = 3600000 }; /* how long what stays the same as long as the server runs may be kept */

/*
 * For a list that has a single page: true unless @req asks for another one with a cursor; then it is refused and freed.
 */
bool answer_is_first_page(struct server *s, struct request *req);

/* Begins the result of @req; members follow, each after jsonw_name(). */
void answer_begin(struct buf *b, const struct request *req);

/* Adds "ttlMs" and "cacheScope" in the revision that wants them: how long, and whether for everybody, the result holds. */
void answer_cache(struct buf *b, const struct request *req, int64_t ttl_ms, bool is_public);

/*
 * Adds the type of a stateless result ("complete", "task") and begins its _meta with who we are; the caller closes it. For results that
 * are not sent by answer_finish().
 */
void answer_begin_meta(struct buf *b, const char *type);

/* Adds what every result of the stateless revision carries, sends the result and frees @req. The buffer is emptied. */
void answer_finish(struct server *s, struct request *req, struct buf *b);

/* The same for the answer of server/discover, by which a client gets to know us. */
void answer_finish_introduction(struct server *s, struct request *req, struct buf *b);

/* The result without members. */
void answer_empty(struct server *s, struct request *req);

/* Answers with an error and frees @req; @data is JSON text or NULL. */
void answer_refuse(struct server *s, struct request *req, enum rpc_code code, const char *data, const char *fmt, ...)
	_printf_(5, 6);

/* The same about the resource @uri, which goes along as data.uri. */
void answer_refuse_resource(struct server *s, struct request *req, enum rpc_code code, const char *uri, const char *message);

/* Sends the message @json as the answer of @req, which lives on. One that is too long becomes an error. */
void answer_send(struct server *s, const struct request *req, struct buf *json);

/* Answers with an error; @req lives on. */
void answer_error(struct server *s, const struct request *req, enum rpc_code code, const char *message, const char *data);

/* Begins {"jsonrpc":"2.0","method":@method,"params":{ ; members follow as above, then answer_notify(). */
void answer_begin_notification(struct buf *b, const char *method);

/*
 * Adds, to the notification in @b, the member "_meta" that names the task which @req belongs to, as 2025-11-25 wants
 * it; nothing when there is none.
 */
void answer_relate(struct buf *b, const struct request *req);

/*
 * Closes and sends a notification. One that can be left out is left out while the reader does not keep up; then false
 * is returned.
 */
bool answer_notify(struct server *s, struct buf *b, bool can_be_left_out);

/* Sends notifications/message about @req, when its client wants this level. */
void answer_log(struct server *s, const struct request *req, enum mcp_log_level level, const char *text);
