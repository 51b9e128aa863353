/*
 * Streams of notifications: see listen.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/listen.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/subscribe.h"
#include "runtime/base/jsonw.h"

enum { NOTIFICATION_MAX = 4096 };

struct stream {
	struct stream *next;
	struct request *request;
	unsigned int lists; /* honoured, */
	unsigned int due;   /* and changed since they were told of */
	bool open;
};

static const struct {
	enum listen_list list;
	const char *wish, *notification;
} lists_table[] = {
	{ LISTEN_TOOLS, "toolsListChanged", "notifications/tools/list_changed" },
	{ LISTEN_PROMPTS, "promptsListChanged", "notifications/prompts/list_changed" },
	{ LISTEN_RESOURCES, "resourcesListChanged", "notifications/resources/list_changed" },
};

static const struct {
	enum subscribe_kind kind;
	const char *wish, *what;
} names_table[] = {
	{ SUBSCRIBE_RESOURCE, "resourceSubscriptions", "URIs" },
	{ SUBSCRIBE_TASK, "taskIds", "ids of tasks" }, /* of the extension for tasks */
};

/* --- the life of a stream ----------------------------------------------------------------------------------------- */

struct stream *listen_find(const struct server *s, const char *id)
{
	struct stream *stream = s->subscribe.streams;

	while (stream && strcmp(stream->request->rpc.id, id) != 0)
		stream = stream->next;
	return stream;
}

bool listen_is_open(const struct stream *stream)
{
	return stream->open;
}

static void add_id(struct buf *b, const struct stream *stream)
{
	jsonw_str(b, MCP_META_SUBSCRIPTION);
	buf_addf(b, ":%s", stream->request->rpc.id);
}

void listen_add_meta(struct buf *b, const struct stream *stream)
{
	jsonw_name(b, "_meta");
	buf_add_char(b, '{');
	add_id(b, stream);
	buf_add_char(b, '}');
}

/* The answer, and the notification that another page of the specification wants in its place. */
static void say_goodbye(struct server *s, const struct stream *stream)
{
	_cleanup_buf_ struct buf b = BUF_INIT(NOTIFICATION_MAX);

	answer_begin(&b, stream->request);
	answer_begin_meta(&b, "complete");
	buf_add_char(&b, ',');
	add_id(&b, stream);
	buf_add_str(&b, "}}");
	rpc_end_result(&b);
	answer_send(s, stream->request, &b);
	answer_begin_notification(&b, "notifications/cancelled");
	jsonw_name(&b, "requestId");
	buf_add_str(&b, stream->request->rpc.id);
	jsonw_member(&b, "reason", "The server ends.");
	(void) answer_notify(s, &b, false);
}

void listen_end(struct server *s, struct stream *stream, bool say)
{
	struct stream **p = &s->subscribe.streams;

	if (say)
		say_goodbye(s, stream);
	while (*p != stream)
		p = &(*p)->next;
	*p = stream->next;
	s->subscribe.stream_count--;
	subscribe_drop_all(s, stream);
	request_free(s, stream->request);
	free(stream);
}

void listen_end_all(struct server *s, bool say)
{
	while (s->subscribe.streams)
		listen_end(s, s->subscribe.streams, say);
}

/* --- opening one -------------------------------------------------------------------------------------------------- */

/* The subscriptions of @stream that are of @kind, as the member @wish; nothing when there are none. */
static void add_names(struct buf *b, const struct server *s, const struct stream *stream, enum subscribe_kind kind, const char *wish)
{
	const char *separator = "[";

	for (const struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next) {
		if (sub->stream != stream || sub->kind != kind)
			continue;
		if (*separator == '[')
			jsonw_name(b, wish);
		buf_add_str(b, separator);
		jsonw_str(b, sub->name);
		separator = ",";
	}
	if (*separator == ',')
		buf_add_char(b, ']');
}

static void acknowledge(struct server *s, struct stream *stream)
{
	_cleanup_buf_ struct buf b = BUF_INIT(OUT_MESSAGE_MAX);

	stream->open = true;
	answer_begin_notification(&b, "notifications/subscriptions/acknowledged");
	jsonw_name(&b, "notifications");
	buf_add_char(&b, '{');
	for (size_t i = 0; i < ARRAY_LEN(lists_table); i++) {
		if (!(stream->lists & lists_table[i].list))
			continue;
		jsonw_name(&b, lists_table[i].wish);
		buf_add_str(&b, "true");
	}
	for (size_t i = 0; i < ARRAY_LEN(names_table); i++)
		add_names(&b, s, stream, names_table[i].kind, names_table[i].wish);
	buf_add_char(&b, '}');
	listen_add_meta(&b, stream);
	if (!answer_notify(s, &b, false)) {
		answer_error(s, stream->request, RPC_INTERNAL_ERROR, "Out of memory.", NULL);
		listen_end(s, stream, false);
	}
}

