/*
 * tools/list and tools/call. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/answer.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/registry.h"

enum { TOOLS_LIST_MAX = 256 * 1024, TOOLS_TTL_MS = 3600000 };

static void list_tools(struct server *s, struct request *req)
{
	const cJSON *cursor = rpc_param(&req->rpc, "cursor");
	_cleanup_buf_ struct buf b = BUF_INIT(TOOLS_LIST_MAX);

	if (cursor && !cJSON_IsNull(cursor))
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL,
				     "This cursor is not one of ours: the list has a single page.");
	answer_begin(&b, req);
	answer_member(&b, "tools");
	registry_list(&b, s->config);
	answer_cache(&b, req, TOOLS_TTL_MS, true);
	answer_finish(s, req, &b);
}

static void call_tool(struct server *s, struct request *req)
{
	const char *name = rpc_param_str(&req->rpc, "name");
	const cJSON *arguments = rpc_param(&req->rpc, "arguments");
	const struct mcp_tool *tool = name ? registry_find(name) : NULL;

	if (!name)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "tools/call needs the name of a tool, a string.");
	if (!tool) {
		_cleanup_buf_ struct buf names = BUF_INIT(4096);
		registry_names(&names);
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "Unknown tool \"%.100s\". There are: %s", name, buf_cstr(&names));
	}
	if (arguments && !cJSON_IsObject(arguments) && !cJSON_IsNull(arguments))
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "The arguments of a tool must be an object.");
	call_start(s, req, tool);
}

static const char *capability(_unused_ enum mcp_version version)
{
	return "\"tools\":{}";
}

static const struct method methods[] = {
	{ "tools/list", METHOD_BOTH, list_tools },
	{ "tools/call", METHOD_BOTH, call_tool },
	{ NULL },
};

const struct method_group methods_tools = { methods, capability };
