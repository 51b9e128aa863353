/*
 * The methods a client may call: see method.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/method.h"

#include <stdio.h>
#include <string.h>

#include "mcp/call.h"
#include "mcp/log.h"
#include "mcp/registry.h"
#include "runtime/base/jsonw.h"

enum { METHOD_LIST_MAX = 256 * 1024, METHOD_LIST_TTL_MS = 3600000 };

enum eras { ERA_HANDSHAKE = 1 << 0, ERA_STATELESS = 1 << 1, ERA_BOTH = ERA_HANDSHAKE | ERA_STATELESS };

static const char instructions[] =
	"You work in a sandbox: a private Linux with the user's project at /workspace, an unprivileged account and no network. "
	"Only /workspace is kept.\n"
	"Paths may be relative to /workspace. Find files with search_workspace or list_directory. Read a file before you change "
	"it, so that the text to replace matches exactly; use search_and_replace for changes, write_file for new files.\n"
	"run_bash runs a command line in a fresh shell in /workspace, without terminal or input. Only files outlive a call: "
	"processes left in the background end with their command. After its timeout a command is killed with all it started; "
	"ask for a longer one where needed. The answer begins with the exit code. Long output is cut: narrow it with grep, "
	"head or tail.";

/* --- parts of answers --------------------------------------------------------------------------------------------- */

/* What every result of the stateless revision carries. */
static void add_stateless(struct buf *b)
{
	jsonw_name(b, "resultType");
	buf_add_str(b, "\"complete\",\"_meta\":{\"" MCP_META_SERVER_INFO "\":");
	session_write_server_info(b, MCP_2026_07_28);
	buf_add_char(b, '}');
}

static void add_cache_hints(struct buf *b)
{
	buf_addf(b, ",\"ttlMs\":%d,\"cacheScope\":\"public\"", METHOD_LIST_TTL_MS);
}

/* Closes the result begun in @b and sends it. */
static void finish(struct server *s, struct request *req, struct buf *b)
{
	if (req->version == MCP_2026_07_28)
		add_stateless(b);
	buf_add_char(b, '}');
	rpc_end_result(b);
	server_answer(s, req, b);
	request_free(s, req);
}

static void begin(struct buf *b, const struct request *req)
{
	rpc_begin_result(b, req->rpc.id);
	buf_add_char(b, '{');
}

static void refuse(struct server *s, struct request *req, enum rpc_code code, const char *message)
{
	server_refuse(s, req, code, message, NULL);
	request_free(s, req);
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static void initialize(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8192);

	if (req->batch)
		return refuse(s, req, RPC_INVALID_REQUEST, "initialize must not be part of a batch.");
	req->version = session_handshake(&s->session, rpc_param_str(&req->rpc, "protocolVersion"));
	begin(&b, req);
	buf_addf(&b, "\"protocolVersion\":\"%s\"", session_version_name(req->version));
	buf_add_str(&b, ",\"capabilities\":{\"logging\":{},\"tools\":{}},\"serverInfo\":");
	session_write_server_info(&b, req->version);
	jsonw_name(&b, "instructions");
	jsonw_str(&b, instructions);
	finish(s, req, &b);
}

static void discover(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8192);

	begin(&b, req);
	buf_addf(&b, "\"supportedVersions\":[\"%s\"]", session_version_name(MCP_2026_07_28));
	buf_add_str(&b, ",\"capabilities\":{\"tools\":{}}");
	jsonw_name(&b, "instructions");
	jsonw_str(&b, instructions);
	add_cache_hints(&b);
	finish(s, req, &b);
}

static void ping(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4096);

	begin(&b, req);
	finish(s, req, &b);
}

static void list_tools(struct server *s, struct request *req)
{
	const cJSON *cursor = rpc_param(&req->rpc, "cursor");
	_cleanup_buf_ struct buf b = BUF_INIT(METHOD_LIST_MAX);

	if (cursor && !cJSON_IsNull(cursor))
		return refuse(s, req, RPC_INVALID_PARAMS,
			      "This cursor is not one of ours: the list has a single page.");
	begin(&b, req);
	jsonw_name(&b, "tools");
	registry_list(&b, s->config);
	if (req->version == MCP_2026_07_28)
		add_cache_hints(&b);
	finish(s, req, &b);
}

