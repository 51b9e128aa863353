/*
 * The methods a client may call.
 */
#pragma once

#include "mcp/server.h"

/* Serves @req and takes it over; the answer is sent now or later. */
void method_serve(struct server *s, struct request *req);

/* Whether @m starts a tool, which takes time and memory; every other method is answered at once. */
bool method_is_call(const struct rpc *m);

/* A message without id. Never answered. */
void method_notify(struct server *s, const struct rpc *m);
