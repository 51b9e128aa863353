/*
 * Finds a table and a key in TOML: see toml_scan.h. Runs in cloche-compile, which has locked itself in.
 *
 * Nothing is built: each function gets a place in the text and says where what begins there ends. A path is the names of its keys,
 * each with a NUL behind it, so that to compare two is to compare bytes.
 */
#include "runtime/compile/toml_scan.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/base/utf8.h"
#include "runtime/compile/edits.h"

struct scan {
	struct toml_text t;
	const struct toml_path *table, *key;
	struct toml_found *found;
	struct toml_path current; /* of the last [header] */
};

static int scan_value(struct scan *s, size_t at, const struct toml_path *path, unsigned int depth, size_t *ret);
static int scan_pair(struct scan *s, size_t at, const struct toml_path *prefix, unsigned int depth, size_t *ret);

/* --- paths ------------------------------------------------------------------------------------------------------------- */

static void path_add_byte(struct toml_path *path, char c)
{
	if (path->len < TOML_PATH_MAX - 1)
		path->names[path->len++] = c;
	else
		path->len = TOML_PATH_MAX;
}

void toml_path_add(struct toml_path *path, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		path_add_byte(path, name[i]);
	path_add_byte(path, '\0');
}

static bool same(const struct toml_path *a, const struct toml_path *b)
{
	return a->len < TOML_PATH_MAX && a->len == b->len && memcmp(a->names, b->names, a->len) == 0;
}

/* Whether @path lies in the table @table, however deep. */
static bool is_below(const struct toml_path *path, const struct toml_path *table)
{
	return table->len < path->len && table->len < TOML_PATH_MAX && memcmp(path->names, table->names, table->len) == 0;
}

/* --- the small parts --------------------------------------------------------------------------------------------------- */

static int wrong(const struct scan *s, size_t at, const char *what)
{
	return err_set(s->t.err, ERR_USAGE, EINVAL, "line %u: %s", edits_line(s->t.p, MIN(at, s->t.len)), what);
}

static char peek(const struct scan *s, size_t at)
{
	return at < s->t.len ? s->t.p[at] : '\0';
}

static bool looking_at(const struct scan *s, size_t at, const char *what)
{
	size_t len = strlen(what);

	return s->t.len - at >= len && memcmp(s->t.p + at, what, len) == 0;
}

static size_t skip_spaces(const struct scan *s, size_t at)
{
	while (peek(s, at) == ' ' || peek(s, at) == '\t')
		at++;
	return at;
}

static size_t skip_comment(const struct scan *s, size_t at)
{
	if (peek(s, at) == '#')
		while (at < s->t.len && s->t.p[at] != '\n')
			at++;
	return at;
}

/* Blanks, line ends and comments: what may stand between values of an array. */
static size_t skip_lines(const struct scan *s, size_t at)
{
	for (;;) {
		size_t from = at;
		while (at < s->t.len && strchr(" \t\r\n", s->t.p[at]))
			at++;
		at = skip_comment(s, at);
		if (at == from)
			return at;
	}
}

/* Behind the string at @at that the quotes @quote enclose. */
static int scan_string(const struct scan *s, size_t at, const char *quote, size_t *ret)
{
	size_t begin = at, n = strlen(quote);
	bool many_lines = n == 3;

	for (at += n; !looking_at(s, at, quote); at++) {
		if (at >= s->t.len || (!many_lines && s->t.p[at] == '\n'))
			return wrong(s, begin, "a string begins that does not end");
		at += quote[0] == '"' && s->t.p[at] == '\\' && at + 1 < s->t.len && (many_lines || s->t.p[at + 1] != '\n');
	}
	at += n;
	/* Up to two quotes more belong to the text. */
	for (int i = 0; many_lines && i < 2 && peek(s, at) == quote[0]; i++)
		at++;
	*ret = at;
	return 0;
}

/* What opens a string at @at, or NULL. */
static const char *quote_at(const struct scan *s, size_t at)
{
	static const char *const quotes[] = { "\"\"\"", "'''", "\"", "'" };

	for (size_t i = 0; i < ARRAY_LEN(quotes); i++)
		if (looking_at(s, at, quotes[i]))
			return quotes[i];
	return NULL;
}

/* --- keys -------------------------------------------------------------------------------------------------------------- */

static bool is_bare(char c)
{
	return str_is_alnum(c) || c == '_' || c == '-';
}

/*
 * The character of an escape such as \u0061, of which *@at is the letter; moves *@at behind it. A backslash for one that no name of ours
 * holds.
 */
