/*
 * Giving a replacement the indentation of the lines it replaces: see reindent.h. Pure functions.
 *
 * A model often has the words right and the white space wrong. What its text says reliably is how lines are indented
 * against each other. So, in this order, a line of `new` gets
 *   - the indentation of the file's line at the same position, when it stands to the first line as that line of `old`
 *     did;
 *   - the indentation that an earlier line of `new` with the same depth got;
 *   - that of the nearest earlier line of `new` that is less deep, and on top of it what it is deeper, in the file's
 *     own unit: tabs in a file with tabs, otherwise as many blanks as `new` has;
 *   - for a line less deep than the first one: the first one's, shortened.
 */
#include "mcp/reindent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	REINDENT_TAB = 8,        /* columns, as in lines_columns() */
	REINDENT_LOOK_MAX = 10000, /* lines of the file looked at for its habits */
	REINDENT_UNIT_DEFAULT = 4,
};

struct span {
	size_t at, len; /* in job.store */
};

struct job {
	const struct lines *file, *old_lines, *new_lines;
	const struct line *found;
	size_t new_ref, old_ref; /* the first lines that are not blank */
	bool tabs;               /* the place is indented with tabs */
	size_t file_unit;        /* blanks of one level, where it is not */
	size_t new_unit;         /* columns of one level in `new` */
	struct span *indent;     /* one for each line of `new` */
	struct buf store;
};

static size_t first_with_text(const struct lines *l)
{
	size_t i = 0;

	while (i < l->count && l->at[i].core == 0)
		i++;
	return i;
}

static bool has_tab(const struct line *l)
{
	return memchr(l->p, '\t', l->indent) != NULL;
}

/* Whether the file indents with tabs here: the lines that matched tell, else the rest of the file. */
static bool uses_tabs(const struct job *j)
{
	size_t tabs = 0, blanks = 0;

	for (size_t i = 0; i < j->old_lines->count; i++)
		if (j->found[i].core > 0 && j->found[i].indent > 0)
			return has_tab(&j->found[i]);
	for (size_t i = 0; i < j->file->count && i < REINDENT_LOOK_MAX; i++) {
		const struct line *l = &j->file->at[i];
		if (l->core > 0 && l->indent > 0)
			*(has_tab(l) ? &tabs : &blanks) += 1;
	}
	return tabs > blanks;
}

/* The narrowest indentation in the file, unless it is a single blank, as in the body of a comment. */
static size_t blanks_of_level(const struct lines *file)
{
	size_t least = REINDENT_TAB + 1;

	for (size_t i = 0; i < file->count && i < REINDENT_LOOK_MAX; i++) {
		const struct line *l = &file->at[i];
		if (l->core > 0 && l->indent > 1 && !has_tab(l))
			least = MIN(least, l->indent);
	}
	return least > REINDENT_TAB ? REINDENT_UNIT_DEFAULT : least;
}

/* The smallest step from one line of `new` to a deeper one; a tab is one level. */
static size_t columns_of_level(const struct lines *l)
{
	size_t least = 0, before = 0;
	bool first = true;

	for (size_t i = 0; i < l->count; i++) {
		if (l->at[i].core == 0)
			continue;
		if (has_tab(&l->at[i]))
			return REINDENT_TAB;
		size_t columns = lines_columns(&l->at[i]);
		if (!first && columns > before && (least == 0 || columns - before < least))
			least = columns - before;
		before = columns;
		first = false;
	}
	return least ? least : REINDENT_UNIT_DEFAULT;
}

static struct span add_span(struct job *j, const char *p, size_t len)
{
	struct span s = { .at = j->store.len, .len = len };

	buf_add(&j->store, p, len);
	return s;
}

static void add_times(struct buf *b, char c, size_t times)
{
	while (times-- > 0)
		buf_add_char(b, c);
}

/* The indentation @base and @columns more. */
static struct span deeper(struct job *j, struct span base, size_t columns, bool from_tabs)
{
	_cleanup_buf_ struct buf text = BUF_INIT(SIZE_MAX / 4);
	size_t levels = columns / j->new_unit, rest = columns % j->new_unit;

