/*
 * Changes single members of a JSON file: see jsonc.h. Runs in cloche-compile, which has locked itself in.
 */
#include "runtime/compile/jsonc.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"
#include "runtime/compile/edits.h"
#include "runtime/compile/jsonc_scan.h"
#include "runtime/spec/compilemsg.h"

#define DEFAULT_UNIT "  "

/* How a file is laid out. */
struct layout {
	const char *newline;
	bool on_one_line; /* the whole of it */
	struct buf unit;  /* one step of indentation */
};

enum { UNIT_MAX = 64, PIECE_MAX = 256 * 1024 };

/* --- how the file looks ------------------------------------------------------------------------------------------------ */

static bool has_newline(const char *text, size_t from, size_t to)
{
	return to > from && memchr(text + from, '\n', to - from);
}

/* Learns it from the text as it came; @root is its object. */
static int learn(const struct jsonc_text *t, size_t root, struct layout *ret)
{
	struct jsonc_object object;
	size_t len;
	int r = jsonc_find(t, root, "", &object);

	if (r < 0)
		return r;
	ret->newline = edits_newline(t->p, t->len);
	/* An object without members says nothing about itself. */
	ret->on_one_line = object.first != object.close && !has_newline(t->p, object.open, object.close);
	const char *indent = edits_indent(t->p, object.first, &len);
	if (object.first != object.close && len > 0 && len <= UNIT_MAX && indent + len == t->p + object.first)
		buf_add(&ret->unit, indent, len);
	else
		buf_add_str(&ret->unit, DEFAULT_UNIT);
	return buf_error(&ret->unit);
}

/* --- one edit ---------------------------------------------------------------------------------------------------------- */

/* A new line, indented as @indent and @steps more. */
static void add_line(struct buf *out, const struct layout *layout, const struct buf *indent, unsigned int steps)
{
	if (layout->on_one_line)
		return;
	buf_add_str(out, layout->newline);
	buf_add(out, buf_cstr(indent), indent->len);
	for (unsigned int i = 0; i < steps; i++)
		buf_add(out, buf_cstr(&layout->unit), layout->unit.len);
}

/* Appends the member of @e that its path names at @level, with the objects in it that do not exist either. */
static void add_member(struct buf *out, const struct layout *layout, const struct buf *indent, const struct edit *e, size_t level)
{
	unsigned int steps = 0;

	for (size_t i = level; i < e->depth; i++) {
		if (i > level) {
			buf_add_char(out, '{');
			add_line(out, layout, indent, ++steps);
		}
		jsonw_str(out, e->path[i]);
		buf_add_str(out, ": ");
	}
	buf_add_str(out, e->value);
	while (steps > 0) {
		add_line(out, layout, indent, --steps);
		buf_add_char(out, '}');
	}
}

/* The indentation of the members of @object. */
static void find_indent(const struct jsonc_text *t, const struct jsonc_object *object, const struct layout *layout, struct buf *ret)
{
	size_t len;
	const char *indent = edits_indent(t->p, object->first, &len);

	if (object->first != object->close && indent + len == t->p + object->first) {
		buf_add(ret, indent, len);
		return;
	}
	indent = edits_indent(t->p, object->open, &len);
	buf_add(ret, indent, len);
	buf_add(ret, buf_cstr(&layout->unit), layout->unit.len);
}

/* Adds the missing member at @level of @e's path to @object. */
static void insert(struct buf *text, const struct jsonc_text *t, const struct jsonc_object *object, const struct layout *layout,
		   const struct edit *e, size_t level)
{
	_cleanup_buf_ struct buf piece = BUF_INIT(PIECE_MAX), indent = BUF_INIT(PIECE_MAX);
	bool needs_comma = object->first != object->close && !object->comma_at_end;
	size_t to = object->tail, len;

	find_indent(t, object, layout, &indent);
	/* What stands between the last value and there, comments, goes between the comma and the new member. */
	if (needs_comma)
		buf_add_char(&piece, ',');
	buf_add(&piece, t->p + object->last_end, object->tail - object->last_end);
	if (layout->on_one_line && object->first != object->close)
		buf_add_char(&piece, ' ');
	add_line(&piece, layout, &indent, 0);
	add_member(&piece, layout, &indent, e, level);
	if (!layout->on_one_line && !has_newline(t->p, object->tail, object->close)) {
		const char *outer = edits_indent(t->p, object->open, &len);
		buf_add_str(&piece, layout->newline);
		buf_add(&piece, outer, len);
		to = object->close;
	}
	edits_replace(text, object->last_end, to, buf_cstr(&piece), piece.len);
	text->error = text->error ? text->error : buf_error(&piece);
}

/* Whether the value @range is @value but for its layout: blanks between the parts of it. */
static bool same_value(const struct jsonc_text *t, struct jsonc_range range, const char *value)
{
	bool in_string = false;

	for (size_t at = range.begin; at < range.end; at++) {
		char c = t->p[at];
		if (!in_string && strchr(" \t\r\n", c))
			continue;
		while (!in_string && *value == ' ')
			value++;
		if (*value++ != c)
			return false;
		if (in_string && c == '\\' && at + 1 < range.end && *value++ != t->p[++at])
			return false;
		in_string ^= c == '"';
	}
	return !*value;
}

static int apply(struct buf *text, const struct edit *e, const struct layout *layout, struct err *err)
{
	const struct jsonc_text t = { buf_cstr(text), text->len, err };
	struct jsonc_object object = { .found = false };
	size_t at;
	int r = jsonc_check(&t, &at);

	for (size_t level = 0; r == 0 && level < e->depth; level++) {
		if (t.p[at] != '{')
			return err_set(err, ERR_USAGE, EINVAL, "line %u: '%s' is not an object, so that '%s' cannot be set in it",
				       edits_line(t.p, at), e->path[level - 1], e->path[level]);
		r = jsonc_find(&t, at, e->path[level], &object);
		if (r < 0)
			return r;
		if (!object.found) {
			insert(text, &t, &object, layout, e, level);
			return 0;
		}
		at = object.value.begin;
	}
	if (r == 0 && !same_value(&t, object.value, e->value))
		edits_replace(text, object.value.begin, object.value.end, e->value, strlen(e->value));
	return r;
}

/* --- the whole --------------------------------------------------------------------------------------------------------- */

/* Gives a file without a value an object behind what it holds. */
static void add_root(struct buf *text)
{
	const char *newline = edits_newline(buf_cstr(text), text->len);

	if (text->len > utf8_bom_length(buf_cstr(text), text->len) && text->p[text->len - 1] != '\n')
		buf_add_str(text, newline);
	buf_add_str(text, "{}");
	buf_add_str(text, newline);
}

static int edit_text(const struct edits *edits, struct buf *text, struct err *err)
{
	struct layout layout = { .newline = "\n", .unit = BUF_INIT(UNIT_MAX) };
	const struct jsonc_text before = { buf_cstr(text), text->len, err };
	size_t root;
	int r = jsonc_check(&before, &root);

	if (r == 0 && root == text->len)
		add_root(text);
	const struct jsonc_text t = { buf_cstr(text), text->len, err };
	if (r == 0)
		r = jsonc_check(&t, &root);
	if (r == 0)
		r = learn(&t, root, &layout);
	for (size_t i = 0; i < edits->count && r == 0 && buf_error(text) == 0; i++)
		r = apply(text, &edits->list[i], &layout, err);
	buf_done(&layout.unit);
	return r;
}

int jsonc_edit(const char *input, size_t len, struct buf *out, struct err *err)
{
	return edits_run(input, len, edit_text, out, err);
}
