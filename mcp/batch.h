/*
 * JSON-RPC batches of protocol version 2025-03-26: the answers of one array of requests, sent together when the last is
 * there.
 */
#pragma once

#include "mcp/out.h"
#include "mcp/rpc.h"
#include "runtime/base/buf.h"

struct batch;

/* A batch with one reference, the caller's. NULL when there is no memory. */
struct batch *batch_new(struct out *out);

struct batch *batch_ref(struct batch *b);

/* With the last reference, the answers go out as one line; a batch of notifications only sends nothing. */
void batch_unref(struct batch *b);

/*
 * Adds the answer to the request @id (NULL: an error without id), or an error when no more fit into one line. Empties
 * @json.
 */
void batch_add(struct batch *b, const char *id, struct buf *json);
