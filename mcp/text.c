/*
 * Small helpers for the texts that tools answer with: see text.h.
 */
#include "mcp/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/base/utf8.h"

enum { TEXT_WORD_MAX = 200 };

static void add_clean(struct buf *out, const char *s, size_t n, bool keep_tabs)
{
	_cleanup_buf_ struct buf good = BUF_INIT(3 * n + 1);
	char shown[STR_SHOWN_BYTE_MAX];

	utf8_repair(&good, s, n);
	for (size_t i = 0; i < good.len; i++) {
		size_t len = str_show_byte(shown, good.p[i]);
		if (good.p[i] == '\t' && keep_tabs)
			buf_add_char(out, '\t');
		else
			buf_add(out, shown, len);
	}
	if (buf_error(&good) && !out->error)
		out->error = buf_error(&good);
}

void text_add_repaired(struct buf *out, const char *s, size_t n)
{
	if (n == 0)
		return; /* @s may be NULL, which has no end */
	const char *end = s + n;
	for (const char *nul; (nul = memchr(s, '\0', (size_t) (end - s))) != NULL; s = nul + 1) {
		utf8_repair(out, s, (size_t) (nul - s));
		buf_add_str(out, UTF8_REPLACEMENT);
	}
	utf8_repair(out, s, (size_t) (end - s));
}

void text_add_name(struct buf *out, const char *name)
{
	add_clean(out, name, strlen(name), false);
}

static bool is_plain(const char *s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,@%:=";

	return *s && *s != '-' && s[strspn(s, plain)] == '\0';
}

bool text_can_be_shown(const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char) s[i] < 0x20 || s[i] == 0x7F)
			return false;
	return utf8_is_valid(s, len);
}

void text_add_word(struct buf *out, const char *path)
{
	_cleanup_buf_ struct buf word = BUF_INIT(TEXT_WORD_MAX);
	bool shown = *path && strnlen(path, TEXT_WORD_MAX + 1) <= TEXT_WORD_MAX && text_can_be_shown(path);

	if (!shown || is_plain(path)) {
		buf_add_str(out, shown ? path : "FILE");
		return;
	}
	buf_add_str(&word, path[0] == '-' ? "'./" : "'");
	for (const char *p = path; *p; p++)
		buf_addf(&word, *p == '\'' ? "'\\%c'" : "%c", *p);
	buf_add_char(&word, '\'');
	buf_add_str(out, buf_error(&word) ? "FILE" : word.p);
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
