/*
 * prompts/list and prompts/get. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/answer.h"
#include "mcp/method.h"
#include "mcp/prompts.h"
#include "mcp/ws.h"
#include "runtime/base/jsonw.h"

enum {
	PROMPTS_ANSWER_MAX = 1024 * 1024, /* a text of PROMPTS_TEXT_MAX bytes, each of them escaped */
	PROMPTS_PROBLEM_MAX = 4096,
};

static void list_prompts(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(PROMPTS_ANSWER_MAX);

	if (!answer_is_first_page(s, req))
		return;
	answer_begin(&b, req);
	jsonw_name(&b, "prompts");
	prompts_write_list(&b, req->terms.version);
	answer_cache(&b, req, ANSWER_FIXED_TTL_MS, true);
	answer_finish(s, req, &b);
}

static void get_prompt(struct server *s, struct request *req)
{
	const char *name = rpc_param_str(&req->rpc, "name");
	const cJSON *arguments = rpc_param(&req->rpc, "arguments");
	const struct prompt *prompt = name ? prompts_find(name) : NULL;
	_cleanup_buf_ struct buf b = BUF_INIT(PROMPTS_ANSWER_MAX);
	_cleanup_buf_ struct buf text = BUF_INIT(PROMPTS_TEXT_MAX);
	_cleanup_buf_ struct buf problem = BUF_INIT(PROMPTS_PROBLEM_MAX);

	if (!name)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "prompts/get needs the name of a prompt, a string.");
	if (!prompt) {
		prompts_add_names(&problem);
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "Unknown prompt \"%s\". There are: %s",
				     ws_show(name).s, buf_cstr(&problem));
	}
	if (arguments && !cJSON_IsObject(arguments) && !cJSON_IsNull(arguments))
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "The arguments of a prompt must be an object.");
	if (!prompts_fill(&text, prompt, arguments, &problem))
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "%s", buf_cstr(&problem));
	if (buf_error(&text))
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "Out of memory.");
	answer_begin(&b, req);
	jsonw_name(&b, "description");
	prompts_write_description(&b, prompt);
	jsonw_name(&b, "messages");
	buf_add_str(&b, "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
	jsonw_string(&b, buf_cstr(&text), text.len);
	buf_add_str(&b, "}}]");
	answer_finish(s, req, &b);
}

static const char *capability(_unused_ enum mcp_version version)
{
	return "\"prompts\":{}";
}

static const struct method methods[] = {
	{ "prompts/list", METHOD_BOTH, list_prompts },
	{ "prompts/get", METHOD_BOTH, get_prompt },
	{ NULL },
};

const struct method_group methods_prompts = { methods, capability };