	buf_add(&text, buf_cstr(&j->store) + base.at, base.len);
	if (j->tabs)
		add_times(&text, '\t', levels);
	else
		add_times(&text, ' ', from_tabs ? levels * j->file_unit : columns - rest);
	add_times(&text, ' ', rest);
	struct span s = add_span(j, text.p, text.len);
	if (buf_error(&text))
		j->store.error = buf_error(&text);
	return s;
}

/* The indentation @base without its last @columns. */
static struct span shallower(const struct job *j, struct span base, size_t columns)
{
	size_t less = columns;

	if (j->tabs)
		less = (columns + j->new_unit - 1) / j->new_unit;
	base.len -= MIN(base.len, less);
	return base;
}

/*
 * The file's line at the position of line @i of `new`, when both are indented alike against their first line; else
 * NULL.
 */
static const struct line *counterpart(const struct job *j, size_t i)
{
	const struct line *ref = &j->new_lines->at[j->new_ref];
	size_t at = i - j->new_ref + j->old_ref;

	if (at >= j->old_lines->count || j->old_lines->at[at].core == 0)
		return NULL;
	size_t mine = lines_columns(&j->new_lines->at[i]) + lines_columns(&j->old_lines->at[j->old_ref]);
	size_t theirs = lines_columns(&j->old_lines->at[at]) + lines_columns(ref);
	return mine == theirs ? &j->found[at] : NULL;
}

static struct span choose(struct job *j, size_t i)
{
	const struct line *l = &j->new_lines->at[i], *same = counterpart(j, i);
	size_t columns = lines_columns(l);

	if (same || i == j->new_ref) {
		same = same ? same : &j->found[j->old_ref];
		return add_span(j, same->p, same->indent);
	}
	for (size_t k = i; k-- > j->new_ref;) {
		const struct line *earlier = &j->new_lines->at[k];
		size_t theirs = lines_columns(earlier);
		if (earlier->core == 0 || theirs > columns)
			continue;
		return theirs == columns ? j->indent[k] : deeper(j, j->indent[k], columns - theirs, has_tab(l));
	}
	return shallower(j, j->indent[j->new_ref], lines_columns(&j->new_lines->at[j->new_ref]) - columns);
}

static void write_lines(struct buf *out, const struct job *j, const char *eol)
{
	for (size_t i = 0; i < j->new_lines->count; i++) {
		const struct line *l = &j->new_lines->at[i];
		size_t end = l->len;

		buf_add_str(out, i > 0 ? eol : "");
		if (l->core == 0)
			continue;
		if (l->p[end - 1] == '\n')
			end--;
		if (end < l->len && end > 0 && l->p[end - 1] == '\r')
			end--;
		buf_add(out, buf_cstr(&j->store) + j->indent[i].at, j->indent[i].len);
		buf_add(out, l->p + l->indent,
			end - l->indent); /* blanks at the end are the caller's wish: Markdown's line break */
	}
}

static void job_done(struct job *j)
{
	free(j->indent);
	buf_done(&j->store);
}

int reindent(struct buf *out, const struct lines *file, const struct line *found, const struct lines *old_lines,
	     const struct lines *new_lines, const char *eol)
{
	_cleanup_(job_done) struct job j = {
		.file = file,
		.old_lines = old_lines,
		.new_lines = new_lines,
		.found = found,
		.new_ref = first_with_text(new_lines),
		.old_ref = first_with_text(old_lines),
		.file_unit = blanks_of_level(file),
		.new_unit = columns_of_level(new_lines),
		.indent = calloc(new_lines->count + 1, sizeof(j.indent[0])),
		.store = BUF_INIT(out->max),
	};

	if (!j.indent)
		return -ENOMEM;
	j.tabs = uses_tabs(&j);
	for (size_t i = j.new_ref; i < new_lines->count && !buf_error(&j.store); i++)
		if (new_lines->at[i].core > 0)
			j.indent[i] = choose(&j, i);
	if (buf_error(&j.store))
		return buf_error(&j.store);
	write_lines(out, &j, eol);
	return buf_error(out);
}
