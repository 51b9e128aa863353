/*
 * Conformance fixtures that answer with questions (2026-07-28): a call ends with what the client has to find out, and is sent again
 * with the answers. See fixtures.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "mcp/answer.h"
#include "runtime/base/jsonw.h"
#include "tests/conformance/fixtures.h"

enum { INPUT_MAX = 16 * 1024, INPUT_STATES_MAX = 64, INPUT_STATE_BYTES = 16 };

/* --- the state between two rounds --------------------------------------------------------------------------------- */

/* States that were given out, the oldest overwritten: one that was changed is none of them. */
static struct state {
	const char *owner;
	int round;
	char text[2 * INPUT_STATE_BYTES + 1];
} states[INPUT_STATES_MAX];
static unsigned int next_state;

static const char *give_state(const char *owner, int round)
{
	struct state *state = &states[next_state++ % INPUT_STATES_MAX];
	unsigned char bytes[INPUT_STATE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return NULL;
	state->owner = owner;
	state->round = round;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		state->text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		state->text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	return state->text;
}

/* The round that @text stands for, or -EINVAL. */
static int round_of_state(const char *owner, const char *text)
{
	for (size_t i = 0; i < INPUT_STATES_MAX; i++)
		if (states[i].owner && strcmp(states[i].owner, owner) == 0 && strcmp(states[i].text, text) == 0)
			return states[i].round;
	return -EINVAL;
}

/* --- questions and answers ---------------------------------------------------------------------------------------- */

/* The capability that a client needs for @method. */
static const char *capability_of(const char *method)
{
	static const struct {
		const char *method, *capability;
	} rows[] = {
		{ "elicitation/create", "elicitation" },
		{ "sampling/createMessage", "sampling" },
		{ "roots/list", "roots" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].method, method) == 0)
			return rows[i].capability;
	return "";
}

static bool is_declared(const struct request *req, const char *capability)
{
	const cJSON *all = cJSON_GetObjectItemCaseSensitive(rpc_param(&req->rpc, "_meta"), MCP_META_CAPABILITIES);

	return cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(all, capability));
}

static void refuse_undeclared(struct server *s, struct request *req, const char *capability)
{
	_cleanup_buf_ struct buf data = BUF_INIT(INPUT_MAX);

	buf_addf(&data, "{\"requiredCapabilities\":{\"%s\":{}}}", capability);
	answer_refuse(s, req, RPC_MISSING_CAPABILITY, buf_cstr(&data), "This needs the client's capability \"%s\".", capability);
}

const char *fixture_input_answer(const struct request *req, const struct fixture_question *question)
{
	const cJSON *answer = cJSON_GetObjectItemCaseSensitive(rpc_param(&req->rpc, "inputResponses"), question->key);
	const cJSON *content = cJSON_GetObjectItemCaseSensitive(answer, "content");
	const cJSON *value = NULL;

	if (question->answer)
		value = cJSON_GetObjectItemCaseSensitive(content, question->answer);
	else if (content)
		value = cJSON_GetObjectItemCaseSensitive(content, "text");
	else
		value = cJSON_GetObjectItemCaseSensitive(
			cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(answer, "roots"), 0), "uri");
	if (cJSON_IsBool(value))
		return cJSON_IsTrue(value) ? "yes" : "no";
	return cJSON_IsString(value) ? value->valuestring : "";
}

static bool wanted(const struct request *req, const struct fixture_inquiry *inquiry, const struct fixture_question *question)
{
	return question->key && (!inquiry->only_declared || is_declared(req, capability_of(question->method)));
}

static bool all_answered(const struct request *req, const struct fixture_inquiry *inquiry, int round)
{
	for (size_t i = 0; i < FIXTURE_QUESTIONS_MAX; i++) {
		const struct fixture_question *question = &inquiry->rounds[round][i];
		if (wanted(req, inquiry, question) && !fixture_input_answer(req, question)[0])
			return false;
	}
	return true;
}

/* Answers with the questions of @round. */
static void ask(struct server *s, struct request *req, const char *owner, const struct fixture_inquiry *inquiry, int round)
{
	const char *state = inquiry->state ? give_state(owner, round) : NULL;
	_cleanup_buf_ struct buf b = BUF_INIT(INPUT_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "inputRequests");
	buf_add_char(&b, '{');
	for (size_t i = 0; i < FIXTURE_QUESTIONS_MAX; i++) {
		const struct fixture_question *question = &inquiry->rounds[round][i];
		if (!wanted(req, inquiry, question))
			continue;
		jsonw_name(&b, question->key);
		buf_addf(&b, "{\"method\":\"%s\",\"params\":%s}", question->method, question->params);
	}
	buf_add_char(&b, '}');
	if (state) {
		jsonw_member(&b, "requestState", state);
	}
	jsonw_name(&b, "_meta");
	buf_add_str(&b, "{\"" MCP_META_SERVER_INFO "\":");
	session_write_server_info(&b, req->terms.version);
	buf_add_str(&b, "},\"resultType\":\"input_required\"}");
	rpc_end_result(&b);
	answer_send(s, req, &b);
	request_free(s, req);
}