static void set_level(struct server *s, struct request *req)
{
	const char *level = rpc_param_str(&req->rpc, "level");
	enum mcp_log_level parsed;

	if (!level || log_level_from_name(level, &parsed) < 0)
		return refuse(s, req, RPC_INVALID_PARAMS,
			      "The level must be one of debug, info, notice, warning, error, critical, "
			      "alert, emergency.");
	s->session.log_level = parsed;
	ping(s, req);
}

static void call_tool(struct server *s, struct request *req)
{
	const char *name = rpc_param_str(&req->rpc, "name");
	const cJSON *arguments = rpc_param(&req->rpc, "arguments");
	const struct mcp_tool *tool = name ? registry_find(name) : NULL;

	if (!name)
		return refuse(s, req, RPC_INVALID_PARAMS, "tools/call needs the name of a tool, a string.");
	if (!tool) {
		_cleanup_buf_ struct buf text = BUF_INIT(4096);
		buf_addf(&text, "Unknown tool \"%.100s\". There are: ", name);
		registry_names(&text);
		return refuse(s, req, RPC_INVALID_PARAMS, buf_cstr(&text));
	}
	if (arguments && !cJSON_IsObject(arguments) && !cJSON_IsNull(arguments))
		return refuse(s, req, RPC_INVALID_PARAMS, "The arguments of a tool must be an object.");
	call_start(s, req, tool);
}

static const struct method {
	const char *name;
	enum eras eras;
	void (*run)(struct server *s, struct request *req);
} methods[] = {
	{ "initialize", ERA_HANDSHAKE, initialize },
	{ "ping", ERA_HANDSHAKE, ping },
	{ "logging/setLevel", ERA_HANDSHAKE, set_level },
	{ "server/discover", ERA_STATELESS, discover },
	{ "tools/list", ERA_BOTH, list_tools },
	{ "tools/call", ERA_BOTH, call_tool },
};

static const struct method *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

bool method_is_call(const struct rpc *m)
{
	return m->method && strcmp(m->method, "tools/call") == 0;
}

/* --- notifications ------------------------------------------------------------------------------------------------ */

static void initialized(struct server *s, _unused_ const struct rpc *m)
{
	s->session.ready = true;
}

static void cancelled(struct server *s, const struct rpc *m)
{
	/* An unknown id is no error: its answer may be on its way. */
	if (m->target && !call_cancel(s, m->target))
		server_forget(s, m->target);
}

static const struct {
	const char *name;
	void (*run)(struct server *s, const struct rpc *m);
} notifications[] = {
	{ "notifications/initialized", initialized },
	{ "notifications/cancelled", cancelled },
};

void method_notify(struct server *s, const struct rpc *m)
{
	for (size_t i = 0; i < ARRAY_LEN(notifications); i++) {
		if (strcmp(notifications[i].name, m->method) != 0)
			continue;
		notifications[i].run(s, m);
		return;
	}
	log_line(MCP_LOG_DEBUG, "ignored the notification \"%.60s\"", m->method);
}

void method_serve(struct server *s, struct request *req)
{
	const char *name = req->rpc.method;
	const struct method *method = find(name);
	struct refusal refusal;
	char message[200];

	if (strncmp(name, "notifications/", strlen("notifications/")) == 0) {
		/* Some clients give notifications/initialized an id: it counts, and the refusal does them no harm. */
		if (strcmp(name, "notifications/initialized") == 0)
			initialized(s, &req->rpc);
		(void) snprintf(message, sizeof(message), "\"%.60s\" is a notification: send it without id.", name);
		return refuse(s, req, RPC_METHOD_NOT_FOUND, message);
	}
	if (!session_serve_as(&s->session, &req->rpc, &req->version, &refusal)) {
		server_refuse(s, req, refusal.code, refusal.message, refusal.data[0] ? refusal.data : NULL);
		request_free(s, req);
		return;
	}
	if (!method || !(method->eras & (req->version == MCP_2026_07_28 ? ERA_STATELESS : ERA_HANDSHAKE))) {
		(void) snprintf(message, sizeof(message), "There is no method \"%.60s\" in protocol version %s.", name,
				session_version_name(req->version));
		return refuse(s, req, RPC_METHOD_NOT_FOUND, message);
	}
	method->run(s, req);
}
