/*
 * File name patterns: see glob.h. Pure functions over memory; patterns and names are hostile.
 *
 * Braces are expanded into alternatives first; an alternative is split into components. Both a "*" within a component
 * and a "**" among components match greedily with one point to fall back to (the last star): what stood before it can
 * stay as it was matched, so nothing is ever tried twice over and the work is bounded by the product of the lengths.
 */
#include "mcp/glob.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/utf8.h"

/* --- one component ------------------------------------------------------------------------------------------------ */

/* One character, or one byte where it is no UTF-8 (then a value no character has). */
static uint32_t next_char(const char **s, size_t n)
{
	uint32_t cp;
	size_t len = utf8_decode(*s, n, &cp);

	if (len == 0) {
		cp = 0x110000u + (unsigned char) **s;
		len = 1;
	}
	*s += len;
	return cp;
}

/*
 * The end of the set that begins at @p ('['), behind its ']', or NULL when it has none: then '[' is an ordinary
 * character.
 */
static const char *set_end(const char *p)
{
	p++;
	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : NULL;
}

/* A character of a set, with '\' taken off. */
static uint32_t set_char(const char **p, const char *end)
{
	if (**p == '\\' && *p + 1 < end)
		(*p)++;
	return next_char(p, (size_t) (end - *p));
}

/* Whether @c is in the set from @p ('[') to @end (behind ']'). */
static bool set_has(const char *p, const char *end, uint32_t c)
{
	const char *last = end - 1;
	bool negated = p[1] == '!' || p[1] == '^', found = false;

	p += negated ? 2 : 1;
	while (p < last) {
		uint32_t low = set_char(&p, last), high = low;
		if (last - p >= 2 && *p == '-') {
			p++;
			high = set_char(&p, last);
		}
		found |= low <= c && c <= high;
	}
	return found != negated;
}

/* Matches one pattern element other than '*' with one character; moves both on. */
static bool match_one(const char **pattern, const char **s, size_t n)
{
	const char *p = *pattern, *end;
	uint32_t c = next_char(s, n);

	if (*p == '?') {
		*pattern = p + 1;
		return true;
	}
	if (*p == '[' && (end = set_end(p))) {
		*pattern = end;
		return set_has(p, end, c);
	}
	if (*p == '\\' && p[1])
		p++;
	uint32_t want = next_char(&p, strlen(p));
	*pattern = p;
	return want == c;
}

