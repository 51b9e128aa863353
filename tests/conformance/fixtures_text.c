/*
 * Conformance fixtures that live as the product's tools do, on a worker thread: texts, errors, log messages, and calls that take
 * a while. See fixtures.h.
 */
#include <time.h>

#include "tests/conformance/fixtures.h"

enum { TEXT_STEP_MS = 50 };

static void pause_ms(int64_t ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000 };

	(void) nanosleep(&ts, NULL);
}

static void run_simple(struct tool_call *call)
{
	buf_add_str(&call->text, "This is a simple text response for testing.");
}

static void run_error(struct tool_call *call)
{
	tool_fail(call, "This tool intentionally returns an error for testing");
}

static void run_logging(struct tool_call *call)
{
	tool_log(call, MCP_LOG_INFO, "Tool execution started");
	pause_ms(TEXT_STEP_MS);
	tool_log(call, MCP_LOG_INFO, "Tool processing data");
	pause_ms(TEXT_STEP_MS);
	tool_log(call, MCP_LOG_INFO, "Tool execution completed");
	buf_add_str(&call->text, "Three messages were logged.");
}

static void run_schema(struct tool_call *call)
{
	buf_add_str(&call->text, "The schema is in the list of tools.");
}

static void run_greet(struct tool_call *call)
{
	buf_addf(&call->text, "Hello, %s!", tool_arg_str(call, "name"));
}

static void run_slow(struct tool_call *call)
{
	int64_t left_ms = tool_arg_int(call, "seconds") * 1000;

	for (; left_ms > 0 && !tool_is_cancelled(call); left_ms -= TEXT_STEP_MS)
		pause_ms(TEXT_STEP_MS);
	buf_addf(&call->text, "Computed for %lld seconds.", (long long) tool_arg_int(call, "seconds"));
}

static void run_failing(struct tool_call *call)
{
	for (int64_t left_ms = 1000; left_ms > 0 && !tool_is_cancelled(call); left_ms -= TEXT_STEP_MS)
		pause_ms(TEXT_STEP_MS);
	tool_fail(call, "This job always fails.");
}

/* One of each keyword that a server must list as it stands. */
#define SCHEMA_2020_12                                                                                                    \
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","                              \
	"\"$defs\":{\"address\":{\"$anchor\":\"place\",\"type\":\"object\",\"properties\":{\"town\":{\"type\":\"string\"}}}}," \
	"\"properties\":{\"address\":{\"$ref\":\"#/$defs/address\"},\"mail\":{\"type\":\"string\"},\"call\":{\"type\":\"string\"}}," \
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"mail\"]},{\"required\":[\"call\"]}]}],"                                  \
	"\"if\":{\"required\":[\"address\"]},\"then\":{\"required\":[\"mail\"]},\"else\":{\"required\":[\"call\"]},"      \
	"\"additionalProperties\":false}"

#define SCHEMA_NAME                                                                                                       \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"Whom to greet\"}},"         \
	"\"required\":[\"name\"],\"additionalProperties\":false}"

#define SCHEMA_SECONDS                                                                                                    \
	"{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":60,"            \
	"\"default\":1,\"description\":\"How long it takes\"},\"label\":{\"type\":\"string\",\"description\":\"A name for it\"}}," \
	"\"additionalProperties\":false}"

const struct fixture_tool fixture_text_tools[] = {
	{ FIXTURE_ROW("test_simple_text", "a text", FIXTURE_NO_ARGUMENTS), .row.run = run_simple },
	{ FIXTURE_ROW("test_error_handling", "an error", FIXTURE_NO_ARGUMENTS), .row.run = run_error },
	{ FIXTURE_ROW("test_tool_with_logging", "log messages", FIXTURE_NO_ARGUMENTS), .row.run = run_logging },
	{ FIXTURE_ROW("test_logging_tool", "log messages where they were asked for", FIXTURE_NO_ARGUMENTS), .row.run = run_logging },
	{ FIXTURE_ROW("json_schema_2020_12_tool", "a schema with everything", SCHEMA_2020_12), .row.run = run_schema },
	{ FIXTURE_ROW("greet", "a greeting", SCHEMA_NAME), .row.run = run_greet },
	{ FIXTURE_ROW("slow_compute", "a call that takes a while", SCHEMA_SECONDS), .row.run = run_slow, .row.tasks = true },
	{ FIXTURE_ROW("failing_job", "a call that fails after a second", FIXTURE_NO_ARGUMENTS), .row.run = run_failing,
	  .row.tasks = true },
	{ .answer = NULL },
};
