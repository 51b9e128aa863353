/*
 * tools/list and tools/call. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/answer.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/registry.h"
#include "mcp/task.h"
#include "runtime/base/jsonw.h"

enum { TOOLS_LIST_MAX = 256 * 1024 };

static void list_tools(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(TOOLS_LIST_MAX);

	if (!answer_is_first_page(s, req))
		return;
	answer_begin(&b, req);
	jsonw_name(&b, "tools");
	registry_list(&b, s->config, req->terms.version);
	answer_cache(&b, req, ANSWER_FIXED_TTL_MS, true);
	answer_finish(s, req, &b);
}

static int64_t ttl_in_bounds(double ms)
{
	double bounded = MAX(ms, (double) TASK_TTL_MIN_MS);

	return (int64_t) MIN(bounded, (double) TASK_TTL_MAX_MS);
}

/*
 * How long the task is to be kept that revision 2025-11-25 asks for with "task"; 0 when it does not, as in all others, which do not
 * know the member; -1 when the request has been refused.
 */
static int64_t wanted_ttl_ms(struct server *s, struct request *req, const struct mcp_tool *tool)
{
	const cJSON *wish = req->terms.version == MCP_2025_11_25 ? rpc_param(&req->rpc, "task") : NULL;
	const cJSON *ttl = cJSON_GetObjectItemCaseSensitive(wish, "ttl");

	if (!wish || cJSON_IsNull(wish))
		return 0;
	if (!cJSON_IsObject(wish) || (ttl && !cJSON_IsNull(ttl) && !(cJSON_IsNumber(ttl) && ttl->valuedouble >= 0)))
		answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "task must be an object; its ttl, if any, a number of milliseconds.");
	else if (!tool->tasks)
		answer_refuse(s, req, RPC_METHOD_NOT_FOUND, NULL, "%s does not run as a task: call it without \"task\".", tool->name);
	else if (!task_has_room(s))
		answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL,
			      "%d tasks are at work, and there may be no more. Wait for one to end or cancel one with tasks/cancel, or call "
			      "the tool without \"task\".", TASK_WORKING_MAX);
	else
		return cJSON_IsNumber(ttl) ? ttl_in_bounds(ttl->valuedouble) : TASK_TTL_MS;
	return -1;
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
	int64_t ttl_ms = wanted_ttl_ms(s, req, tool);
	if (ttl_ms >= 0)
		call_start(s, req, tool, ttl_ms);
}

static const char *capability(_unused_ enum mcp_version version)
{
	return "\"tools\":{}";
}

static const struct method methods[] = {
	{ "tools/list", METHOD_BOTH, list_tools },
	{ "tools/call", METHOD_BOTH | METHOD_TAKES_TIME, call_tool },
	{ NULL },
};

const struct method_group methods_tools = { methods, capability };
