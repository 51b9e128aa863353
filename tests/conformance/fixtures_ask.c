/*
 * Conformance fixtures that ask the client something while they are called, as the handshake revisions allow: a model's answer or
 * the user's. See fixtures.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "runtime/base/jsonw.h"
#include "tests/conformance/fixtures.h"

enum { ASK_MAX = 16 * 1024 };

/* A call that waits for the client's response to a request of ours. */
struct asked {
	struct asked *next;
	struct request *req;
	char id[32]; /* of our request, JSON text */
};

static struct asked *waiting;
static unsigned int last_id;

static void ask(struct server *s, struct request *req, const char *method, const char *params)
{
	_cleanup_buf_ struct buf b = BUF_INIT(ASK_MAX);
	struct asked *asked = req->terms.version == MCP_2026_07_28 ? NULL : calloc(1, sizeof(*asked));

	if (!asked)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "This fixture works in the handshake revisions only.");
	*asked = (struct asked) { .next = waiting, .req = req };
	waiting = asked;
	(void) snprintf(asked->id, sizeof(asked->id), "\"fixture-%u\"", ++last_id);
	buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":", asked->id, method);
	buf_add_str(&b, params);
	buf_add_char(&b, '}');
	(void) out_message(&s->out, &b);
}

static const cJSON *member(const cJSON *tree, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(tree, name);
}

static void settle(struct server *s, struct request *req, const cJSON *result)
{
	const char *said = cJSON_GetStringValue(member(member(result, "content"), "text"));
	const char *action = cJSON_GetStringValue(member(result, "action"));
	_cleanup_buf_ struct buf content = BUF_INIT(ASK_MAX);

	rpc_write_tree(&content, member(result, "content"));
	if (!result)
		fixture_text(s, req, "The client refused to answer.");
	else if (said)
		fixture_text(s, req, "LLM response: %s", said);
	else if (strcmp(rpc_param_str(&req->rpc, "name"), "test_elicitation") == 0)
		fixture_text(s, req, "User response: action=%s, content=%s", action, buf_cstr(&content));
	else
		fixture_text(s, req, "Elicitation completed: action=%s, content=%s", action, buf_cstr(&content));
}

bool fixture_ask_response(struct server *s, const struct rpc *m)
{
	for (struct asked **link = &waiting; m->id && *link; link = &(*link)->next) {
		struct asked *asked = *link;
		if (strcmp(asked->id, m->id) != 0)
			continue;
		*link = asked->next;
		settle(s, asked->req, member(m->tree, "result"));
		free(asked);
		return true;
	}
	return false;
}

void fixture_ask_done(struct server *s)
{
	while (waiting) {
		struct asked *asked = waiting;
		waiting = asked->next;
		request_free(s, asked->req);
		free(asked);
	}
}

/* --- the tools ---------------------------------------------------------------------------------------------------- */

static void answer_sampling(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf params = BUF_INIT(ASK_MAX);

	buf_add_str(&params, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
	jsonw_str(&params, fixture_argument(req, "prompt"));
	buf_add_str(&params, "}}],\"maxTokens\":100}");
	ask(s, req, "sampling/createMessage", buf_cstr(&params));
}

/* The message is the call's argument, or a question of ours; the form is the row's data. */
static void answer_elicitation(struct server *s, struct request *req)
{
	const char *message = fixture_argument(req, "message");
	_cleanup_buf_ struct buf params = BUF_INIT(ASK_MAX);

	buf_add_str(&params, "{\"message\":");
	jsonw_str(&params, message[0] ? message : "Please fill in the form.");
	buf_addf(&params, ",\"requestedSchema\":{\"type\":\"object\",%s}}",
		 (const char *) fixture_tool_find(rpc_param_str(&req->rpc, "name"))->data);
	ask(s, req, "elicitation/create", buf_cstr(&params));
}

#define ONE_STRING(name)                                                                                                     \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\",\"description\":\"What to ask\"}},"         \
	"\"required\":[\"" name "\"],\"additionalProperties\":false}"

#define FORM_USER                                                                                                            \
	"\"properties\":{\"username\":{\"type\":\"string\",\"description\":\"Your name\"},"                                 \
	"\"email\":{\"type\":\"string\",\"description\":\"Your address\"}},\"required\":[\"username\",\"email\"]"

#define FORM_DEFAULTS                                                                                                        \
	"\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},\"age\":{\"type\":\"integer\",\"default\":30}," \
	"\"score\":{\"type\":\"number\",\"default\":95.5},\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"]," \
	"\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]"

#define TITLED(first, second, third)                                                                                         \
	"[{\"const\":\"value1\",\"title\":\"" first "\"},{\"const\":\"value2\",\"title\":\"" second "\"},"                  \
	"{\"const\":\"value3\",\"title\":\"" third "\"}]"

#define FORM_ENUMS                                                                                                           \
	"\"properties\":{\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"          \
	"\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED("First Option", "Second Option", "Third Option") "},"      \
	"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"                                        \
	"\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"                                                  \
	"\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}}," \
	"\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED("First Choice", "Second Choice", "Third Choice") "}}}," \
	"\"required\":[]"

const struct fixture_tool fixture_ask_tools[] = {
	{ FIXTURE_ROW("test_sampling", "a question to the model", ONE_STRING("prompt")), .answer = answer_sampling },
	{ FIXTURE_ROW("test_elicitation", "a question to the user", ONE_STRING("message")), .answer = answer_elicitation,
	  .data = FORM_USER },
	{ FIXTURE_ROW("test_elicitation_sep1034_defaults", "a form with defaults", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_elicitation, .data = FORM_DEFAULTS },
	{ FIXTURE_ROW("test_elicitation_sep1330_enums", "a form with choices", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_elicitation, .data = FORM_ENUMS },
	{ .answer = NULL },
};
