/*
 * The one writer of the client's stream.
 *
 * Messages are queued and written without ever blocking and without O_NONBLOCK: the file description may be shared with
 * the client, and a flag set on it would change the client's own writes. Sockets are written with MSG_DONTWAIT, pipes
 * at most PIPE_BUF bytes at a time after poll(2) said that so much fits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mcp/loop.h"
#include "runtime/base/buf.h"

enum {
	OUT_MESSAGE_MAX = 4 * 1024 * 1024, /* bytes of one line: some clients stop at 10 MiB */
	OUT_CONGESTED = 1024 * 1024,       /* queued bytes from which on no new work is begun */
};

struct out_item;

enum out_kind { OUT_SOCKET, OUT_PIPE, OUT_FILE };

struct out {
	struct loop *loop;
	struct loop_source source;
	enum out_kind kind;
	struct out_item *first, **last;
	size_t queued; /* bytes not yet written */
	bool waiting;  /* for EPOLLOUT */
	bool closed;   /* nobody reads any more, or writing failed */
};

/* @fd stays the caller's. 0 or -errno. */
int out_init(struct out *o, struct loop *loop, int fd) _must_check_;
void out_done(struct out *o);

/*
 * Queues @json, one whole message, as a line. Invalid UTF-8 is repaired, and DEL, U+0085, U+2028 and U+2029 are
 * escaped, so that every reader sees one line. The buffer is emptied. -EMSGSIZE: it is longer than OUT_MESSAGE_MAX and
 * was not queued.
 */
int out_message(struct out *o, struct buf *json);

/* True while the reader does not keep up: optional messages are left out then, and new requests wait. */
static inline bool out_congested(const struct out *o)
{
	return o->queued >= OUT_CONGESTED;
}
