/*
 * Newline framing with a maximum: cuts a byte stream into lines.
 *
 * A line that grows past FRAME_LINE_MAX is swallowed to its newline without being kept; its first FRAME_HEAD bytes
 * survive, so that the answer can name the request it belongs to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/buf.h"

enum {
	FRAME_LINE_MAX = 16 * 1024 * 1024, /* bytes of a line without its newline */
	FRAME_HEAD = 64 * 1024,            /* what is kept of a longer one */
};

enum frame_event {
	FRAME_MORE,     /* every byte was taken, no line has ended */
	FRAME_LINE,     /* a whole line */
	FRAME_TOO_LONG, /* the head of a line that was too long */
};

struct frame {
	struct buf partial; /* the beginning of a line whose end has not arrived */
	bool swallowing;
	bool returned; /* partial holds the line returned last */
	size_t max;
};

void frame_init(struct frame *f, size_t max);
void frame_done(struct frame *f);

/*
 * Takes bytes from the front of *@data (*@len of them), moving both on. After FRAME_LINE and FRAME_TOO_LONG, *@ret_line
 * and *@ret_len name the line without its newline; it is valid until the next call. Out of memory counts as too long.
 */
enum frame_event frame_take(struct frame *f, const char **data, size_t *len, const char **ret_line, size_t *ret_len);
