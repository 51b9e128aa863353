/*
 * The result of a tool call: see result.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/result.h"

#include "mcp/answer.h"
#include "mcp/base64.h"
#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"

enum { RESULT_NOTE_MAX = 160 };

/*
 * The text as it goes out. Tools keep to the longest answer themselves, where they can say how to go on; of one that did
 * not, such as a very long message, the end is cut off.
 */
static void add_text(struct buf *b, const struct call *call)
{
	const struct buf *text = &call->pub.text;
	size_t max = (size_t) call->server->config->max_answer_chars;

	if (text->len <= max)
		return jsonw_string(b, buf_cstr(text), text->len);
	_cleanup_buf_ struct buf cut = BUF_INIT(max);
	size_t shown = utf8_floor(text->p, max - RESULT_NOTE_MAX);
	buf_add(&cut, text->p, shown);
	buf_addf(&cut, "\n[answer truncated: the first %zu of %zu bytes are shown. Ask for less at once.]", shown, text->len);
	jsonw_string(b, cut.p, cut.len);
}

static void add_content(struct buf *b, const struct call *call)
{
	const struct tool_call *pub = &call->pub;

	buf_add_str(b, "\"content\":[{\"type\":\"text\",\"text\":");
	add_text(b, call);
	if (pub->image.len > 0 && !pub->is_error) {
		buf_addf(b, "},{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":\"", pub->image_type);
		base64_add(b, pub->image.p, pub->image.len);
		buf_add_char(b, '"');
	}
	buf_addf(b, "}],\"isError\":%s", pub->is_error ? "true" : "false");
}

/* The members that a client of the handshake gets. */
static void begin_meta(struct buf *b, const struct call *call)
{
	jsonw_name(b, "_meta");
	buf_add_char(b, '{');
	if (call->request->task_id)
		buf_addf(b, "\"" MCP_META_RELATED_TASK "\":{\"taskId\":\"%s\"}", call->request->task_id);
}

static void add_meta(struct buf *b, const struct call *call)
{
	const cJSON *member;

	if (call->request->terms.version == MCP_2026_07_28)
		answer_begin_meta(b, "complete");
	else if (call->pub.meta || call->request->task_id)
		begin_meta(b, call);
	else
		return;
	cJSON_ArrayForEach(member, call->pub.meta) {
		jsonw_name(b, member->string);
		rpc_write_tree(b, member);
	}
	buf_add_char(b, '}');
}

void result_write(struct buf *b, const struct call *call)
{
	const struct tool_call *pub = &call->pub;

	add_content(b, call);
	if (call->server->config->structured_output && !pub->is_error && call->request->terms.version >= MCP_2025_06_18) {
		buf_add_str(b, ",\"structuredContent\":{\"result\":");
		add_text(b, call);
		buf_add_char(b, '}');
	}
	add_meta(b, call);
}
