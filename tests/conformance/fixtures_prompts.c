/*
 * The prompts of the conformance suite, and the completion of their arguments. See fixtures.h.
 */
#include <string.h>

#include "mcp/answer.h"
#include "runtime/base/jsonw.h"
#include "tests/conformance/fixtures.h"

enum { PROMPT_MAX = 32 * 1024, PROMPT_ARGUMENTS_MAX = 2 };

struct prompt {
	const char *name;
	const char *arguments[PROMPT_ARGUMENTS_MAX]; /* all of them required */
	void (*write)(struct buf *b, const struct request *req);
};

/* One message of the user with the text @text. */
static void add_text(struct buf *b, const char *text)
{
	buf_add_str(b, "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
	jsonw_str(b, text);
	buf_add_str(b, "}}");
}

static void write_simple(struct buf *b, _unused_ const struct request *req)
{
	add_text(b, "This is a simple prompt for testing.");
}

static void write_arguments(struct buf *b, const struct request *req)
{
	_cleanup_buf_ struct buf text = BUF_INIT(PROMPT_MAX);

	buf_addf(&text, "Prompt with arguments: arg1='%s', arg2='%s'", fixture_argument(req, "arg1"), fixture_argument(req, "arg2"));
	add_text(b, buf_cstr(&text));
}

static void write_resource(struct buf *b, const struct request *req)
{
	buf_add_str(b, "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":");
	jsonw_str(b, fixture_argument(req, "resourceUri"));
	buf_add_str(b, ",\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content for testing.\"}}},");
	add_text(b, "Please process the embedded resource above.");
}

static void write_image(struct buf *b, _unused_ const struct request *req)
{
	buf_add_str(b, "{\"role\":\"user\",\"content\":{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" FIXTURE_PNG "\"}},");
	add_text(b, "Please analyze the image above.");
}

static const struct fixture_inquiry context = {
	.rounds = { { { .key = "user_context", .method = "elicitation/create", .answer = "context",
			.params = "{\"message\":\"What context should the prompt use?\",\"requestedSchema\":{\"type\":\"object\","
				  "\"properties\":{\"context\":{\"type\":\"string\"}},\"required\":[\"context\"]}}" } } },
};

static void write_context(struct buf *b, const struct request *req)
{
	add_text(b, fixture_input_answer(req, &context.rounds[0][0]));
}

static const struct prompt prompts[] = {
	{ "test_simple_prompt", { NULL }, write_simple },
	{ "test_prompt_with_arguments", { "arg1", "arg2" }, write_arguments },
	{ "test_prompt_with_embedded_resource", { "resourceUri" }, write_resource },
	{ "test_prompt_with_image", { NULL }, write_image },
	{ "test_input_required_result_prompt", { NULL }, write_context },
};

static const struct prompt *find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(prompts); i++)
		if (strcmp(prompts[i].name, name) == 0)
			return &prompts[i];
	return NULL;
}

/* --- methods ------------------------------------------------------------------------------------------------------ */

static void add_arguments(struct buf *b, const struct prompt *prompt)
{
	buf_add_char(b, '[');
	for (size_t i = 0; i < PROMPT_ARGUMENTS_MAX && prompt->arguments[i]; i++)
		buf_addf(b, "%s{\"name\":\"%s\",\"description\":\"Conformance fixture\",\"required\":true}", i > 0 ? "," : "",
			 prompt->arguments[i]);
	buf_add_char(b, ']');
}

static void list_prompts(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(PROMPT_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "prompts");
	buf_add_char(&b, '[');
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++) {
		buf_addf(&b, "%s{\"name\":\"%s\",\"description\":\"Conformance fixture\",\"arguments\":", i > 0 ? "," : "",
			 prompts[i].name);
		add_arguments(&b, &prompts[i]);
		buf_add_char(&b, '}');
	}
	buf_add_char(&b, ']');
	answer_cache(&b, req, 0, false);
	answer_finish(s, req, &b);
}

static void get_prompt(struct server *s, struct request *req)
{
	const struct prompt *prompt = find(rpc_param_str(&req->rpc, "name"));
	_cleanup_buf_ struct buf b = BUF_INIT(PROMPT_MAX);

	if (!prompt)
		return fixture_pass_on(s, req);
	if (prompt->write == write_context && req->terms.version == MCP_2026_07_28 &&
	    !fixture_input_complete(s, req, prompt->name, &context))
		return;
	answer_begin(&b, req);
	jsonw_name(&b, "messages");
	buf_add_char(&b, '[');
	prompt->write(&b, req);
	buf_add_char(&b, ']');
	answer_finish(s, req, &b);
}

static void complete(struct server *s, struct request *req)
{
	const cJSON *ref = rpc_param(&req->rpc, "ref"), *argument = rpc_param(&req->rpc, "argument");
	const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(argument, "value"));
	static const char *const values[] = { "paris", "park", "party", "test-value" };
	_cleanup_buf_ struct buf b = BUF_INIT(PROMPT_MAX);
	int count = 0;

	if (!find(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(ref, "name"))) || !value)
		return fixture_pass_on(s, req);
	answer_begin(&b, req);
	jsonw_name(&b, "completion");
	buf_add_str(&b, "{\"values\":[");
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (strncmp(values[i], value, strlen(value)) == 0)
			buf_addf(&b, "%s\"%s\"", count++ > 0 ? "," : "", values[i]);
	buf_addf(&b, "],\"total\":%d,\"hasMore\":false}", count);
	answer_finish(s, req, &b);
}

const struct method fixture_prompt_methods[] = {
	{ "prompts/list", METHOD_BOTH, list_prompts },
	{ "prompts/get", METHOD_BOTH, get_prompt },
	{ "completion/complete", METHOD_BOTH, complete },
	{ NULL },
};