bool fixture_input_complete(struct server *s, struct request *req, const char *owner, const struct fixture_inquiry *inquiry)
{
	const char *state = rpc_param_str(&req->rpc, "requestState");
	int round = inquiry->state && state ? round_of_state(owner, state) : 0;

	if (round < 0) {
		answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "This requestState is none of ours.");
		return false;
	}
	for (size_t i = 0; i < FIXTURE_QUESTIONS_MAX; i++) {
		const struct fixture_question *question = &inquiry->rounds[round][i];
		if (wanted(req, inquiry, question) && !is_declared(req, capability_of(question->method))) {
			refuse_undeclared(s, req, capability_of(question->method));
			return false;
		}
	}
	if ((inquiry->state && !state) || !all_answered(req, inquiry, round)) {
		ask(s, req, owner, inquiry, round);
		return false;
	}
	if (round + 1 < (int) ARRAY_LEN(inquiry->rounds) && inquiry->rounds[round + 1][0].key) {
		ask(s, req, owner, inquiry, round + 1);
		return false;
	}
	return true;
}

/* --- the tools ---------------------------------------------------------------------------------------------------- */

/* The answers of the last round stand between @before and @after. */
struct input_tool {
	struct fixture_inquiry inquiry;
	const char *before, *after;
};

static void answer_input(struct server *s, struct request *req)
{
	const struct fixture_tool *row = fixture_tool_find(rpc_param_str(&req->rpc, "name"));
	const struct input_tool *tool = row->data;
	_cleanup_buf_ struct buf answers = BUF_INIT(INPUT_MAX);

	if (req->terms.version != MCP_2026_07_28)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "This fixture works in revision 2026-07-28 only.");
	if (!fixture_input_complete(s, req, row->row.name, &tool->inquiry))
		return;
	for (size_t r = 0; r < ARRAY_LEN(tool->inquiry.rounds); r++)
		for (size_t i = 0; i < FIXTURE_QUESTIONS_MAX; i++) {
			const struct fixture_question *question = &tool->inquiry.rounds[r][i];
			const char *answer = question->key ? fixture_input_answer(req, question) : "";
			buf_addf(&answers, "%s%s", answers.len > 0 && answer[0] ? ", " : "", answer);
		}
	fixture_text(s, req, "%s%s%s", tool->before, buf_cstr(&answers), tool->after);
}

static void answer_needs_sampling(struct server *s, struct request *req)
{
	if (req->terms.version == MCP_2026_07_28 && !is_declared(req, "sampling"))
		return refuse_undeclared(s, req, "sampling");
	fixture_text(s, req, "The capability is there.");
}

#define FORM(key_name, text, member, type_name)                                                                              \
	{ .key = (key_name), .method = "elicitation/create", .answer = (member),                                            \
	  .params = "{\"message\":\"" text "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" member          \
		    "\":{\"type\":\"" type_name "\"}},\"required\":[\"" member "\"]}}" }
#define MODEL(key_name, text, tokens)                                                                                        \
	{ .key = (key_name), .method = "sampling/createMessage",                                                            \
	  .params = "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}],\"maxTokens\":" tokens "}" }
#define ROOTS(key_name) { .key = (key_name), .method = "roots/list", .params = "{}" }
#define USER_NAME FORM("user_name", "What is your name?", "name", "string")
#define CONFIRM FORM("confirm", "Please confirm", "ok", "boolean")

static const struct input_tool elicitation = { { .rounds = { { USER_NAME } } }, "Hello, ", "!" };
static const struct input_tool sampling = {
	{ .rounds = { { MODEL("capital_question", "What is the capital of France?", "100") } } }, "The model says: ", ""
};
static const struct input_tool roots = { { .rounds = { { ROOTS("client_roots") } } }, "The first root is ", "." };
static const struct input_tool stateful = { { .rounds = { { CONFIRM } }, .state = true }, "state-ok: ", "" };
static const struct input_tool several = {
	{ .rounds = { { USER_NAME, MODEL("greeting", "Generate a greeting", "50"), ROOTS("client_roots") } }, .state = true },
	"All answers: ", ""
};
static const struct input_tool two_rounds = {
	{ .rounds = { { FORM("step1", "Step 1: What is your name?", "name", "string") },
		      { FORM("step2", "Step 2: What is your favorite color?", "color", "string") } },
	  .state = true },
	"Both rounds are over: ", ""
};
static const struct input_tool declared = {
	{ .rounds = { { USER_NAME, MODEL("greeting", "Generate a greeting", "50"), ROOTS("client_roots") } }, .only_declared = true },
	"What could be asked: ", ""
};

const struct fixture_tool fixture_input_tools[] = {
	{ FIXTURE_ROW("test_input_required_result_elicitation", "a question to the user, as a result", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &elicitation },
	{ FIXTURE_ROW("test_input_required_result_sampling", "a question to the model, as a result", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &sampling },
	{ FIXTURE_ROW("test_input_required_result_list_roots", "a question for roots, as a result", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &roots },
	{ FIXTURE_ROW("test_input_required_result_request_state", "a question with a state", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &stateful },
	{ FIXTURE_ROW("test_input_required_result_multiple_inputs", "three questions", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &several },
	{ FIXTURE_ROW("test_input_required_result_multi_round", "one question after the other", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &two_rounds },
	{ FIXTURE_ROW("test_input_required_result_tampered_state", "a state that cannot be made up", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &stateful },
	{ FIXTURE_ROW("test_input_required_result_capabilities", "what the client can be asked", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &declared },
	{ FIXTURE_ROW("test_streaming_elicitation", "a question on a stream", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_input, .data = &elicitation },
	{ FIXTURE_ROW("test_missing_capability", "something that needs sampling", FIXTURE_NO_ARGUMENTS),
	  .answer = answer_needs_sampling },
	{ .answer = NULL },
};
