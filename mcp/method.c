/*
 * Dispatch of methods and notifications: see method.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/method.h"

#include <string.h>

#include "mcp/answer.h"
#include "mcp/call.h"
#include "mcp/extra.h"
#include "mcp/log.h"
#include "mcp/offload.h"
#include "mcp/subscribe.h"
#include "mcp/task.h"
#include "mcp/waiting.h"

static const struct method_group *const groups[] = {
	&methods_completion,
	&methods_life,
	&methods_prompts,
	&methods_resources,
	&methods_subscribe,
	&methods_tools,
	&methods_tasks,
};

const struct method *method_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		for (const struct method *method = groups[i]->methods; method->name; method++)
			if (strcmp(method->name, name) == 0)
				return method;
	return NULL;
}

bool method_is_call(const struct rpc *m)
{
	const struct method *method = m->method ? method_find(m->method) : NULL;

	return method && (method->flags & METHOD_TAKES_TIME);
}

void method_write_capabilities(struct buf *b, enum mcp_version version)
{
	const char *extra = extra_capabilities(version), *separator = "";

	if (extra)
		return buf_add_str(b, extra);
	buf_add_char(b, '{');
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		const char *capability = groups[i]->capability ? groups[i]->capability(version) : NULL;
		if (!capability)
			continue;
		buf_addf(b, "%s%s", separator, capability);
		separator = ",";
	}
	buf_add_char(b, '}');
}

/* --- notifications ------------------------------------------------------------------------------------------------ */

static void initialized(struct server *s, _unused_ const struct rpc *m)
{
	s->session.ready = true;
}

static void cancelled(struct server *s, const struct rpc *m)
{
	/* An unknown id is no error: its answer may be on its way. */
	if (m->target && !call_cancel(s, m->target) && !offload_cancel(s, m->target) && !task_reader_cancel(s, m->target) &&
	    !subscribe_cancel(s, m->target))
		waiting_forget(s, m->target);
}

static const struct {
	const char *name;
	void (*run)(struct server *s, const struct rpc *m);
} notifications[] = {
	{ "notifications/initialized", initialized },
	{ "notifications/cancelled", cancelled },
};

void method_notify(struct server *s, const struct rpc *m)
{
	for (size_t i = 0; i < ARRAY_LEN(notifications); i++) {
		if (strcmp(notifications[i].name, m->method) != 0)
			continue;
		notifications[i].run(s, m);
		return;
	}
	log_line(MCP_LOG_DEBUG, "ignored the notification \"%.60s\"", m->method);
}

void method_serve(struct server *s, struct request *req)
{
	const char *name = req->rpc.method;
	const struct method *extra = extra_method(name), *method = extra ? extra : method_find(name);
	struct refusal refusal;

	if (strncmp(name, "notifications/", strlen("notifications/")) == 0) {
		/* Some clients give notifications/initialized an id: it counts, and the refusal does them no harm. */
		if (strcmp(name, "notifications/initialized") == 0)
			initialized(s, &req->rpc);
		return answer_refuse(s, req, RPC_METHOD_NOT_FOUND, NULL, "\"%.60s\" is a notification: send it without id.", name);
	}
	if (!session_serve_as(&s->session, &req->rpc, &req->terms, &refusal))
		return answer_refuse(s, req, refusal.code, refusal.data[0] ? refusal.data : NULL, "%s", refusal.message);
	if (!method || !(method->flags & (req->terms.version == MCP_2026_07_28 ? METHOD_STATELESS : METHOD_HANDSHAKE)))
		return answer_refuse(s, req, RPC_METHOD_NOT_FOUND, NULL, "There is no method \"%.60s\" in protocol version %s.", name,
				     session_version_name(req->terms.version));
	method->run(s, req);
}
