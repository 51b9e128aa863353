/*
 * The resources of the conformance suite. See fixtures.h.
 */
#include <string.h>

#include "mcp/answer.h"
#include "mcp/listen.h"
#include "runtime/base/jsonw.h"
#include "tests/conformance/fixtures.h"

enum { RESOURCE_MAX = 32 * 1024 };

#define TEMPLATE_HEAD "test://template/"
#define TEMPLATE_TAIL "/data"

static const struct resource_row {
	const char *uri, *name, *mime_type;
	const char *text; /* or NULL: */
	const char *blob; /* base64 */
} rows[] = {
	{ "test://static-text", "static-text", "text/plain", "This is the content of the static text resource.", NULL },
	{ "test://static-binary", "static-binary", "image/png", NULL, FIXTURE_PNG },
	{ "test://watched-resource", "watched-resource", "text/plain", "This resource can be subscribed to.", NULL },
};

static const struct resource_row *find(const char *uri)
{
	for (size_t i = 0; uri && i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].uri, uri) == 0)
			return &rows[i];
	return NULL;
}

static void list_resources(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(RESOURCE_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "resources");
	buf_add_char(&b, '[');
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		buf_addf(&b, "%s{\"uri\":\"%s\",\"name\":\"%s\",\"mimeType\":\"%s\",\"description\":\"Conformance fixture\"}",
			 i > 0 ? "," : "", rows[i].uri, rows[i].name, rows[i].mime_type);
	buf_add_char(&b, ']');
	answer_cache(&b, req, 0, false);
	answer_finish(s, req, &b);
}

static void list_templates(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(RESOURCE_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "resourceTemplates");
	buf_add_str(&b, "[{\"uriTemplate\":\"" TEMPLATE_HEAD "{id}" TEMPLATE_TAIL "\",\"name\":\"template\","
			"\"mimeType\":\"application/json\",\"description\":\"Conformance fixture\"}]");
	answer_cache(&b, req, 0, false);
	answer_finish(s, req, &b);
}

/* Adds the text of the template's resource; false when @uri is none of it. */
static bool write_templated(struct buf *b, const char *uri)
{
	size_t len = uri ? strlen(uri) : 0, head = strlen(TEMPLATE_HEAD), tail = strlen(TEMPLATE_TAIL);
	_cleanup_buf_ struct buf text = BUF_INIT(RESOURCE_MAX / 4);
	_cleanup_buf_ struct buf data = BUF_INIT(RESOURCE_MAX / 4);

	if (len <= head + tail || memcmp(uri, TEMPLATE_HEAD, head) != 0 || strcmp(uri + len - tail, TEMPLATE_TAIL) != 0)
		return false;
	const char *id = uri + head;
	int id_len = (int) (len - head - tail);
	buf_add_str(&text, "{\"id\":");
	jsonw_string(&text, id, (size_t) id_len);
	buf_addf(&data, "Data for ID: %.*s", id_len, id);
	buf_add_str(&text, ",\"templateTest\":true,\"data\":");
	jsonw_str(&text, buf_cstr(&data));
	buf_add_char(&text, '}');
	buf_add_str(b, ",\"mimeType\":\"application/json\",\"text\":");
	jsonw_str(b, buf_cstr(&text));
	return true;
}

static void read_resource(struct server *s, struct request *req)
{
	const char *uri = rpc_param_str(&req->rpc, "uri");
	const struct resource_row *row = find(uri);
	_cleanup_buf_ struct buf b = BUF_INIT(RESOURCE_MAX), templated = BUF_INIT(RESOURCE_MAX);

	if (!row && !write_templated(&templated, uri))
		return fixture_pass_on(s, req);
	answer_begin(&b, req);
	jsonw_name(&b, "contents");
	buf_add_str(&b, "[{\"uri\":");
	jsonw_str(&b, uri);
	if (row) {
		buf_addf(&b, ",\"mimeType\":\"%s\",\"%s\":", row->mime_type, row->text ? "text" : "blob");
		jsonw_str(&b, row->text ? row->text : row->blob);
	}
	buf_add_str(&b, buf_cstr(&templated));
	buf_add_str(&b, "}]");
	answer_cache(&b, req, 0, false);
	answer_finish(s, req, &b);
}

bool fixture_is_resource(const char *uri)
{
	return find(uri) != NULL;
}

/* As the product does, for servers whose lists change. */
static void listen_to_lists(struct server *s, struct request *req)
{
	listen_start(s, req, LISTEN_TOOLS | LISTEN_PROMPTS);
}

const struct method fixture_resource_methods[] = {
	{ "resources/list", METHOD_BOTH, list_resources },
	{ "resources/templates/list", METHOD_BOTH, list_templates },
	{ "resources/read", METHOD_BOTH, read_resource },
	{ "subscriptions/listen", METHOD_STATELESS, listen_to_lists },
	{ NULL },
};
