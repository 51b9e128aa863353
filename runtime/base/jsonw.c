/*
 * Writing JSON text into a buffer: see jsonw.h.
 */
#include "runtime/base/jsonw.h"

#include <string.h>

#include "runtime/base/utf8.h"

static void escape(struct buf *b, unsigned char c)
{
	static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *at = c ? strchr(names, c) : NULL;

	if (c == 0)
		buf_add_str(b, UTF8_REPLACEMENT);
	else if (at)
		buf_addf(b, "\\%c", letters[at - names]);
	else
		buf_addf(b, "\\u%04x", c);
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