void listen_ready(struct server *s, struct stream *stream)
{
	for (const struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next)
		if (sub->stream == stream && !sub->ready)
			return;
	acknowledge(s, stream);
}

static bool is_list_of_strings(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return false;
	cJSON_ArrayForEach(item, list)
		if (!cJSON_IsString(item))
			return false;
	return true;
}

/* Whether the wishes of @req can be understood; otherwise it has been refused. */
static bool check_wishes(struct server *s, struct request *req, const cJSON *wishes)
{
	static const char tasks[] = "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_EXTENSION_TASKS "\":{}}}}";
	enum rpc_code code = RPC_INVALID_PARAMS;

	if (!cJSON_IsObject(wishes)) {
		answer_refuse(s, req, code, NULL, "subscriptions/listen needs the object \"notifications\", which tells what to listen to.");
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(names_table); i++) {
		const cJSON *wish = cJSON_GetObjectItemCaseSensitive(wishes, names_table[i].wish);
		if (!wish || is_list_of_strings(wish))
			continue;
		answer_refuse(s, req, code, NULL, "%s must be a list of %s.", names_table[i].wish, names_table[i].what);
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(lists_table); i++) {
		const cJSON *wish = cJSON_GetObjectItemCaseSensitive(wishes, lists_table[i].wish);
		if (!wish || cJSON_IsBool(wish))
			continue;
		answer_refuse(s, req, code, NULL, "%s must be true or false.", lists_table[i].wish);
		return false;
	}
	if (req->terms.tasks || !cJSON_GetObjectItemCaseSensitive(wishes, "taskIds"))
		return true;
	answer_refuse(s, req, RPC_MISSING_CAPABILITY, tasks, "taskIds are for clients that declare the extension " MCP_EXTENSION_TASKS
		      " in this request.");
	return false;
}

static bool listens_to(const struct server *s, const struct stream *stream, enum subscribe_kind kind, const char *name)
{
	for (const struct subscription *sub = s->subscribe.subscriptions; sub; sub = sub->next)
		if (sub->stream == stream && sub->kind == kind && strcmp(sub->name, name) == 0)
			return true;
	return false;
}

/* Takes what can be had of the list @names; no more of it are looked at than there may be. */
static void take_names(struct server *s, struct stream *stream, enum subscribe_kind kind, const cJSON *names)
{
	const cJSON *name = names ? names->child : NULL;
	struct subscription *sub;

	for (int i = 0; name && i < SUBSCRIBE_MAX; i++, name = name->next)
		if (!listens_to(s, stream, kind, name->valuestring) && subscribe_new(s, stream, kind, name->valuestring, &sub) < 0)
			log_line(MCP_LOG_DEBUG, "a stream leaves out \"%.100s\"", name->valuestring);
}

static void take_wishes(struct server *s, struct stream *stream, const cJSON *wishes, unsigned int lists)
{
	for (size_t i = 0; i < ARRAY_LEN(lists_table); i++)
		if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(wishes, lists_table[i].wish)))
			stream->lists |= lists & lists_table[i].list;
	for (size_t i = 0; i < ARRAY_LEN(names_table); i++)
		take_names(s, stream, names_table[i].kind, cJSON_GetObjectItemCaseSensitive(wishes, names_table[i].wish));
}

void listen_start(struct server *s, struct request *req, unsigned int lists)
{
	const cJSON *wishes = rpc_param(&req->rpc, "notifications");

	if (req->batch)
		return answer_refuse(s, req, RPC_INVALID_REQUEST, NULL, "subscriptions/listen must not be part of a batch.");
	if (!check_wishes(s, req, wishes))
		return;
	if (s->subscribe.stream_count >= LISTEN_STREAMS_MAX)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL,
				     "%d streams are open, which is the limit. Cancel one, or listen to everything on one.", LISTEN_STREAMS_MAX);
	struct stream *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "Out of memory.");
	stream->request = req;
	stream->next = s->subscribe.streams;
	s->subscribe.streams = stream;
	s->subscribe.stream_count++;
	take_wishes(s, stream, wishes, lists);
	request_slim(s, req);
	listen_ready(s, stream);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

void listen_list_changed(struct server *s, enum listen_list list)
{
	for (struct stream *stream = s->subscribe.streams; stream; stream = stream->next)
		stream->due |= stream->lists & list;
}

static void tell(struct server *s, struct stream *stream)
{
	for (size_t i = 0; i < ARRAY_LEN(lists_table); i++) {
		_cleanup_buf_ struct buf b = BUF_INIT(NOTIFICATION_MAX);
		if (!(stream->due & lists_table[i].list))
			continue;
		answer_begin_notification(&b, lists_table[i].notification);
		listen_add_meta(&b, stream);
		if (answer_notify(s, &b, true))
			stream->due &= ~(unsigned int) lists_table[i].list;
	}
}

void listen_tick(struct server *s)
{
	for (struct stream *stream = s->subscribe.streams; stream; stream = stream->next)
		if (stream->open && stream->due)
			tell(s, stream);
}
