/*
 * The tools there are: see registry.h. Each row lives in its tool's own file. The order is that of tools/list and never
 * changes within a release, so that clients' prompt caches hold.
 */
#include "mcp/registry.h"

#include <string.h>

#include "mcp/extra.h"
#include "mcp/rpc.h"
#include "runtime/base/jsonw.h"

static const struct mcp_tool *const tools[] = {
	&tool_read_file,        &tool_write_file, &tool_list_directory,
	&tool_search_workspace, &tool_run_bash,   &tool_search_and_replace,
};

static cJSON *schemas[ARRAY_LEN(tools) + EXTRA_TOOLS_MAX];

/* The tool at position @i, or NULL behind the last. */
static const struct mcp_tool *tool_at(size_t i)
{
	if (i < ARRAY_LEN(tools))
		return tools[i];
	return i < ARRAY_LEN(schemas) ? extra_tool(i - ARRAY_LEN(tools)) : NULL;
}

const struct mcp_tool *registry_find(const char *name)
{
	for (size_t i = 0; tool_at(i); i++)
		if (strcmp(tool_at(i)->name, name) == 0)
			return tool_at(i);
	return NULL;
}

const cJSON *registry_schema(const struct mcp_tool *tool)
{
	for (size_t i = 0; tool_at(i); i++) {
		if (tool_at(i) != tool)
			continue;
		if (!schemas[i])
			schemas[i] = cJSON_Parse(tool->input_schema);
		return schemas[i];
	}
	return NULL;
}

void registry_done(void)
{
	for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
		cJSON_Delete(schemas[i]);
		schemas[i] = NULL;
	}
}

static void add_flag(struct buf *b, const char *name, bool on)
{
	jsonw_name(b, name);
	buf_add_str(b, on ? "true" : "false");
}

/* Claude Code keeps the answer of a tool from its model when it is longer than this, unless the tool says how long it may be. */
enum { REGISTRY_USUAL_CHARS = 50000 };

static void add_tool(struct buf *b, const struct mcp_tool *tool, const struct mcp_config *config, enum mcp_version version)
{
	buf_add_char(b, '{');
	jsonw_member(b, "name", tool->name);
	jsonw_member(b, "title", tool->title);
	jsonw_member(b, "description", tool->description);
	jsonw_name(b, "inputSchema");
	rpc_write_tree(b, registry_schema(tool));
	if (config->structured_output)
		buf_add_str(b,
			    ",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"result\":{\"type\":\"string\"}},"
			    "\"required\":[\"result\"]}");
	jsonw_name(b, "annotations");
	buf_add_char(b, '{');
	jsonw_member(b, "title", tool->title);
	add_flag(b, "readOnlyHint", tool->read_only);
	add_flag(b, "destructiveHint", tool->destructive);
	add_flag(b, "idempotentHint", tool->idempotent);
	add_flag(b, "openWorldHint", tool->open_world);
	buf_add_char(b, '}');
	if (config->max_answer_chars > REGISTRY_USUAL_CHARS && version >= MCP_2025_06_18)
		buf_addf(b, ",\"_meta\":{\"anthropic/maxResultSizeChars\":%lld}", (long long) config->max_answer_chars);
	if (tool->tasks && version == MCP_2025_11_25)
		buf_add_str(b, ",\"execution\":{\"taskSupport\":\"optional\"}");
	buf_add_char(b, '}');
}

void registry_list(struct buf *b, const struct mcp_config *config, enum mcp_version version)
{
	buf_add_char(b, '[');
	for (size_t i = 0; tool_at(i); i++) {
		if (i > 0)
			buf_add_char(b, ',');
		add_tool(b, tool_at(i), config, version);
	}
	buf_add_char(b, ']');
}

void registry_names(struct buf *b)
{
	for (size_t i = 0; tool_at(i); i++)
		buf_addf(b, "%s%s", i > 0 ? ", " : "", tool_at(i)->name);
}
