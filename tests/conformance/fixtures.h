/*
 * The tools, prompts and resources that the official conformance suite asks for by name, linked into a test build of cloche-mcp in
 * place of mcp/extra_none.c and switched on by --conformance-fixtures. Names and texts are the suite's.
 */
#pragma once

#include "mcp/extra.h"
#include "mcp/tool.h"

#define FIXTURE_PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
#define FIXTURE_WAV "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAAAAA"

/* A tool of the suite. The rows are listed like the product's own. */
struct fixture_tool {
	struct mcp_tool row;
	/* Answers the call and takes it over; NULL: the call lives as any other and row.run makes its text. */
	void (*answer)(struct server *s, struct request *req);
	const void *data; /* for answer() */
};

/* The tables; the last row of each has no name. */
extern const struct fixture_tool fixture_text_tools[], fixture_content_tools[], fixture_ask_tools[], fixture_input_tools[];
extern const struct method fixture_prompt_methods[], fixture_resource_methods[];

/* The row of this name, or NULL. */
const struct fixture_tool *fixture_tool_find(const char *name);

/* What an input schema without properties looks like. */
#define FIXTURE_NO_ARGUMENTS "{\"type\":\"object\",\"additionalProperties\":false}"

/* The row of a tool that reads nothing and changes nothing. */
#define FIXTURE_ROW(tool_name, tool_title, schema)                                                                          \
	.row.name = (tool_name), .row.title = (tool_title), .row.description = "Conformance fixture: " tool_title ".",      \
	.row.input_schema = (schema), .row.read_only = true, .row.idempotent = true

/* Whether @uri is one of the suite's resources. */
bool fixture_is_resource(const char *uri);

/* Answers a call with one text, or with the array @content, JSON text. Both free @req. */
void fixture_text(struct server *s, struct request *req, const char *fmt, ...) _printf_(3, 4);
void fixture_content(struct server *s, struct request *req, const char *content);

/* An argument of tools/call or prompts/get that is a string; "" when it is none. */
const char *fixture_argument(const struct request *req, const char *name);

/* Serves @req as the product would; without a method of this name there it is refused as invalid. */
void fixture_pass_on(struct server *s, struct request *req);

/* --- requests to the client, in the handshake revisions ---------------------------------------------------------------- */

bool fixture_ask_response(struct server *s, const struct rpc *m);
void fixture_ask_done(struct server *s);

/* --- calls that report their progress ---------------------------------------------------------------------------------- */

int64_t fixture_progress_tick(struct server *s, int64_t now_ms);
void fixture_progress_done(struct server *s);

/* --- answers that ask for input (2026-07-28) --------------------------------------------------------------------------- */

/* One question: what a client answers under @key. */
struct fixture_question {
	const char *key;
	const char *method;
	const char *params; /* JSON text */
	const char *answer; /* of elicitation/create: the required member of the answer's content */
};

enum { FIXTURE_QUESTIONS_MAX = 3 };

/* What has to be answered before a request is. */
struct fixture_inquiry {
	struct fixture_question rounds[2][FIXTURE_QUESTIONS_MAX];
	bool state;         /* the rounds are told apart by requestState */
	bool only_declared; /* questions that the client cannot take are left out */
};

/*
 * True when everything has been answered. Else @req was: with what is still to be answered, or with a refusal. @owner is the name
 * of the tool or prompt, and lives on.
 */
bool fixture_input_complete(struct server *s, struct request *req, const char *owner, const struct fixture_inquiry *inquiry);

/* The answer to @question as text: a name, what a model said, the first root. "" when there is none. */
const char *fixture_input_answer(const struct request *req, const struct fixture_question *question);
