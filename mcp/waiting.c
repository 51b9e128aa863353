/*
 * Requests that wait: see waiting.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/waiting.h"

#include <string.h>

void waiting_add(struct server *s, struct request *req)
{
	req->next = NULL;
	*s->waiting_last = req;
	s->waiting_last = &req->next;
	s->waiting_count++;
}

/* Takes the request behind @link out of the list. */
static struct request *take(struct server *s, struct request **link)
{
	struct request *req = *link;

	*link = req->next;
	if (!*link)
		s->waiting_last = link;
	s->waiting_count--;
	return req;
}

struct request *waiting_take(struct server *s)
{
	return take(s, &s->waiting);
}

bool waiting_has(const struct server *s, const char *id)
{
	for (const struct request *req = s->waiting; req; req = req->next)
		if (strcmp(req->rpc.id, id) == 0)
			return true;
	return false;
}

void waiting_forget(struct server *s, const char *id)
{
	for (struct request **link = &s->waiting; *link; link = &(*link)->next) {
		if (strcmp((*link)->rpc.id, id) != 0)
			continue;
		request_free(s, take(s, link));
		return;
	}
}
