/*
 * Base64: see base64.h. Runs in cloche-mcp, on any thread, without any capability.
 */
#include "mcp/base64.h"

#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *b, const void *data, size_t n)
{
	const unsigned char *in = data;
	char *out = n > 0 ? buf_reserve(b, base64_length(n)) : NULL;

	if (!out)
		return;
	b->len += base64_length(n);
	for (; n >= 3; n -= 3, in += 3, out += 4) {
		uint32_t bits = (uint32_t) in[0] << 16 | (uint32_t) in[1] << 8 | in[2];
		for (int i = 0; i < 4; i++)
			out[i] = digits[bits >> (18 - 6 * i) & 63];
	}
	if (n > 0) {
		uint32_t bits = (uint32_t) in[0] << 16 | (n > 1 ? (uint32_t) in[1] << 8 : 0);
		out[0] = digits[bits >> 18];
		out[1] = digits[bits >> 12 & 63];
		out[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
		out[3] = '=';
		out += 4;
	}
	*out = '\0';
}
