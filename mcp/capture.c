/*
 * What is kept of a command's output: see capture.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/capture.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/attr.h"

void capture_init(struct capture *c, size_t head_max, size_t tail_max)
{
	*c = (struct capture) { .head = BUF_INIT(head_max), .ring_cap = tail_max };
}

void capture_done(struct capture *c)
{
	buf_done(&c->head);
	free(c->ring);
	c->ring = NULL;
}

void capture_add(struct capture *c, const char *data, size_t len)
{
	size_t to_head = MIN(len, c->head.max - c->head.len);
	uint64_t at = c->total > c->head.max ? c->total - c->head.max : 0; /* position behind the head */

	c->total += len;
	for (const char *p = data, *end = data + len; (p = memchr(p, '\n', (size_t) (end - p))) != NULL; p++)
		c->newlines++;
	if (to_head > 0)
		buf_add(&c->head, data, to_head);
	data += to_head;
	len -= to_head;
	if (len == 0 || c->ring_cap == 0)
		return;
	if (!c->ring)
		c->ring = calloc(1, c->ring_cap);
	if (!c->ring)
		return; /* the tail is lost, which its length tells */
	if (len > c->ring_cap) {
		at += len - c->ring_cap;
		data += len - c->ring_cap;
		len = c->ring_cap;
	}
	size_t from = (size_t) (at % c->ring_cap);
	size_t first = MIN(len, c->ring_cap - from);
	memcpy(c->ring + from, data, first);
	memcpy(c->ring, data + first, len - first);
}

/* Adds what lies behind the head. */
static void add_ring(const struct capture *c, struct buf *head, struct buf *tail)
{
	uint64_t beyond = c->total - MIN(c->total, (uint64_t) c->head.max);

	*tail = (struct buf) BUF_INIT(c->ring_cap);
	if (beyond == 0 || !c->ring)
		return;
	if (beyond <= c->ring_cap) {
		head->max += c->ring_cap;
		buf_add(head, c->ring, (size_t) beyond);
		return;
	}
	size_t from = (size_t) (beyond % c->ring_cap);
	buf_add(tail, c->ring + from, c->ring_cap - from);
	buf_add(tail, c->ring, from);
}

void capture_finish(struct capture *c, struct buf *head, struct buf *tail)
{
	*head = c->head;
	c->head = (struct buf) BUF_INIT(c->head.max);
	add_ring(c, head, tail);
}

void capture_peek(const struct capture *c, struct buf *head, struct buf *tail)
{
	*head = (struct buf) BUF_INIT(c->head.max);
	buf_add(head, buf_cstr(&c->head), c->head.len);
	add_ring(c, head, tail);
}
