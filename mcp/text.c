/*
 * Small helpers for the texts that tools answer with: see text.h.
 */
#include "mcp/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/utf8.h"

static void add_clean(struct buf *out, const char *s, size_t n, bool keep_tabs)
{
	_cleanup_buf_ struct buf good = BUF_INIT(3 * n + 1);

	utf8_repair(&good, s, n);
	for (size_t i = 0; i < good.len; i++) {
		unsigned char c = (unsigned char) good.p[i];
		if ((c < 0x20 && !(c == '\t' && keep_tabs)) || c == 0x7F)
			buf_addf(out, "\\x%02x", c);
		else
			buf_add_char(out, (char) c);
	}
	if (buf_error(&good) && !out->error)
		out->error = buf_error(&good);
}

void text_add_name(struct buf *out, const char *name)
{
	add_clean(out, name, strlen(name), false);
}

void text_add_line(struct buf *out, const char *s, size_t n, size_t max)
{
	if (n > 0 && s[n - 1] == '\n')
		n--;
	if (n > 0 && s[n - 1] == '\r')
		n--;
	add_clean(out, s, n > max ? utf8_floor(s, max) : n, true);
	if (n > max)
		buf_add_str(out, "...");
}

void text_format(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(to, size, fmt, ap);
	va_end(ap);
	if (len < 0)
		to[0] = '\0';
	else if ((size_t) len >= size)
		to[utf8_floor(to, size - 1)] = '\0';
}

bool text_is_binary(const char *s, size_t n)
{
	return n > 0 && memchr(s, '\0', MIN(n, (size_t) TEXT_PROBE)) != NULL;
}

size_t text_line_at(const char *s, size_t at)
{
	size_t line = 1;

	for (const char *p = s; (p = memchr(p, '\n', (size_t) (s + at - p))) != NULL; p++)
		line++;
	return line;
}
