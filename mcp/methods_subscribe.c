/*
 * resources/subscribe, resources/unsubscribe and subscriptions/listen. Runs on the event loop of cloche-mcp, without any
 * capability. What is declared stands with the other methods of resources (methods_resources.c).
 */
#include "mcp/listen.h"
#include "mcp/method.h"
#include "mcp/subscribe.h"

static void start_stream(struct server *s, struct request *req)
{
	listen_start(s, req, 0);
}

static const struct method methods[] = {
	{ "resources/subscribe", METHOD_HANDSHAKE, subscribe_add },
	{ "resources/unsubscribe", METHOD_HANDSHAKE, subscribe_remove },
	{ "subscriptions/listen", METHOD_STATELESS, start_stream },
	{ NULL },
};

const struct method_group methods_subscribe = { methods, NULL };
