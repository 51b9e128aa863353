/*
 * The tools there are: see registry.h. Each row lives in its tool's own file. The order is that of tools/list and never
 * changes within a release, so that clients' prompt caches hold.
 */
#include "mcp/registry.h"

#include <string.h>

#include "mcp/rpc.h"
#include "runtime/base/jsonw.h"

static const struct mcp_tool *const tools[] = {
	&tool_read_file,        &tool_write_file, &tool_list_directory,
	&tool_search_workspace, &tool_run_bash,   &tool_search_and_replace,
};

static cJSON *schemas[ARRAY_LEN(tools)];

const struct mcp_tool *registry_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (strcmp(tools[i]->name, name) == 0)
			return tools[i];
	return NULL;
}

const cJSON *registry_schema(const struct mcp_tool *tool)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (tools[i] != tool)
			continue;
		if (!schemas[i])
			schemas[i] = cJSON_Parse(tool->input_schema);
		return schemas[i];
	}
	return NULL;
}

void registry_done(void)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		cJSON_Delete(schemas[i]);
		schemas[i] = NULL;
	}
}

static void add_flag(struct buf *b, const char *name, bool on)
{
	jsonw_name(b, name);
	buf_add_str(b, on ? "true" : "false");
}

static void add_text(struct buf *b, const char *name, const char *text)
{
	jsonw_name(b, name);
	jsonw_str(b, text);
}

static void add_tool(struct buf *b, const struct mcp_tool *tool, const struct mcp_config *config)
{
	buf_add_char(b, '{');
	add_text(b, "name", tool->name);
	add_text(b, "title", tool->title);
	add_text(b, "description", tool->description);
	jsonw_name(b, "inputSchema");
	rpc_write_tree(b, registry_schema(tool));
	if (config->structured_output)
		buf_add_str(b,
			    ",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"result\":{\"type\":\"string\"}},"
			    "\"required\":[\"result\"]}");
	jsonw_name(b, "annotations");
	buf_add_char(b, '{');
	add_text(b, "title", tool->title);
	add_flag(b, "readOnlyHint", tool->read_only);
	add_flag(b, "destructiveHint", tool->destructive);
	add_flag(b, "idempotentHint", tool->idempotent);
	add_flag(b, "openWorldHint", tool->open_world);
	buf_add_str(b, "}}");
}

void registry_list(struct buf *b, const struct mcp_config *config)
{
	buf_add_char(b, '[');
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (i > 0)
			buf_add_char(b, ',');
		add_tool(b, tools[i], config);
	}
	buf_add_char(b, ']');
}

void registry_names(struct buf *b)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		buf_addf(b, "%s%s", i > 0 ? ", " : "", tools[i]->name);
}
