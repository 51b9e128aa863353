/*
 * The result of a tool call: see result.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/result.h"

#include "runtime/base/jsonw.h"

static void add_meta(struct buf *b, const struct call *call)
{
	bool stateless = call->request->terms.version == MCP_2026_07_28;
	const cJSON *member;

	if (!stateless && !call->pub.meta)
		return;
	jsonw_name(b, "_meta");
	buf_add_char(b, '{');
	if (stateless) {
		jsonw_name(b, MCP_META_SERVER_INFO);
		session_write_server_info(b, call->request->terms.version);
	}
	cJSON_ArrayForEach(member, call->pub.meta) {
		jsonw_name(b, member->string);
		rpc_write_tree(b, member);
	}
	buf_add_char(b, '}');
}

void result_write(struct buf *b, const struct call *call)
{
	const struct tool_call *pub = &call->pub;
	enum mcp_version version = call->request->terms.version;

	buf_add_str(b, "\"content\":[{\"type\":\"text\",\"text\":");
	jsonw_string(b, buf_cstr(&pub->text), pub->text.len);
	buf_addf(b, "}],\"isError\":%s", pub->is_error ? "true" : "false");
	if (call->server->config->structured_output && !pub->is_error && version >= MCP_2025_06_18) {
		buf_add_str(b, ",\"structuredContent\":{\"result\":");
		jsonw_string(b, buf_cstr(&pub->text), pub->text.len);
		buf_add_char(b, '}');
	}
	if (version == MCP_2026_07_28)
		buf_add_str(b, ",\"resultType\":\"complete\"");
	add_meta(b, call);
}
