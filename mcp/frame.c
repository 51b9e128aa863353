/*
 * Newline framing of the client's stream: see frame.h. Runs in cloche-mcp, without any capability; sees hostile bytes.
 */
#include "mcp/frame.h"

#include <string.h>

enum { FRAME_KEEP_CAPACITY = 256 * 1024 }; /* a larger buffer is given back after its line */

void frame_init(struct frame *f, size_t max)
{
	*f = (struct frame) { .partial = BUF_INIT(max), .max = max };
}

void frame_done(struct frame *f)
{
	buf_done(&f->partial);
}

/* Forgets the line that the previous call returned. */
static void begin(struct frame *f)
{
	if (!f->returned)
		return;
	f->returned = false;
	if (f->partial.cap > FRAME_KEEP_CAPACITY)
		buf_done(&f->partial);
	buf_clear(&f->partial);
}

static void keep(struct frame *f, const char *data, size_t len)
{
	if (f->swallowing)
		return;
	buf_add(&f->partial, data, len);
	if (!buf_error(&f->partial))
		return;
	/* Too long. Complete the head from what is here, then drop the rest of the line. */
	f->swallowing = true;
	f->partial.error = 0;
	size_t head = MIN((size_t) FRAME_HEAD, f->max);
	if (f->partial.len < head)
		buf_add(&f->partial, data, MIN(len, head - f->partial.len));
	buf_truncate(&f->partial, MIN(f->partial.len, head));
	f->partial.error = 0;
}

enum frame_event frame_take(struct frame *f, const char **data, size_t *len, const char **ret_line, size_t *ret_len)
{
	begin(f);
	const char *start = *data;
	const char *newline = memchr(start, '\n', *len);
	size_t n = newline ? (size_t) (newline - start) : *len;

	*data += newline ? n + 1 : n;
	*len -= newline ? n + 1 : n;
	if (newline && f->partial.len == 0 && !f->swallowing && n <= f->max) {
		*ret_line = start; /* the common case: no copy */
		*ret_len = n;
		return FRAME_LINE;
	}
	keep(f, start, n);
	if (!newline)
		return FRAME_MORE;
	f->returned = true;
	*ret_line = buf_cstr(&f->partial);
	*ret_len = f->partial.len;
	if (!f->swallowing)
		return FRAME_LINE;
	f->swallowing = false;
	return FRAME_TOO_LONG;
}
