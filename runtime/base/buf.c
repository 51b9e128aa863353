/*
 * A growable byte buffer with a mandatory maximum: see buf.h.
 */
#include "runtime/base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUF_FIRST_CAPACITY = 256, BUF_READ_STEP = 64 * 1024 };

void buf_done(struct buf *b)
{
	free(b->p);
	b->p = NULL;
	b->len = b->cap = 0;
	b->error = 0;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->p)
		b->p[0] = '\0';
}

char *buf_reserve(struct buf *b, size_t len)
{
	if (b->error)
		return NULL;
	if (len > b->max - b->len) {
		b->error = -E2BIG;
		return NULL;
	}
	size_t need = b->len + len + 1;
	if (need > b->cap) {
		size_t cap = b->cap ? b->cap : BUF_FIRST_CAPACITY;
		while (cap < need)
			cap = cap > SIZE_MAX / 2 ? need : cap * 2;
		/* Never hold much more than the maximum asks for. */
		if (cap > b->max && b->max < SIZE_MAX)
			cap = MAX(need, b->max + 1);
		char *p = realloc(b->p, cap);
		if (!p) {
			b->error = -ENOMEM;
			return NULL;
		}
		b->p = p;
		b->cap = cap;
	}
	return b->p + b->len;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	char *to = buf_reserve(b, len);

	if (!to)
		return;
	if (len > 0)
		memcpy(to, data, len);
	b->len += len;
	b->p[b->len] = '\0';
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0) {
		b->error = -EINVAL;
	} else {
		char *to = buf_reserve(b, (size_t) n);
		if (to) {
			(void) vsnprintf(to, (size_t) n + 1, fmt, again);
			b->len += (size_t) n;
		}
	}
	va_end(again);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

int buf_read_fd(struct buf *b, int fd)
{
	for (;;) {
		size_t room = MIN((size_t) BUF_READ_STEP, b->max - b->len);
		char *to = room ? buf_reserve(b, room) : NULL;
		if (!to)
			return room ? buf_error(b) : -EFBIG;
		ssize_t n = read(fd, to, room);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		b->len += (size_t) n;
		to[n] = '\0';
		if (n == 0)
			return 0;
	}
}

void buf_consume(struct buf *b, size_t len)
{
	if (len >= b->len) {
		buf_truncate(b, 0);
		return;
	}
	memmove(b->p, b->p + len, b->len - len + 1);
	b->len -= len;
}

void buf_truncate(struct buf *b, size_t len)
{
	if (len < b->len || (len == 0 && b->p)) {
		b->len = len;
		b->p[len] = '\0';
	}
}

char *buf_take(struct buf *b, size_t *ret_len)
{
	if (b->error || !buf_reserve(b, 0))
		return NULL;
	b->p[b->len] = '\0';
	if (ret_len)
		*ret_len = b->len;
	b->len = b->cap = 0;
	return TAKE_PTR(b->p);
}
