/*
 * The JSON-RPC 2.0 envelope: see rpc.h. Runs in cloche-mcp, without any capability; sees hostile bytes.
 */
#include "mcp/rpc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/jsonw.h"

_printf_(3, 4) static void bad(struct rpc *m, enum rpc_code code, const char *fmt, ...)
{
	va_list ap;

	m->kind = RPC_BAD;
	m->code = code;
	va_start(ap, fmt);
	(void) vsnprintf(m->problem, sizeof(m->problem), fmt, ap);
	va_end(ap);
}

static char *raw_text(struct scan_raw *raw)
{
	return raw->type == SCAN_STRING || raw->type == SCAN_NUMBER ? buf_take(&raw->text, NULL) : NULL;
}

/* What is wrong with the members every message has. */
static void check_envelope(struct rpc *m, const struct scan *scan)
{
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(m->tree, "jsonrpc");
	const cJSON *method = cJSON_GetObjectItemCaseSensitive(m->tree, "method");
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(m->tree, "params");

	if (!method && (cJSON_GetObjectItemCaseSensitive(m->tree, "result") ||
			cJSON_GetObjectItemCaseSensitive(m->tree, "error"))) {
		m->kind = RPC_RESPONSE;
		return;
	}
	if (scan->duplicate)
		return bad(m, RPC_INVALID_REQUEST, "A member of the message, its params or _meta is there twice.");
	if (scan->id.type == SCAN_NULL)
		return bad(m, RPC_INVALID_REQUEST, "The id is null: use a string or an integer.");
	if (scan->id.type == SCAN_OTHER)
		return bad(m, RPC_INVALID_REQUEST, "The id must be a string or an integer.");
	if (scan->id.type == SCAN_TOO_LONG)
		return bad(m, RPC_INVALID_REQUEST, "The id is longer than %d bytes.", SCAN_RAW_MAX);
	if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0)
		return bad(m, RPC_INVALID_REQUEST, "The member \"jsonrpc\" must be the string \"2.0\".");
	if (!method)
		return bad(m, RPC_INVALID_REQUEST, "The message has no method and no result.");
	if (!cJSON_IsString(method))
		return bad(m, RPC_INVALID_REQUEST, "The method must be a string.");

	m->kind = m->id ? RPC_REQUEST : RPC_NOTIFICATION;
	m->method = method->valuestring;
	if (params && !cJSON_IsObject(params) && !cJSON_IsNull(params)) {
		if (m->id)
			bad(m, RPC_INVALID_PARAMS, "The params must be an object.");
		else
			m->kind = RPC_SILENT;
		return;
	}
	m->params = cJSON_IsObject(params) ? params : NULL;
}

static void parse(struct rpc *m, struct scan *scan, const char *line, size_t len)
{
	enum scan_result result = scan_message(scan, line, len);

	if (result == SCAN_SYNTAX)
		return bad(m, RPC_PARSE_ERROR, "This line is not one JSON value: %s (at byte %zu).", scan->problem,
			   scan->offset);
	if (scan->top != '{')
		return bad(m, RPC_INVALID_REQUEST, "A message is a JSON object.");
	if (!scan->duplicate_id)
		m->id = raw_text(&scan->id);
	if (result == SCAN_SIZE)
		return bad(m, RPC_INVALID_REQUEST, "This message cannot be served: %s.", scan->problem);
	m->token = raw_text(&scan->token);
	m->target = raw_text(&scan->target);
	memcpy(m->nul_name, scan->nul_name, sizeof(m->nul_name));
	m->tree = cJSON_ParseWithLength(scan->text.p, scan->text.len);
	m->size += scan->values * sizeof(cJSON);
	if (!m->tree)
		return bad(m, RPC_INTERNAL_ERROR, "The message could not be read: out of memory.");
	check_envelope(m, scan);
}

void rpc_parse(struct rpc *m, const char *line, size_t len)
{
	struct scan scan;

	memset(m, 0, sizeof(*m));
	m->size = len;
	parse(m, &scan, line, len);
	scan_done(&scan);
}

void rpc_too_long(struct rpc *m, const char *head, size_t len, size_t max)
{
	struct scan scan;

	memset(m, 0, sizeof(*m));
	(void) scan_message(&scan, head, len);
	m->id = raw_text(&scan.id);
	scan_done(&scan);
	bad(m, RPC_INVALID_REQUEST, "The message is too large: the limit is %zu bytes.", max);
}

void rpc_done(struct rpc *m)
{
	cJSON_Delete(m->tree);
	free(m->id);
	free(m->token);
	free(m->target);
	memset(m, 0, sizeof(*m));
}

const cJSON *rpc_param(const struct rpc *m, const char *name)
{
	return m->params ? cJSON_GetObjectItemCaseSensitive(m->params, name) : NULL;
}

const char *rpc_param_str(const struct rpc *m, const char *name)
{
	return cJSON_GetStringValue(rpc_param(m, name));
}

void rpc_write_error(struct buf *b, const char *id, enum rpc_code code, const char *message, const char *data)
{
	buf_add_str(b, "{\"jsonrpc\":\"2.0\"");
	if (id)
		buf_addf(b, ",\"id\":%s", id);
	buf_addf(b, ",\"error\":{\"code\":%d,\"message\":", (int) code);
	jsonw_str(b, message);
	if (data)
		buf_addf(b, ",\"data\":%s", data);
	buf_add_str(b, "}}");
}

void rpc_begin_result(struct buf *b, const char *id)
{
	buf_addf(b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
}

void rpc_end_result(struct buf *b)
{
	buf_add_char(b, '}');
}

void rpc_write_tree(struct buf *b, const cJSON *tree)
{
	char *text = tree ? cJSON_PrintUnformatted(tree) : NULL;

	if (text || !tree)
		buf_add_str(b, text ? text : "null");
	else
		b->error = b->error ? b->error : -ENOMEM;
	cJSON_free(text);
}
