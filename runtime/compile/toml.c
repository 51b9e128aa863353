/*
 * Changes single keys of a TOML file: see toml.h. Runs in cloche-compile, which has locked itself in.
 */
#include "runtime/compile/toml.h"

#include <errno.h>
#include <string.h>

#include "runtime/compile/edits.h"
#include "runtime/compile/toml_scan.h"
#include "runtime/spec/compilemsg.h"

enum { PIECE_MAX = 256 * 1024 };

static void path_of(const struct edit *e, size_t depth, struct toml_path *ret)
{
	ret->len = 0;
	for (size_t i = 0; i < depth; i++)
		toml_path_add(ret, e->path[i], strlen(e->path[i]));
}

/* The end of the line that @at is in, before what ends it. */
static size_t line_end(const struct buf *text, size_t at)
{
	const char *end = memchr(text->p + at, '\n', text->len - at);
	size_t offset = end ? (size_t) (end - text->p) : text->len;

	return offset > at && text->p[offset - 1] == '\r' ? offset - 1 : offset;
}

/* Adds a line behind the last of the table's. */
static void add_line(struct buf *text, const struct toml_found *f, const char *name, const char *value)
{
	_cleanup_buf_ struct buf piece = BUF_INIT(PIECE_MAX);
	size_t len, end = line_end(text, f->body_end);
	const char *indent = edits_indent(text->p, f->statement, &len);

	buf_add_str(&piece, edits_newline(text->p, text->len));
	buf_add(&piece, indent, len);
	buf_addf(&piece, "%s = %s", name, value);
	edits_replace(text, end, end, buf_cstr(&piece), piece.len);
}

static void add_to_inline_table(struct buf *text, const struct toml_found *f, const char *name, const char *value)
{
	_cleanup_buf_ struct buf piece = BUF_INIT(PIECE_MAX);

	buf_addf(&piece, "%s %s = %s%s", f->empty ? "" : ",", name, value, f->empty ? " " : "");
	edits_replace(text, f->last_end, f->empty ? f->braces.end - 1 : f->last_end, buf_cstr(&piece), piece.len);
}

/* Adds [the.table] behind the end of the text. */
static void add_table(struct buf *text, const struct edit *e)
{
	const char *newline = edits_newline(buf_cstr(text), text->len);

	if (text->len > 0 && text->p[text->len - 1] != '\n')
		buf_add_str(text, newline);
	if (text->len > 0)
		buf_add_str(text, newline);
	for (size_t i = 0; i + 1 < e->depth; i++)
		buf_addf(text, "%c%s", i ? '.' : '[', e->path[i]);
	buf_addf(text, "]%s%s = %s%s", newline, e->path[e->depth - 1], e->value, newline);
}

static int find(const struct buf *text, const struct edit *e, struct toml_found *ret, struct err *err)
{
	const struct toml_text t = { buf_cstr(text), text->len, err };
	struct toml_path table, key;

	path_of(e, e->depth - 1, &table);
	path_of(e, e->depth, &key);
	return toml_find(&t, &table, &key, ret);
}

/* Says that the table of @e stands there in another form. */
static int refuse_form(const struct buf *text, const struct edit *e, size_t at, struct err *err)
{
	_cleanup_buf_ struct buf name = BUF_INIT(PIECE_MAX);

	for (size_t i = 0; i + 1 < e->depth; i++)
		buf_addf(&name, "%s%s", i ? "." : "", e->path[i]);
	return err_set(err, ERR_USAGE, EINVAL, "line %u: this is not the form of a table that keys can be added to. Write it as [%s]",
		       edits_line(text->p, at), buf_cstr(&name));
}

/* A table that is not there becomes an inline table of the one that it belongs to, if that one is there. */
static int apply(struct buf *text, const struct edit *e, struct err *err)
{
	struct toml_found f;
	const char *name = e->path[e->depth - 1];
	int r = find(text, e, &f, err);

	if (r < 0)
		return r;
	if (f.key_is_table)
		return err_set(err, ERR_USAGE, EINVAL, "line %u: '%s' is a table here, where a value is to stand", edits_line(text->p, f.key_table_at),
			       name);
	if (f.key) {
		bool same = f.value.end - f.value.begin == strlen(e->value) &&
			    memcmp(text->p + f.value.begin, e->value, strlen(e->value)) == 0;
		if (!same)
			edits_replace(text, f.value.begin, f.value.end, e->value, strlen(e->value));
		return 0;
	}
	if (f.header) {
		add_line(text, &f, name, e->value);
		return 0;
	}
	if (f.inline_table) {
		add_to_inline_table(text, &f, name, e->value);
		return 0;
	}
	if (!f.in_the_way && e->depth > 3) {
		_cleanup_buf_ struct buf value = BUF_INIT(PIECE_MAX);
		struct edit above = *e;
		buf_addf(&value, "{ %s = %s }", name, e->value);
		above.depth--;
		above.value = buf_cstr(&value);
		return apply(text, &above, err);
	}
	if (f.in_the_way || f.closed_above)
		return refuse_form(text, e, f.way_at, err);
	add_table(text, e);
	return 0;
}

static int edit_text(const struct edits *edits, struct buf *text, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < edits->count && r == 0 && buf_error(text) == 0; i++)
		r = edits->list[i].depth < 2 ? err_set(err, ERR_SYSTEM, EPROTO, "a setting lies in no table") :
					       apply(text, &edits->list[i], err);
	return r;
}

int toml_edit(const char *input, size_t len, struct buf *out, struct err *err)
{
	return edits_run(input, len, edit_text, out, err);
}
