/*
 * A text as an array of lines: see lines.h. Pure functions.
 */
#include "mcp/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"

enum { LINES_TAB = 8 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

static struct line make_line(const char *p, size_t len)
{
	struct line l = { .p = p, .len = len };
	size_t end = len;

	while (end > 0 && is_blank(p[end - 1]))
		end--;
	while (l.indent < end && is_blank(p[l.indent]))
		l.indent++;
	l.core = end - l.indent;
	if (l.core == 0) /* all of it but the line end is indentation */
		while (l.indent < len && p[l.indent] != '\n' && p[l.indent] != '\r')
			l.indent++;
	l.hash = HASH_BEGIN;
	for (size_t i = 0; i < l.core; i++)
		l.hash = hash_add(l.hash, (unsigned char) p[l.indent + i]);
	return l;
}

int lines_split(struct lines *l, const char *text, size_t len)
{
	size_t count = 0;
	const char *end = text + len;

	*l = (struct lines) { .at = NULL };
	for (const char *p = text; p < end; count++) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		p = newline ? newline + 1 : end;
	}
	if (count > LINES_MAX)
		return -E2BIG;
	l->at = calloc(count + 1, sizeof(l->at[0]));
	if (!l->at)
		return -ENOMEM;
	for (const char *p = text; p < end;) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		size_t n = newline ? (size_t) (newline - p) + 1 : (size_t) (end - p);
		l->at[l->count++] = make_line(p, n);
		p += n;
	}
	return 0;
}

void lines_done(struct lines *l)
{
	free(l->at);
	*l = (struct lines) { .at = NULL };
}

bool lines_same_core(const struct line *a, const struct line *b)
{
	return a->hash == b->hash && a->core == b->core && memcmp(a->p + a->indent, b->p + b->indent, a->core) == 0;
}

size_t lines_columns(const struct line *l)
{
	size_t columns = 0;

	for (size_t i = 0; i < l->indent; i++)
		columns = l->p[i] == '\t' ? (columns / LINES_TAB + 1) * LINES_TAB : columns + 1;
	return columns;
}
