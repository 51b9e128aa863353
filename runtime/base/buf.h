/*
 * A growable byte buffer with a mandatory maximum.
 *
 * The buffer is always NUL-terminated behind its length (so b.p is a C string when it holds no NUL byte), and it may hold
 * any bytes. Failure is sticky: after an allocation failure or when the maximum would be exceeded, nothing more is added
 * and buf_error() tells why, so that a chain of additions is checked once at its end. Nothing is ever cut silently.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "runtime/base/attr.h"

struct buf {
	char *p;    /* NULL only while empty */
	size_t len; /* bytes in use, without the terminator */
	size_t cap;
	size_t max; /* len never exceeds this */
	int error;  /* 0, -ENOMEM or -E2BIG; sticky */
};

/* An empty buffer that may grow to @max bytes. Use as an initialiser: struct buf b = BUF_INIT(4096); */
#define BUF_INIT(maximum) { .p = NULL, .len = 0, .cap = 0, .max = (maximum), .error = 0 }

void buf_done(struct buf *b);
#define _cleanup_buf_ _cleanup_(buf_done)

void buf_clear(struct buf *b); /* empties it and forgets the error; keeps the memory */

void buf_add(struct buf *b, const void *data, size_t len);
void buf_add_str(struct buf *b, const char *s);
void buf_add_char(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) _printf_(2, 0);

/* Makes room for @len more bytes and returns where they go (set b->len yourself afterwards), or NULL. */
char *buf_reserve(struct buf *b, size_t len);

/*
 * Appends what @fd holds from its position to its end. 0, -EFBIG when the buffer is full (there may be more), or another negative
 * errno.
 */
int buf_read_fd(struct buf *b, int fd) _must_check_;

/* Removes the first @len bytes. */
void buf_consume(struct buf *b, size_t len);

/* Shortens to @len bytes. */
void buf_truncate(struct buf *b, size_t len);

static inline int buf_error(const struct buf *b)
{
	return b->error;
}

/* The content as a C string; "" while nothing was added. */
static inline const char *buf_cstr(const struct buf *b)
{
	return b->p ? b->p : "";
}

/* Hands the memory over (NUL-terminated, release with free()) and leaves an empty buffer. NULL when failed. */
char *buf_take(struct buf *b, size_t *ret_len) _must_check_;