static char escaped_letter(const struct scan *s, size_t *at)
{
	static const char hex[] = "0123456789abcdef";
	char letter = peek(s, (*at)++);
	size_t count = letter == 'u' ? 4 : letter == 'U' ? 8 : letter == 'x' ? 2 : 0; /* the last one since TOML 1.1 */
	unsigned int value = 0;

	for (; count > 0; count--) {
		char c = peek(s, (*at)++);
		const char *digit = c ? strchr(hex, str_is_alnum(c) ? c | 0x20 : c) : NULL;
		if (!digit || value > 0x7f)
			return '\\';
		value = value * 16 + (unsigned int) (digit - hex);
	}
	return value > 0 && value <= 0x7f ? (char) value : '\\';
}

/* Adds the name in the quotes around @from to @to. */
static void add_quoted(const struct scan *s, size_t from, size_t to, struct toml_path *path)
{
	bool escapes = s->t.p[from - 1] == '"';

	while (from < to) {
		char c = s->t.p[from++];
		path_add_byte(path, escapes && c == '\\' ? escaped_letter(s, &from) : c);
	}
	path_add_byte(path, '\0');
}

/* Reads a key, dotted or not, and appends its names to @path. */
static int scan_key(const struct scan *s, size_t at, struct toml_path *path, size_t *ret)
{
	for (;; at = skip_spaces(s, at + 1)) {
		const char *quote = quote_at(s, at);
		size_t begin = at;
		if (quote && strlen(quote) == 3)
			return wrong(s, at, "a key cannot be a string of many lines");
		if (quote) {
			int r = scan_string(s, at, quote, &at);
			if (r < 0)
				return r;
			add_quoted(s, begin + 1, at - 1, path);
		} else {
			while (is_bare(peek(s, at)))
				at++;
			if (at == begin)
				return wrong(s, at, "a key is missing, or is none of TOML");
			toml_path_add(path, s->t.p + begin, at - begin);
		}
		at = skip_spaces(s, at);
		if (peek(s, at) != '.')
			break;
	}
	*ret = at;
	return 0;
}

/* --- values ------------------------------------------------------------------------------------------------------------ */

static int scan_array(struct scan *s, size_t at, unsigned int depth, size_t *ret)
{
	static const struct toml_path nowhere = { .len = TOML_PATH_MAX };
	size_t begin = at;

	for (at = skip_lines(s, at + 1); peek(s, at) != ']'; at = skip_lines(s, at + 1)) {
		int r = scan_value(s, at, &nowhere, depth, &at);
		if (r < 0)
			return r;
		at = skip_lines(s, at);
		if (peek(s, at) == ']')
			break;
		if (peek(s, at) != ',')
			return wrong(s, at < s->t.len ? at : begin, "an array is not closed, or lacks a comma");
	}
	*ret = at + 1;
	return 0;
}

static int scan_inline_table(struct scan *s, size_t at, const struct toml_path *path, unsigned int depth, size_t *ret)
{
	size_t begin = at, last_end = at + 1;
	bool empty = true;

	for (at = skip_lines(s, at + 1); peek(s, at) != '}'; at = skip_lines(s, at + 1)) {
		int r = scan_pair(s, at, path, depth, &at);
		if (r < 0)
			return r;
		empty = false;
		last_end = at;
		at = skip_lines(s, at);
		if (peek(s, at) == '}')
			break;
		if (peek(s, at) != ',')
			return wrong(s, at < s->t.len ? at : begin, "an inline table is not closed, or lacks a comma");
	}
	*ret = at + 1;
	if (same(path, s->table)) {
		if (s->found->inline_table || s->found->header)
			return wrong(s, begin, "this table is there twice: remove one of the two");
		s->found->inline_table = true;
		s->found->braces = (struct toml_range) { begin, at + 1 };
		s->found->last_end = last_end;
		s->found->empty = empty;
	}
	return 0;
}

/* Numbers, dates and truths: only where they end. */
static int scan_bare_value(const struct scan *s, size_t at, size_t *ret)
{
	size_t begin = at;

	while (is_bare(peek(s, at)) || (peek(s, at) && strchr("+.:", peek(s, at))))
		at++;
	/* A date may have a blank in front of its time. */
	if (at - begin == 10 && peek(s, begin + 4) == '-' && peek(s, at) == ' ' && peek(s, at + 1) >= '0' && peek(s, at + 1) <= '9')
		return scan_bare_value(s, at + 1, ret);
	if (at == begin)
		return wrong(s, at, "a value is missing, or is none of TOML");
	*ret = at;
	return 0;
}

