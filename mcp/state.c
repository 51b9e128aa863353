/*
 * The life of requests, and what is found out once: see state.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/state.h"

#include <stdlib.h>

#include "mcp/batch.h"
#include "mcp/log.h"

const struct facts *state_facts(struct server *s)
{
	if (!s->facts_known)
		facts_find(&s->facts, &s->facts_files, s->config->root_name, s->root_fd);
	s->facts_known = true;
	return &s->facts;
}

struct request *request_new(struct server *s, struct batch *batch)
{
	struct request *req = calloc(1, sizeof(*req));

	if (!req) {
		log_line(MCP_LOG_ERROR, "dropped a message: out of memory");
		return NULL;
	}
	req->batch = batch_ref(batch);
	req->terms = session_terms(&s->session);
	return req;
}

void request_free(struct server *s, struct request *req)
{
	s->held -= req->rpc.size;
	rpc_done(&req->rpc);
	batch_unref(req->batch);
	free(req);
}
