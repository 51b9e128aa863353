/*
 * Fuzz target: arguments against the schemas of our tools (mcp/schema.h). Sees what models write.
 *
 * The first byte chooses the schema; the rest is the arguments' JSON text.
 */
#include <string.h>

#include "mcp/registry.h"
#include "mcp/scan.h"
#include "mcp/schema.h"
#include "mcp/tool.h"
#include "tests/fuzz/fuzz.h"

/* What no tool has: every keyword, and depth. */
static const char extra[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"list\",\"kind\"],\"properties\":{"
	"\"list\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{\"type\":\"object\",\"required\":[\"n\"],"
	"\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":-2,\"maximum\":5},\"s\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4},"
	"\"deep\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"number\",\"minimum\":0.5}}}}}},"
	"\"kind\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"]},\"flag\":{\"type\":\"boolean\",\"default\":true},"
	"\"size\":{\"type\":\"string\",\"pattern\":\"^[0-9]+$\"},\"object\":{\"type\":\"object\",\"default\":{\"a\":[1]}}}}";

static const struct mcp_tool *const tools[] = {
	&tool_list_directory, &tool_read_file, &tool_run_bash, &tool_search_and_replace, &tool_search_workspace, &tool_write_file,
};

static const cJSON *schema_of(uint8_t choice)
{
	static cJSON *parsed;

	if (choice % (ARRAY_LEN(tools) + 1) < ARRAY_LEN(tools))
		return registry_schema(tools[choice % (ARRAY_LEN(tools) + 1)]);
	if (!parsed)
		parsed = cJSON_Parse(extra);
	return parsed;
}

static cJSON *parse(const char *text, size_t len)
{
	struct scan scan;
	cJSON *tree = NULL;

	scan_trim(&text, &len);
	if (scan_value(&scan, text, len) == SCAN_OK)
		tree = cJSON_ParseWithLength(scan.text.p, scan.text.len);
	scan_done(&scan);
	return tree;
}

/* One line "- PATH: PROBLEM" for each problem. */
static void check_problems(const struct buf *problems)
{
	const char *p = buf_cstr(problems);

	fuzz_need(*p || buf_error(problems), "a refusal without a reason");
	while (*p && !buf_error(problems)) {
		const char *end = strchr(p, '\n');
		fuzz_need(end && strncmp(p, "- ", 2) == 0 && strstr(p, ": ") && strstr(p, ": ") < end, "a line that names no problem");
		p = end + 1;
	}
}

/* What was accepted has its final form: accepted again, and unchanged. */
static void check_accepted(const cJSON *schema, cJSON *args)
{
	struct buf problems = BUF_INIT(SCHEMA_PROBLEMS_MAX);
	char *before = cJSON_PrintUnformatted(args);
	cJSON *again = schema_apply(schema, args, &problems);

	fuzz_need(again && problems.len == 0, "accepted arguments are refused");
	char *after = cJSON_PrintUnformatted(again);
	fuzz_need(before && after && strcmp(before, after) == 0, "accepted arguments change");
	cJSON_free(before);
	cJSON_free(after);
	cJSON_Delete(again);
	buf_done(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	const cJSON *schema = schema_of(data[0]);
	cJSON *args = parse((const char *) data + 1, size - 1);
	struct buf problems = BUF_INIT(SCHEMA_PROBLEMS_MAX);

	if (!args)
		return 0;
	args = schema_apply(schema, args, &problems);
	if (args)
		check_accepted(schema, args);
	else
		check_problems(&problems);
	buf_done(&problems);
	return 0;
}
