/*
 * What goes out: see answer.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/answer.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "mcp/batch.h"
#include "mcp/log.h"
#include "mcp/uri.h"
#include "runtime/base/jsonw.h"

enum { ANSWER_ERROR_MAX = 16 * 1024, ANSWER_EMPTY_MAX = 4096, ANSWER_DATA_MAX = 8 * URI_MAX };

/* --- results ------------------------------------------------------------------------------------------------------ */

bool answer_is_first_page(struct server *s, struct request *req)
{
	const cJSON *cursor = rpc_param(&req->rpc, "cursor");

	if (!cursor || cJSON_IsNull(cursor))
		return true;
	answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "This cursor is not one of ours: the list has a single page.");
	return false;
}

void answer_begin(struct buf *b, const struct request *req)
{
	rpc_begin_result(b, req->rpc.id);
	buf_add_char(b, '{');
}

void answer_cache(struct buf *b, const struct request *req, int64_t ttl_ms, bool is_public)
{
	if (req->terms.version != MCP_2026_07_28)
		return;
	jsonw_name(b, "ttlMs");
	buf_addf(b, "%lld", (long long) ttl_ms);
	jsonw_member(b, "cacheScope", is_public ? "public" : "private");
}

/* @tell adds who we are. */
static void begin_meta(struct buf *b, const char *type, void (*tell)(struct buf *b, enum mcp_version version))
{
	jsonw_member(b, "resultType", type);
	buf_add_str(b, ",\"_meta\":{\"" MCP_META_SERVER_INFO "\":");
	tell(b, MCP_2026_07_28);
}

void answer_begin_meta(struct buf *b, const char *type)
{
	begin_meta(b, type, session_write_server_info);
}

static void finish(struct server *s, struct request *req, struct buf *b, void (*tell)(struct buf *b, enum mcp_version version))
{
	if (req->terms.version == MCP_2026_07_28) {
		begin_meta(b, "complete", tell);
		buf_add_char(b, '}');
	}
	buf_add_char(b, '}');
	rpc_end_result(b);
	answer_send(s, req, b);
	request_free(s, req);
}

void answer_finish(struct server *s, struct request *req, struct buf *b)
{
	finish(s, req, b, session_write_server_info);
}

void answer_finish_introduction(struct server *s, struct request *req, struct buf *b)
{
	finish(s, req, b, session_introduce);
}

void answer_empty(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(ANSWER_EMPTY_MAX);

	answer_begin(&b, req);
	answer_finish(s, req, &b);
}

void answer_send(struct server *s, const struct request *req, struct buf *json)
{
	const char *id = req->rpc.id;

	if (req->batch) {
		batch_add(req->batch, id, json);
		return;
	}
	int r = out_message(&s->out, json);
	if (r == 0)
		return;
	_cleanup_buf_ struct buf b = BUF_INIT(ANSWER_ERROR_MAX);
	rpc_write_error(&b, id, RPC_INTERNAL_ERROR,
			r == -EMSGSIZE ? "The answer is too large for one message." : "Out of memory.", NULL);
	(void) out_message(&s->out, &b);
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

void answer_error(struct server *s, const struct request *req, enum rpc_code code, const char *message, const char *data)
{
	_cleanup_buf_ struct buf b = BUF_INIT(ANSWER_ERROR_MAX + (data ? strlen(data) : 0));

	log_line(MCP_LOG_DEBUG, "refused a message: %s", message);
	rpc_write_error(&b, req->rpc.id, code, message, data);
	answer_send(s, req, &b);
}

void answer_refuse(struct server *s, struct request *req, enum rpc_code code, const char *data, const char *fmt, ...)
{
	_cleanup_buf_ struct buf message = BUF_INIT(ANSWER_ERROR_MAX / 2);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&message, fmt, ap);
	va_end(ap);
	answer_error(s, req, code, buf_cstr(&message), data);
	request_free(s, req);
}

void answer_refuse_resource(struct server *s, struct request *req, enum rpc_code code, const char *uri, const char *message)
{
	_cleanup_buf_ struct buf data = BUF_INIT(ANSWER_DATA_MAX);

	buf_add_char(&data, '{');
	jsonw_member(&data, "uri", uri);
	buf_add_char(&data, '}');
	answer_refuse(s, req, code, buf_error(&data) ? NULL : buf_cstr(&data), "%s", message);
}

/* --- notifications ------------------------------------------------------------------------------------------------ */

void answer_begin_notification(struct buf *b, const char *method)
{
	buf_addf(b, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{", method);
}

void answer_relate(struct buf *b, const struct request *req)
{
	if (req->task_id)
		buf_addf(b, ",\"_meta\":{\"" MCP_META_RELATED_TASK "\":{\"taskId\":\"%s\"}}", req->task_id);
}

bool answer_notify(struct server *s, struct buf *b, bool can_be_left_out)
{
	if (can_be_left_out && out_congested(&s->out)) {
		buf_clear(b);
		return false;
	}
	buf_add_str(b, "}}");
	return out_message(&s->out, b) == 0;
}

void answer_log(struct server *s, const struct request *req, enum mcp_log_level level, const char *text)
{
	bool stateless = req->terms.version == MCP_2026_07_28;
	enum mcp_log_level least = stateless ? req->terms.log_level : s->session.log_level;
	_cleanup_buf_ struct buf b = BUF_INIT(ANSWER_ERROR_MAX);

	if (level < least || (!stateless && !s->session.ready))
		return;
	answer_begin_notification(&b, "notifications/message");
	buf_addf(&b, "\"level\":\"%s\",\"logger\":\"cloche\",\"data\":{\"msg\":", log_level_name(level));
	jsonw_str(&b, text);
	buf_add_char(&b, '}');
	answer_relate(&b, req);
	(void) answer_notify(s, &b, true);
}
