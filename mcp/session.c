/*
 * Protocol revisions and the state of a handshake session: see session.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen/icon.h"
#include "runtime/base/jsonw.h"

static const char *const names[] = {
	[MCP_2024_11_05] = "2024-11-05", [MCP_2025_03_26] = "2025-03-26", [MCP_2025_06_18] = "2025-06-18",
	[MCP_2025_11_25] = "2025-11-25", [MCP_2026_07_28] = "2026-07-28",
};

void session_init(struct session *s)
{
	*s = (struct session) { .ready = false, .version = MCP_2025_11_25, .log_level = MCP_LOG_INFO };
}

struct terms session_terms(const struct session *s)
{
	return (struct terms) { .version = s->version, .log_level = MCP_LOG_OFF };
}

const char *session_version_name(enum mcp_version version)
{
	return names[version];
}

enum mcp_version session_handshake(struct session *s, const char *wanted)
{
	session_init(s);
	for (size_t i = MCP_2024_11_05; wanted && i <= MCP_2025_11_25; i++)
		if (strcmp(wanted, names[i]) == 0)
			s->version = (enum mcp_version) i;
	return s->version;
}

_printf_(3, 4) static bool refuse(struct refusal *r, enum rpc_code code, const char *fmt, ...)
{
	va_list ap;

	r->code = code;
	r->data[0] = '\0';
	va_start(ap, fmt);
	(void) vsnprintf(r->message, sizeof(r->message), fmt, ap);
	va_end(ap);
	return false;
}

static bool refuse_version(struct refusal *r, const char *requested)
{
	_cleanup_buf_ struct buf data = BUF_INIT(sizeof(r->data) - 1);

	(void) refuse(r, RPC_UNSUPPORTED_VERSION,
		      "Protocol version \"%.32s\" is not supported in _meta; use \"%s\", or initialize for an older one.",
		      requested, names[MCP_2026_07_28]);
	buf_addf(&data, "{\"supported\":[\"%s\"],\"requested\":", names[MCP_2026_07_28]);
	jsonw_string(&data, requested, strnlen(requested, 32));
	buf_add_char(&data, '}');
	if (!buf_error(&data))
		memcpy(r->data, buf_cstr(&data), data.len + 1);
	return false;
}

/* A request that names its protocol version. */
static bool serve_stateless(const cJSON *meta, const cJSON *version, struct terms *terms, struct refusal *refusal)
{
	const cJSON *level = cJSON_GetObjectItemCaseSensitive(meta, MCP_META_LOG_LEVEL);
	const cJSON *capabilities = cJSON_GetObjectItemCaseSensitive(meta, MCP_META_CAPABILITIES);

	if (!cJSON_IsString(version))
		return refuse(refusal, RPC_INVALID_PARAMS, "_meta: " MCP_META_VERSION " must be a string.");
	if (strcmp(version->valuestring, names[MCP_2026_07_28]) != 0)
		return refuse_version(refusal, version->valuestring);
	if (!cJSON_IsObject(capabilities))
		return refuse(refusal, RPC_INVALID_PARAMS,
			      "_meta: " MCP_META_CAPABILITIES " must be there and be an object.");
	if (level && (!cJSON_IsString(level) || log_level_from_name(level->valuestring, &terms->log_level) < 0))
		return refuse(refusal, RPC_INVALID_PARAMS,
			      "_meta: " MCP_META_LOG_LEVEL " is none of the eight levels.");
	const cJSON *extensions = cJSON_GetObjectItemCaseSensitive(capabilities, "extensions");
	terms->tasks = cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(extensions, MCP_EXTENSION_TASKS));
	return true;
}

bool session_serve_as(const struct session *s, const struct rpc *m, struct terms *ret_terms, struct refusal *refusal)
{
	const cJSON *meta = rpc_param(m, "_meta");
	const cJSON *version = cJSON_IsObject(meta) ? cJSON_GetObjectItemCaseSensitive(meta, MCP_META_VERSION) : NULL;
	bool handshake = strcmp(m->method, "initialize") == 0 && (!version || rpc_param(m, "protocolVersion"));

	*ret_terms = session_terms(s);
	if (handshake)
		return true;
	if (version) {
		ret_terms->version = MCP_2026_07_28;
		return serve_stateless(meta, version, ret_terms, refusal);
	}
	if (strcmp(m->method, "server/discover") == 0)
		return refuse(refusal, RPC_INVALID_PARAMS, "_meta: " MCP_META_VERSION " is missing; it must be \"%s\".",
			      names[MCP_2026_07_28]);
	return true;
}

#define SERVER_ICON "{\"src\":\"data:image/png;base64," ICON_PNG_BASE64 "\",\"mimeType\":\"image/png\",\"sizes\":[\"48x48\"]}"

static void add_server_info(struct buf *b, enum mcp_version version, bool all)
{
	buf_add_str(b, "{\"name\":\"cloche\",\"version\":\"" CLOCHE_VERSION "\"");
	if (version >= MCP_2025_06_18)
		buf_add_str(b, ",\"title\":\"Cloche sandbox\"");
	if (version >= MCP_2025_11_25 && all)
		buf_add_str(b, ",\"description\":\"A workspace in a rootless Linux sandbox\",\"icons\":[" SERVER_ICON "]");
	buf_add_char(b, '}');
}

void session_write_server_info(struct buf *b, enum mcp_version version)
{
	add_server_info(b, version, false);
}

void session_introduce(struct buf *b, enum mcp_version version)
{
	add_server_info(b, version, true);
}
