/*
 * completion/complete: proposals for arguments of prompts and of URI templates. Runs on the event loop of cloche-mcp, without
 * any capability; only find_paths() is called on another thread.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/complete.h"
#include "mcp/method.h"
#include "mcp/offload.h"
#include "mcp/prompts.h"
#include "mcp/resource.h"
#include "mcp/task.h"
#include "mcp/ws.h"
#include "runtime/base/jsonw.h"

enum {
	COMPLETION_ANSWER_MAX = COMPLETE_TEXT_MAX + 4096,
	COMPLETION_NAMES_MAX = 1024,
};

/* What is asked for. */
struct wanted {
	enum complete_kind kind;
	const char *const *words; /* for COMPLETE_WORD */
	bool relative;            /* for COMPLETE_PATH: as complete_path() wants it */
	const char *typed;        /* in the request */
};

static void answer(struct server *s, struct request *req, const struct completions *found)
{
	_cleanup_buf_ struct buf b = BUF_INIT(COMPLETION_ANSWER_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "completion");
	completions_write(&b, found);
	answer_finish(s, req, &b);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

struct path_search {
	struct offload offload;
	struct wanted wanted;
	struct completions found;
};

static void find_paths(struct offload *o)
{
	struct path_search *p = CONTAINER_OF(o, struct path_search, offload);

	complete_path(&p->found, &o->call, p->wanted.typed, p->wanted.relative);
}

static void paths_found(struct offload *o)
{
	struct path_search *p = CONTAINER_OF(o, struct path_search, offload);

	if (o->request)
		answer(o->server, o->request, &p->found);
	completions_done(&p->found);
	offload_release(o);
	free(p);
}

static void propose_paths(struct server *s, struct request *req, const struct wanted *wanted)
{
	struct path_search *p = malloc(sizeof(*p));

	if (!p)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "Out of memory.");
	p->wanted = *wanted;
	p->found = (struct completions) COMPLETIONS_INIT;
	offload_start(s, req, &p->offload, find_paths, paths_found);
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static void find_jobs(struct completions *found, struct server *s, const char *typed)
{
	const char *ids[COMPLETE_VALUES_MAX];
	size_t count = task_ids(s, typed, ids, ARRAY_LEN(ids));

	for (size_t i = 0; i < count; i++)
		completions_add(found, ids[i]);
}

static void propose(struct server *s, struct request *req, const struct wanted *wanted)
{
	_cleanup_completions_ struct completions found = COMPLETIONS_INIT;

	if (wanted->kind == COMPLETE_PATH)
		return propose_paths(s, req, wanted);
	if (wanted->kind == COMPLETE_WORD)
		complete_word(&found, wanted->words, wanted->typed);
	if (wanted->kind == COMPLETE_JOB)
		find_jobs(&found, s, wanted->typed);
	answer(s, req, &found);
}

static void complete_prompt(struct server *s, struct request *req, const char *name, const char *argument, struct wanted *wanted)
{
	const struct prompt *prompt = prompts_find(name);
	_cleanup_buf_ struct buf names = BUF_INIT(COMPLETION_NAMES_MAX);

	if (!prompt) {
		prompts_add_names(&names);
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "ref: unknown prompt \"%s\". There are: %s",
				     ws_show(name).s, buf_cstr(&names));
	}
	const struct prompt_argument *known = prompts_find_argument(prompt, argument);
	if (known) {
		wanted->kind = known->kind;
		wanted->words = known->words;
	}
	propose(s, req, wanted);
}

/* The variables of our URI templates. */
static const struct variable {
	const char *uri, *name;
	enum complete_kind kind;
} variables[] = {
	{ RESOURCE_TEMPLATE_FILE, "path", COMPLETE_PATH },
	{ RESOURCE_TEMPLATE_JOB_OUTPUT, "id", COMPLETE_JOB },
};

static void complete_resource(struct server *s, struct request *req, const char *uri, const char *argument, struct wanted *wanted)
{
	struct resource resource;
	bool known = resource_parse(uri, &resource) == 0; /* without variables: nothing to propose, and no error */

	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		if (strcmp(variables[i].uri, uri) != 0)
			continue;
		known = true;
		if (strcmp(variables[i].name, argument) == 0)
			wanted->kind = variables[i].kind;
	}
	if (!known)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL,
				     "ref: unknown resource or template \"%s\". The templates are: " RESOURCE_TEMPLATE_FILE
				     ", " RESOURCE_TEMPLATE_JOB_OUTPUT,
				     ws_show(uri).s);
	wanted->relative = true;
	propose(s, req, wanted);
}

/* A member of a member of params, if it is a string. */
static const char *param_of(const struct request *req, const char *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(rpc_param(&req->rpc, object), name));
}

static void complete(struct server *s, struct request *req)
{
	const char *type = param_of(req, "ref", "type"), *argument = param_of(req, "argument", "name");
	const char *name = param_of(req, "ref", "name"), *uri = param_of(req, "ref", "uri");
	struct wanted wanted = { .kind = COMPLETE_NOTHING, .typed = param_of(req, "argument", "value") };

	if (!argument || !wanted.typed)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL,
				     "completion/complete needs an argument, an object with the strings name and value.");
	if (type && strcmp(type, "ref/prompt") == 0 && name)
		return complete_prompt(s, req, name, argument, &wanted);
	if (type && strcmp(type, "ref/resource") == 0 && uri)
		return complete_resource(s, req, uri, argument, &wanted);
	answer_refuse(s, req, RPC_INVALID_PARAMS, NULL,
		      "completion/complete needs a ref: {\"type\":\"ref/prompt\",\"name\":NAME} or "
		      "{\"type\":\"ref/resource\",\"uri\":URI}.");
}

/* In the first revision the method had none. */
static const char *capability(enum mcp_version version)
{
	return version >= MCP_2025_03_26 ? "\"completions\":{}" : NULL;
}

static const struct method methods[] = {
	{ "completion/complete", METHOD_BOTH | METHOD_TAKES_TIME, complete },
	{ NULL },
};

const struct method_group methods_completion = { methods, capability };
