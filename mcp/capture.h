/*
 * What is kept of a command's output: the head up to a maximum, a ring with the tail, and the total.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"

struct capture {
	struct buf head;
	char *ring; /* allocated when the head is full */
	size_t ring_cap;
	uint64_t total;    /* bytes seen */
	uint64_t newlines; /* among them */
};

void capture_init(struct capture *c, size_t head_max, size_t tail_max);
void capture_done(struct capture *c);
void capture_add(struct capture *c, const char *data, size_t len);

/*
 * Moves the result out. When at most head_max + tail_max bytes were seen, @head receives all of them and @tail stays
 * empty; else @head receives the first head_max and @tail the last tail_max bytes.
 */
void capture_finish(struct capture *c, struct buf *head, struct buf *tail);

/* As capture_finish(), but with copies, while more may come: which the caller releases. */
void capture_peek(const struct capture *c, struct buf *head, struct buf *tail);
