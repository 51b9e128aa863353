/*
 * resources/list, resources/templates/list and resources/read. Runs on the event loop of cloche-mcp, without any capability; only
 * read_on_worker() is called on another thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/log.h"
#include "mcp/method.h"
#include "mcp/mime.h"
#include "mcp/offload.h"
#include "mcp/resource.h"
#include "mcp/resource_file.h"
#include "mcp/skill.h"
#include "mcp/task.h"
#include "runtime/base/jsonw.h"

enum {
	LIST_MAX = 64 * 1024,
	LINE_MAX_SHOWN = 512,
	ENVELOPE_MAX = 4096,             /* of an answer: all but the content */
};

/* --- what there is ------------------------------------------------------------------------------------------------ */

/* A resource or a template. */
struct row {
	const char *uri;
	const char *name, *title, *description, *type;
	const char *annotations; /* JSON text */
};

static const struct row policy_row = {
	.uri = RESOURCE_URI_POLICY,
	.name = "policy",
	.title = "Policy of the Sandbox",
	.description = "What this sandbox may read, write, reach and spend, which walls stand, and who said so. Decided before it started.",
	.type = "application/json",
	.annotations = "{\"audience\":[\"user\",\"assistant\"],\"priority\":0.6}",
};

static const struct row jobs_row = {
	.uri = RESOURCE_URI_JOBS,
	.name = "jobs",
	.title = "Jobs",
	.description = "The tool calls that work on as tasks, and those that have ended: id, tool, status, time and summary of each.",
	.type = "application/json",
	.annotations = "{\"audience\":[\"user\",\"assistant\"],\"priority\":0.3}",
};

static const struct row templates[] = {
	{
		.uri = RESOURCE_TEMPLATE_FILE,
		.name = "workspace",
		.title = "Files of the Workspace",
		.description = "A file or directory of the workspace by its path, such as src/main.c. What is no UTF-8 text comes in base64; "
			       "a directory is the list of its names, with a slash behind those of directories.",
		.annotations = "{\"audience\":[\"user\",\"assistant\"],\"priority\":0.5}",
	},
	{
		.uri = RESOURCE_TEMPLATE_JOB_OUTPUT,
		.name = "job-output",
		.title = "Output of a Job",
		.description = "What a job has printed so far, or its whole answer when it has ended. " RESOURCE_URI_JOBS " lists the ids.",
		.type = MIME_TEXT,
		.annotations = "{\"audience\":[\"user\",\"assistant\"],\"priority\":0.3}",
	},
};

static void write_row(struct buf *b, const struct row *row, const char *uri_member, enum mcp_version version)
{
	buf_addf(b, "{\"%s\":\"%s\",\"name\":\"%s\"", uri_member, row->uri, row->name);
	if (version >= MCP_2025_06_18) {
		jsonw_member(b, "title", row->title);
	}
	jsonw_member(b, "description", row->description);
	if (row->type) {
		jsonw_member(b, "mimeType", row->type);
	}
	buf_addf(b, ",\"annotations\":%s", row->annotations);
}

static void write_resource(struct buf *b, const struct row *row, size_t size, enum mcp_version version)
{
	write_row(b, row, "uri", version);
	if (size > 0)
		buf_addf(b, ",\"size\":%zu", size);
	buf_add_char(b, '}');
}

static void write_skill(struct buf *b, enum mcp_version version)
{
	_cleanup_buf_ struct buf description = BUF_INIT(ENVELOPE_MAX);
	size_t len;
	const char *text = skill_description(&len);

	buf_add(&description, text, len);
	const struct row row = {
		.uri = SKILL_URI,
		.name = SKILL_NAME,
		.title = SKILL_TITLE,
		.description = buf_cstr(&description),
		.type = SKILL_MIME_TYPE,
		.annotations = "{\"audience\":[\"assistant\"],\"priority\":0.9}",
	};
	write_resource(b, &row, skill_text_len, version);
}

static void list_resources(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(LIST_MAX);
	enum mcp_version version = req->terms.version;

	if (!answer_is_first_page(s, req))
		return;
	answer_begin(&b, req);
	jsonw_name(&b, "resources");
	buf_add_char(&b, '[');
	write_skill(&b, version);
	if (s->config->policy) {
		buf_add_char(&b, ',');
		write_resource(&b, &policy_row, strlen(s->config->policy), version);
	}
	buf_add_char(&b, ',');
	write_resource(&b, &jobs_row, 0, version);
	buf_add_char(&b, ']');
	answer_cache(&b, req, ANSWER_FIXED_TTL_MS, true);
	answer_finish(s, req, &b);
}

