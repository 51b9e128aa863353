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

enum { REQUEST_SLIM_SIZE = 2 * SCAN_RAW_MAX }; /* an id and a progress token */

void request_slim(struct server *s, struct request *req)
{
	cJSON_Delete(req->rpc.tree);
	req->rpc.tree = NULL;
	req->rpc.params = NULL;
	req->rpc.method = NULL;
	s->held -= req->rpc.size;
	req->rpc.size = MIN(req->rpc.size, (size_t) REQUEST_SLIM_SIZE);
	s->held += req->rpc.size;
}

void request_free(struct server *s, struct request *req)
{
	s->held -= req->rpc.size;
	rpc_done(&req->rpc);
	batch_unref(req->batch);
	free(req);
}
