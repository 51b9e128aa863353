/*
 * Writing JSON text into a buffer. The writers escape what RFC 8259 demands and emit neither a line break nor a NUL; bytes that
 * are not UTF-8 pass through (utf8_repair() is for those).
 */
#pragma once

#include <stddef.h>

#include "runtime/base/buf.h"

/* A quoted string of @len bytes; NUL becomes U+FFFD. */
void jsonw_string(struct buf *b, const char *s, size_t len);
void jsonw_str(struct buf *b, const char *s);

/* "name": in front of a value, preceded by a comma unless it is the first member. */
void jsonw_name(struct buf *b, const char *name);

/* "name":"text", preceded by a comma unless it is the first member. */
void jsonw_member(struct buf *b, const char *name, const char *text);
