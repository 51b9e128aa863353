/*
 * JSON-RPC batches: see batch.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/batch.h"

#include <stdlib.h>

enum { BATCH_RESERVE = 256 * 1024 }; /* room for an error in place of every answer */

struct batch {
	struct out *out;
	unsigned int refs;
	struct buf answers; /* "[" and the answers so far */
};

struct batch *batch_new(struct out *out)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct batch) { .out = out, .refs = 1, .answers = BUF_INIT(OUT_MESSAGE_MAX) };
	buf_add_char(&b->answers, '[');
	return b;
}

struct batch *batch_ref(struct batch *b)
{
	if (b)
		b->refs++;
	return b;
}

void batch_unref(struct batch *b)
{
	if (!b || --b->refs > 0)
		return;
	if (b->answers.len > 1) {
		buf_add_char(&b->answers, ']');
		if (out_message(b->out, &b->answers) < 0) {
			rpc_write_error(&b->answers, NULL, RPC_INTERNAL_ERROR,
					"The answers of this batch could not be sent.", NULL);
			(void) out_message(b->out, &b->answers);
		}
	}
	buf_done(&b->answers);
	free(b);
}

void batch_add(struct batch *b, const char *id, struct buf *json)
{
	if (b->answers.len > 1)
		buf_add_char(&b->answers, ',');
	if (buf_error(json) || b->answers.len + json->len > OUT_MESSAGE_MAX - BATCH_RESERVE)
		rpc_write_error(&b->answers, id, RPC_INTERNAL_ERROR,
				"The answers of this batch do not fit into one line.", NULL);
	else
		buf_add(&b->answers, json->p, json->len);
	buf_clear(json);
}
