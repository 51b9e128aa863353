/*
 * Base64 (RFC 4648, section 4) for bytes that travel in JSON.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/buf.h"

/* Length of @n bytes in base64, padding included. */
static inline size_t base64_length(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* Adds the @n bytes at @data, with padding and without line breaks. */
void base64_add(struct buf *b, const void *data, size_t n);