static void list_templates(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(LIST_MAX);

	if (!answer_is_first_page(s, req))
		return;
	answer_begin(&b, req);
	jsonw_name(&b, "resourceTemplates");
	for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
		buf_add_char(&b, i ? ',' : '[');
		write_row(&b, &templates[i], "uriTemplate", req->terms.version);
		buf_add_char(&b, '}');
	}
	buf_add_char(&b, ']');
	answer_cache(&b, req, ANSWER_FIXED_TTL_MS, true);
	answer_finish(s, req, &b);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* How long, and whether for everybody, what was read holds. */
struct validity {
	int64_t ttl_ms;
	bool is_public;
};

static const struct validity is_fixed = { ANSWER_FIXED_TTL_MS, true }, is_our_own = { ANSWER_FIXED_TTL_MS, false };
static const struct validity is_passing = { 0, false };

static enum rpc_code not_found(const struct request *req)
{
	return req->terms.version == MCP_2026_07_28 ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND;
}

static void refuse_unknown(struct server *s, struct request *req, enum rpc_code code, const char *uri, const char *problem)
{
	_cleanup_buf_ struct buf message = BUF_INIT(ENVELOPE_MAX);

	buf_addf(&message, "Resource '%s' %s.", ws_show(uri).s, problem);
	answer_refuse_resource(s, req, code, uri, buf_cstr(&message));
}

/* Answers with the elements of "contents" in @elements. */
static void answer_contents(struct server *s, struct request *req, const char *uri, struct buf *elements, struct validity valid)
{
	_cleanup_buf_ struct buf b = BUF_INIT(OUT_MESSAGE_MAX);

	if (buf_error(elements) == -E2BIG)
		return refuse_unknown(s, req, RPC_INVALID_PARAMS, uri,
				      "does not fit into one answer. Read it in parts with the tool read_file");
	if (buf_error(elements))
		return refuse_unknown(s, req, RPC_INTERNAL_ERROR, uri, "cannot be read now: out of memory");
	answer_begin(&b, req);
	jsonw_name(&b, "contents");
	buf_add_char(&b, '[');
	buf_add(&b, elements->p, elements->len);
	buf_add_char(&b, ']');
	answer_cache(&b, req, valid.ttl_ms, valid.is_public);
	answer_finish(s, req, &b);
}

static void answer_text(struct server *s, struct request *req, const char *uri, const char *type, struct buf *text, struct validity valid)
{
	_cleanup_buf_ struct buf element = BUF_INIT(OUT_MESSAGE_MAX - ENVELOPE_MAX);
	const struct resource_content content = { .bytes = *text, .type = type, .is_text = true };

	if (buf_error(text))
		element.error = buf_error(text);
	resource_write_content(&element, uri, &content);
	answer_contents(s, req, uri, &element, valid);
}

static void read_skill(struct server *s, struct request *req, const char *uri, _unused_ const struct resource *what)
{
	_cleanup_buf_ struct buf text = BUF_INIT(RESOURCE_BYTES_MAX);

	buf_add(&text, skill_text, skill_text_len);
	answer_text(s, req, uri, SKILL_MIME_TYPE, &text, is_fixed);
}

static void read_policy(struct server *s, struct request *req, const char *uri, _unused_ const struct resource *what)
{
	_cleanup_buf_ struct buf text = BUF_INIT(RESOURCE_BYTES_MAX);

	if (!s->config->policy)
		return refuse_unknown(s, req, not_found(req), uri, "is not known: whoever started this server told nothing about the sandbox");
	buf_add_str(&text, s->config->policy);
	answer_text(s, req, uri, policy_row.type, &text, is_our_own);
}

static void read_jobs(struct server *s, struct request *req, const char *uri, _unused_ const struct resource *what)
{
	_cleanup_buf_ struct buf text = BUF_INIT(RESOURCE_BYTES_MAX);

	task_write_list(s, &text);
	answer_text(s, req, uri, jobs_row.type, &text, is_passing);
}