static int scan_value(struct scan *s, size_t at, const struct toml_path *path, unsigned int depth, size_t *ret)
{
	const char *quote = quote_at(s, at);

	if (depth >= EDIT_NEST_MAX)
		return wrong(s, at, "there are too many arrays and tables in one another");
	if (quote)
		return scan_string(s, at, quote, ret);
	switch (peek(s, at)) {
	case '[':
		return scan_array(s, at, depth + 1, ret);
	case '{':
		return scan_inline_table(s, at, path, depth + 1, ret);
	default:
		return scan_bare_value(s, at, ret);
	}
}

static void note_key_table(struct toml_found *f, size_t at)
{
	f->key_table_at = f->key_is_table ? f->key_table_at : at;
	f->key_is_table = true;
}

/* Notes what the key @path with the value @value means for the table and the key that are looked for. */
static int note_pair(struct scan *s, const struct toml_path *path, const struct toml_path *prefix, struct toml_range value, size_t at)
{
	struct toml_found *f = s->found;
	bool is_inline = peek(s, value.begin) == '{';

	if (same(path, s->key)) {
		if (f->key)
			return wrong(s, at, "this key is there twice: remove one of the two");
		f->key = true;
		f->value = value;
	}
	/* Not a table, or the table made by dotted keys from outside. */
	bool in_the_way = (same(path, s->table) && !is_inline) ||
			  (is_below(path, s->table) && !same(prefix, s->table) && !is_below(prefix, s->table));
	if (is_below(path, s->key) && !same(prefix, s->key) && !is_below(prefix, s->key))
		note_key_table(f, at);
	if (in_the_way || is_below(s->table, path))
		f->way_at = at;
	f->in_the_way |= in_the_way;
	f->closed_above |= is_below(s->table, path);
	return 0;
}

/* Reads `key = value`; the key belongs to the table @prefix. */
static int scan_pair(struct scan *s, size_t at, const struct toml_path *prefix, unsigned int depth, size_t *ret)
{
	struct toml_path path = *prefix;
	size_t begin = at, value;
	int r = scan_key(s, at, &path, &at);

	if (r < 0)
		return r;
	if (peek(s, at) != '=')
		return wrong(s, at, "a '=' is missing behind a key");
	value = skip_spaces(s, at + 1);
	r = scan_value(s, value, &path, depth, ret);
	return r < 0 ? r : note_pair(s, &path, prefix, (struct toml_range) { value, *ret }, begin);
}

/* --- statements -------------------------------------------------------------------------------------------------------- */

/* [a.table] or [[a.list.of.tables]] */
static int scan_header(struct scan *s, size_t at, size_t *ret)
{
	size_t begin = at;
	bool of_list = peek(s, at + 1) == '[';

	s->current.len = 0;
	int r = scan_key(s, skip_spaces(s, at + 1 + of_list), &s->current, &at);
	if (r < 0)
		return r;
	if (!looking_at(s, at, of_list ? "]]" : "]"))
		return wrong(s, begin, "the name of a table is not closed");
	*ret = at + 1 + of_list;
	if (same(&s->current, s->key) || is_below(&s->current, s->key))
		note_key_table(s->found, begin);
	if (of_list && (same(&s->current, s->table) || is_below(s->table, &s->current))) {
		s->found->in_the_way = true;
		s->found->way_at = begin;
	} else if (same(&s->current, s->table)) {
		if (s->found->header || s->found->inline_table)
			return wrong(s, begin, "this table is there twice: remove one of the two");
		s->found->header = true;
	}
	return 0;
}

static int scan_statement(struct scan *s, size_t at, size_t *ret)
{
	size_t begin = at, end = at;
	int r = peek(s, at) == '[' ? scan_header(s, at, &end) : scan_pair(s, at, &s->current, 0, &end);

	if (r < 0)
		return r;
	if (same(&s->current, s->table)) {
		s->found->statement = begin;
		s->found->body_end = end;
	}
	at = skip_comment(s, skip_spaces(s, end));
	if (at < s->t.len && s->t.p[at] != '\n' && !looking_at(s, at, "\r\n"))
		return wrong(s, at, "something stands behind the end of a value");
	*ret = at;
	return 0;
}

int toml_find(const struct toml_text *t, const struct toml_path *table, const struct toml_path *key, struct toml_found *ret)
{
	struct scan s = { .t = *t, .table = table, .key = key, .found = ret };

	*ret = (struct toml_found) { .key = false };
	for (size_t at = skip_lines(&s, utf8_bom_length(t->p, t->len)); at < t->len; at = skip_lines(&s, at)) {
		int r = scan_statement(&s, at, &at);
		if (r < 0)
			return r;
	}
	return 0;
}
