/*
 * Writing JSON text into a buffer: see jsonw.h.
 */
#include "runtime/base/jsonw.h"

#include <string.h>

#include "runtime/base/utf8.h"

/* Of a text there may be a million of these, so nothing is formatted. */
static void escape(struct buf *b, unsigned char c)
{
	static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt", digits[] = "0123456789abcdef";
	const char *at = c ? strchr(names, c) : NULL;
	const char number[] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 0xF] };
	const char letter[] = { '\\', at ? letters[at - names] : '\0' };

	if (c == 0)
		buf_add_str(b, UTF8_REPLACEMENT);
	else if (at)
		buf_add(b, letter, sizeof(letter));
	else
		buf_add(b, number, sizeof(number));
}

void jsonw_string(struct buf *b, const char *s, size_t len)
{
	const char *end = s + len;

	buf_add_char(b, '"');
	while (s < end) {
		const char *run = s;
		while (s < end && (unsigned char) *s >= 0x20 && *s != '"' && *s != '\\')
			s++;
		buf_add(b, run, (size_t) (s - run));
		if (s < end)
			escape(b, (unsigned char) *s++);
	}
	buf_add_char(b, '"');
}

void jsonw_str(struct buf *b, const char *s)
{
	jsonw_string(b, s, strlen(s));
}

void jsonw_name(struct buf *b, const char *name)
{
	if (b->len > 0 && b->p[b->len - 1] != '{')
		buf_add_char(b, ',');
	jsonw_str(b, name);
	buf_add_char(b, ':');
}

void jsonw_member(struct buf *b, const char *name, const char *text)
{
	jsonw_name(b, name);
	jsonw_str(b, text);
}