static void read_job_output(struct server *s, struct request *req, const char *uri, const struct resource *what)
{
	_cleanup_buf_ struct buf text = BUF_INIT(RESOURCE_BYTES_MAX);

	if (!task_write_output(s, what->path, &text))
		return refuse_unknown(s, req, not_found(req), uri, "belongs to no job. " RESOURCE_URI_JOBS " lists those that there are");
	answer_text(s, req, uri, MIME_TEXT, &text, is_passing);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

struct reading {
	struct offload offload;
	char *uri;
	struct resource what;
	struct buf element;
	int error;
};

static void reading_free(struct reading *r)
{
	buf_done(&r->element);
	free(r->uri);
	free(r);
}

static void read_on_worker(struct offload *o)
{
	struct reading *r = CONTAINER_OF(o, struct reading, offload);
	_cleanup_content_ struct resource_content content = RESOURCE_CONTENT_INIT;

	r->error = resource_read_path(&o->call, r->what.path, &content);
	if (r->error == 0)
		resource_write_content(&r->element, r->uri, &content);
}

/* What kind of an error it is that a path cannot be read for. */
static enum rpc_code code_of(const struct request *req, int error)
{
	static const struct {
		int errnum;
		bool is_missing;
	} faults_of_the_uri[] = {
		{ ENOENT, true }, { ENOTDIR, true }, { EXDEV, true }, { ELOOP, true }, { ENAMETOOLONG, true },
		{ EFBIG, false }, { EINVAL, false }, { ENXIO, false }, { ENODEV, false }, { EACCES, false }, { EPERM, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(faults_of_the_uri); i++)
		if (faults_of_the_uri[i].errnum == -error)
			return faults_of_the_uri[i].is_missing ? not_found(req) : RPC_INVALID_PARAMS;
	return RPC_INTERNAL_ERROR;
}

static void file_was_read(struct offload *o)
{
	struct reading *r = CONTAINER_OF(o, struct reading, offload);

	if (buf_error(&o->call.text)) /* there was no room for the reason */
		r->element.error = buf_error(&o->call.text);
	if (o->request && r->error < 0 && !buf_error(&r->element))
		answer_refuse_resource(o->server, o->request, code_of(o->request, r->error), r->uri, buf_cstr(&o->call.text));
	else if (o->request)
		answer_contents(o->server, o->request, r->uri, &r->element, is_passing);
	offload_release(o);
	reading_free(r);
}

static void read_file(struct server *s, struct request *req, const char *uri, const struct resource *what)
{
	struct reading *r = calloc(1, sizeof(*r));

	if (r)
		r->uri = strdup(uri);
	if (!r || !r->uri) {
		free(r);
		return refuse_unknown(s, req, RPC_INTERNAL_ERROR, uri, "cannot be read now: out of memory");
	}
	r->what = *what;
	r->element = (struct buf) BUF_INIT(OUT_MESSAGE_MAX - ENVELOPE_MAX);
	offload_start(s, req, &r->offload, read_on_worker, file_was_read);
}

/* --- the methods -------------------------------------------------------------------------------------------------- */

static void (*const readers[])(struct server *s, struct request *req, const char *uri, const struct resource *what) = {
	[RESOURCE_SKILL] = read_skill,
	[RESOURCE_POLICY] = read_policy,
	[RESOURCE_JOBS] = read_jobs,
	[RESOURCE_JOB_OUTPUT] = read_job_output,
	[RESOURCE_FILE] = read_file,
};

static void audit(const char *uri)
{
	_cleanup_buf_ struct buf line = BUF_INIT(8 * LINE_MAX_SHOWN);

	log_add_quoted(&line, uri, strlen(uri), LINE_MAX_SHOWN);
	log_line(MCP_LOG_INFO, "RESOURCE_READ %s", buf_cstr(&line));
}

static void read_resource(struct server *s, struct request *req)
{
	const char *uri = rpc_param_str(&req->rpc, "uri");
	struct resource what;

	if (!uri)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL, "resources/read needs the uri of a resource, a string.");
	audit(uri);
	int r = resource_parse(uri, &what);
	if (r < 0)
		return refuse_unknown(s, req, r == -EINVAL ? RPC_INVALID_PARAMS : not_found(req), uri, resource_problem(r));
	readers[what.kind](s, req, uri, &what);
}

static const char *capability(_unused_ enum mcp_version version)
{
	return "\"resources\":{\"subscribe\":true}"; /* methods_subscribe.c */
}

static const struct method methods[] = {
	{ "resources/list", METHOD_BOTH, list_resources },
	{ "resources/templates/list", METHOD_BOTH, list_templates },
	{ "resources/read", METHOD_BOTH | METHOD_TAKES_TIME, read_resource },
	{ NULL },
};

const struct method_group methods_resources = { methods, capability };