/* Whether the @n bytes at @s match @pattern as a whole. */
static bool match_text(const char *pattern, const char *s, size_t n)
{
	const char *end = s + n, *star = NULL, *star_s = NULL;

	while (s < end) {
		if (*pattern == '*') {
			star = ++pattern;
			star_s = s;
			continue;
		}
		if (*pattern && match_one(&pattern, &s, (size_t) (end - s)))
			continue;
		if (!star)
			return false;
		(void) next_char(&star_s, (size_t) (end - star_s));
		pattern = star;
		s = star_s;
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* --- components --------------------------------------------------------------------------------------------------- */

static const char *component(const struct glob_alternative *a, size_t i)
{
	return a->text + a->start[i];
}

static bool is_any_depth(const struct glob_alternative *a, size_t i)
{
	return strcmp(component(a, i), "**") == 0;
}

/* The end of the component at @path. */
static const char *path_end(const char *path)
{
	return path + strcspn(path, "/");
}

static const char *path_next(const char *path)
{
	const char *end = path_end(path);

	return *end ? end + 1 : end;
}

static bool match_path(const struct glob_alternative *a, const char *path)
{
	size_t i = 0, star = SIZE_MAX;
	const char *star_path = NULL;

	while (*path) {
		if (i < a->count && is_any_depth(a, i)) {
			if (i + 1 == a->count)
				return true;
			star = ++i;
			star_path = path;
			continue;
		}
		if (i < a->count && match_text(component(a, i), path, (size_t) (path_end(path) - path))) {
			path = path_next(path);
			i++;
			continue;
		}
		if (star == SIZE_MAX)
			return false;
		star_path = path_next(star_path);
		path = star_path;
		i = star;
	}
	return i == a->count;
}

static bool below_alternative(const struct glob_alternative *a, const char *dir)
{
	size_t i = 0;

	for (; *dir; dir = path_next(dir), i++) {
		if (i + 1 >= a->count || is_any_depth(a, i))
			return i < a->count && is_any_depth(a, i);
		if (!match_text(component(a, i), dir, (size_t) (path_end(dir) - dir)))
			return false;
	}
	return i < a->count;
}

bool glob_match(const struct glob *g, const char *path)
{
	for (size_t i = 0; i < g->count; i++)
		if (match_path(&g->alt[i], path))
			return true;
	return false;
}

bool glob_may_match_below(const struct glob *g, const char *dir)
{
	for (size_t i = 0; i < g->count; i++)
		if (below_alternative(&g->alt[i], dir))
			return true;
	return false;
}

bool glob_excludes(const struct glob *g, const char *path)
{
	if (glob_match(g, path))
		return true;
	for (size_t i = 0; i < g->count; i++)
		if (match_text(g->alt[i].whole, path, strlen(path)))
			return true;
	return false;
}

/* --- compiling ---------------------------------------------------------------------------------------------------- */

/* Finds the first brace pair of @s with a comma in it. Returns the '{' or NULL; *@ret_end is the matching '}'. */
static const char *find_braces(const char *s, const char **ret_end)
{
	for (const char *open = s; *open; open++) {
		int depth = 0;
		bool comma = false;

		if (*open == '\\' && open[1]) {
			open++;
			continue;
		}
		if (*open != '{')
			continue;
		for (const char *p = open; *p; p++) {
			if (*p == '\\' && p[1])
				p++;
			else if (*p == '{')
				depth++;
			else if (*p == ',' && depth == 1)
				comma = true;
			else if (*p == '}' && --depth == 0) {
				*ret_end = p;
				if (comma)
					return open;
				break;
			}
		}
	}
	return NULL;
}

/* Appends to @list the texts that the first braces of @s stand for, each NUL-terminated. Returns their number. */
static size_t expand_once(struct buf *list, const char *s, const char *open, const char *close)
{
	const char *from = open + 1;
	size_t count = 0;
	int depth = 0;

	for (const char *p = open + 1; p <= close; p++) {
		if (*p == '\\' && p < close) {
			p++;
			continue;
		}
		depth += *p == '{';
		bool end = p == close || (*p == ',' && depth == 0);
		depth -= *p == '}';
		if (!end)
			continue;
		buf_add(list, s, (size_t) (open - s));
		buf_add(list, from, (size_t) (p - from));
		buf_add_str(list, close + 1);
		buf_add_char(list, '\0');
		from = p + 1;
		count++;
	}
	return count;
}

/* Splits @a->whole into components. Returns what is wrong with it, or NULL. */
static const char *split(struct glob_alternative *a)
{
	char *p = a->text;
	bool slash = strchr(p, '/') != NULL;

	for (;;) {
		p += strspn(p, "/");
		if (*p == '\0')
			break;
		char *end = p + strcspn(p, "/");
		bool last = *end == '\0';
		*end = '\0';
		if (strcmp(p, "..") == 0)
			return "Path traversal or absolute paths are not allowed. Give a pattern relative to the "
			       "workspace, such as src/**/*.c";
		bool repeated = a->count > 0 && strcmp(p, "**") == 0 && is_any_depth(a, a->count - 1u);
		if (strcmp(p, ".") != 0 && !repeated) {
			if (a->count == GLOB_COMPONENTS_MAX - 2)
				return "it has too many components";
			a->start[a->count++] = (unsigned short) (p - a->text);
		}
		p = last ? end : end + 1;
	}
	if (a->count == 0)
		return "it names no file. Use ** for all files";
	return slash ? NULL : "";
}

/* Puts "**" in front of the components (a name at any depth) or behind them (everything below). */
static void add_any_depth(struct glob_alternative *a, size_t at)
{
	size_t end = strlen(a->whole) + 1;

	memmove(a->start + at + 1, a->start + at, (a->count - at) * sizeof(a->start[0]));
	memcpy(a->text + end, "**", 3);
	a->start[at] = (unsigned short) end;
	a->count++;
}

static int add_alternative(struct glob *g, const char *text, const char **ret_why)
{
	struct glob_alternative *grown = realloc(g->alt, (g->count + 1) * sizeof(*grown));
	size_t len = strlen(text);

	if (!grown)
		return -ENOMEM;
	g->alt = grown;
	struct glob_alternative *a = &g->alt[g->count];
	*a = (struct glob_alternative) { .text = malloc(len + 1 + 3), .whole = strdup(text) };
	g->count++;
	if (!a->text || !a->whole)
		return -ENOMEM;
	memcpy(a->text, text, len + 1);
	const char *why = split(a);
	if (why && *why) {
		*ret_why = why;
		return -EINVAL;
	}
	if (why)
		add_any_depth(a, 0);
	else if (text[len - 1] == '/')
		add_any_depth(a, a->count);
	return 0;
}

static_assert(GLOB_PATTERN_MAX == 1024 && GLOB_ALTERNATIVES_MAX == 128, "two messages below name these numbers");

static const char *check_pattern(const char *pattern)
{
	if (pattern[0] == '\0')
		return "it is empty. Use *.py for a kind of file or ** for all files";
	if (strlen(pattern) > GLOB_PATTERN_MAX)
		return "it is longer than 1024 bytes";
	if (pattern[0] == '/' || pattern[0] == '~')
		return "Path traversal or absolute paths are not allowed. Give a pattern relative to the workspace, "
		       "such as src/**/*.c";
	return NULL;
}

int glob_compile(struct glob *g, const char *pattern, const char **ret_why)
{
	_cleanup_buf_ struct buf todo = BUF_INIT((size_t) GLOB_ALTERNATIVES_MAX * 2 * (GLOB_PATTERN_MAX + 1));
	size_t waiting = 1;
	int r = 0;

	*g = (struct glob) { .alt = NULL };
	*ret_why = check_pattern(pattern);
	if (*ret_why)
		return -EINVAL;
	buf_add(&todo, pattern, strlen(pattern) + 1);
	/* A queue of texts: each gives way to those its first braces stand for, until there are none. */
	for (size_t at = 0; waiting > 0 && r == 0; waiting--) {
		_cleanup_buf_ struct buf text = BUF_INIT(GLOB_PATTERN_MAX);
		buf_add_str(&text, todo.p + at);
		at += text.len + 1;
		const char *close, *open = find_braces(buf_cstr(&text), &close);
		if (open)
			waiting += expand_once(&todo, text.p, open, close);
		else
			r = add_alternative(g, buf_cstr(&text), ret_why);
		if (buf_error(&todo) == -ENOMEM || buf_error(&text) == -ENOMEM)
			r = -ENOMEM;
		else if (buf_error(&todo) || waiting + g->count > GLOB_ALTERNATIVES_MAX + 1)
			r = -E2BIG;
	}
	if (r == -E2BIG)
		*ret_why = "its braces stand for more than 128 patterns. Search in several calls";
	if (r == -ENOMEM)
		*ret_why = "out of memory";
	if (r < 0)
		glob_done(g);
	return r;
}

void glob_done(struct glob *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->alt[i].text);
		free(g->alt[i].whole);
	}
	free(g->alt);
	*g = (struct glob) { .alt = NULL };
}
