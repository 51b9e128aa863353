/*
 * The conformance fixtures' place in the server: see fixtures.h and mcp/extra.h. Runs in a test build of cloche-mcp, without any
 * capability, on the event loop.
 */
#include "tests/conformance/fixtures.h"

#include <stdarg.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/task.h"
#include "runtime/base/jsonw.h"

enum { FIXTURE_ANSWER_MAX = 64 * 1024, FIXTURE_TASK_AFTER_MS = 50 };

static bool on;

void extra_arguments(int *argc, char **argv)
{
	if (*argc < 2 || strcmp(argv[1], "--conformance-fixtures") != 0)
		return;
	on = true;
	memmove(argv + 1, argv + 2, (size_t) (*argc - 1) * sizeof(*argv));
	--*argc;
}

/* --- tools -------------------------------------------------------------------------------------------------------- */

static const struct fixture_tool *const tables[] = {
	fixture_text_tools,
	fixture_content_tools,
	fixture_ask_tools,
	fixture_input_tools,
};

const struct mcp_tool *extra_tool(size_t i)
{
	for (size_t t = 0; on && t < ARRAY_LEN(tables); t++)
		for (const struct fixture_tool *tool = tables[t]; tool->row.name; tool++)
			if (i-- == 0)
				return &tool->row;
	return NULL;
}

const struct fixture_tool *fixture_tool_find(const char *name)
{
	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (const struct fixture_tool *tool = tables[t]; tool->row.name; tool++)
			if (strcmp(tool->row.name, name) == 0)
				return tool;
	return NULL;
}

static void call_tool(struct server *s, struct request *req)
{
	const char *name = rpc_param_str(&req->rpc, "name");
	const struct fixture_tool *tool = name ? fixture_tool_find(name) : NULL;

	if (tool && tool->answer)
		return tool->answer(s, req);
	fixture_pass_on(s, req);
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static const struct method own_methods[] = {
	{ "tools/call", METHOD_BOTH, call_tool },
	{ NULL },
};

static const struct method *const methods[] = { own_methods, fixture_prompt_methods, fixture_resource_methods };

const struct method *extra_method(const char *name)
{
	for (size_t i = 0; on && i < ARRAY_LEN(methods); i++)
		for (const struct method *method = methods[i]; method->name; method++)
			if (strcmp(method->name, name) == 0)
				return method;
	return NULL;
}

/* Lists that change exist in the stateless revision only; the product has none. */
const char *extra_capabilities(enum mcp_version version)
{
	if (!on || version != MCP_2026_07_28)
		return NULL;
	return "{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},\"resources\":{\"subscribe\":true},"
	       "\"completions\":{},\"extensions\":{\"" MCP_EXTENSION_TASKS "\":{}}}";
}

void fixture_pass_on(struct server *s, struct request *req)
{
	const struct method *method = method_find(req->rpc.method);

	if (method)
		return method->run(s, req);
	answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "There is no such fixture.");
}

bool extra_resource(const char *uri)
{
	return on && fixture_is_resource(uri);
}

int64_t extra_task_after_ms(void)
{
	return on ? FIXTURE_TASK_AFTER_MS : TASK_AFTER_MS;
}

bool extra_response(struct server *s, const struct rpc *m)
{
	return fixture_ask_response(s, m);
}

int64_t extra_tick(struct server *s, int64_t now_ms)
{
	return fixture_progress_tick(s, now_ms);
}

void extra_done(struct server *s)
{
	fixture_ask_done(s);
	fixture_progress_done(s);
}

/* --- what all have in common -------------------------------------------------------------------------------------- */

void fixture_content(struct server *s, struct request *req, const char *content)
{
	_cleanup_buf_ struct buf b = BUF_INIT(FIXTURE_ANSWER_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "content");
	buf_add_str(&b, content);
	answer_finish(s, req, &b);
}

void fixture_text(struct server *s, struct request *req, const char *fmt, ...)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FIXTURE_ANSWER_MAX / 4), content = BUF_INIT(FIXTURE_ANSWER_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	buf_add_str(&content, "[{\"type\":\"text\",\"text\":");
	jsonw_str(&content, buf_cstr(&text));
	buf_add_str(&content, "}]");
	fixture_content(s, req, buf_cstr(&content));
}

const char *fixture_argument(const struct request *req, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rpc_param(&req->rpc, "arguments"), name));

	return text ? text : "";
}
