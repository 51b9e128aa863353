/*
 * One edit of search_and_replace: see edit.h. Pure functions over memory; file and edit are hostile, every search is
 * linear.
 */
#include "mcp/edit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/closest.h"
#include "mcp/lines.h"
#include "mcp/reindent.h"
#include "mcp/text.h"
#include "runtime/base/utf8.h"

enum {
	EDIT_SHOWN_OLD = 20,             /* characters of 'old' in a message */
	EDIT_COUNT_MAX = 100000,         /* occurrences that are counted */
	EDIT_WORK_MAX = 200 * 1000 * 1000, /* bytes compared for it */
};

struct range {
	size_t begin, end;
};

/* Occurrences; overlapping ones count too, for which of them would be meant? */
struct places {
	size_t count;
	size_t at[EDIT_PLACES_MAX];
};

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* "Edit 0: 'the first words'" */
static void begin_why(struct buf *why, const struct edit *e)
{
	size_t n = 0, cut;

	for (int chars = 0; n < e->old_len && chars < EDIT_SHOWN_OLD; chars++)
		n += MAX(utf8_decode(e->old_text + n, e->old_len - n, NULL), (size_t) 1);
	buf_addf(why, "Edit %zu: '", e->index);
	for (const char *p = e->old_text, *end = p + n; p < end; p += cut + 1) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		cut = (size_t) ((newline ? newline : end) - p);
		text_add_line(why, p, cut, cut);
		buf_add_str(why, newline ? "\\n" : "");
	}
	buf_add_str(why, n < e->old_len ? "...'" : "'");
}

static void add_places(struct buf *why, const struct places *places)
{
	size_t shown = MIN(places->count, (size_t) EDIT_PLACES_MAX);

	buf_add_str(why, ", at lines ");
	for (size_t i = 0; i < shown; i++)
		buf_addf(why, "%s%zu", i > 0 ? ", " : "", places->at[i]);
	buf_add_str(why, places->count > shown ? " and more" : "");
	buf_add_str(why, ". Add lines around it to 'old' until only one place fits. Nothing was changed.");
}

/* --- line ends ---------------------------------------------------------------------------------------------------- */

static bool is_crlf(const char *s, size_t newline)
{
	return newline > 0 && s[newline - 1] == '\r';
}

/* The line end in use at @r: within it, else behind it, else before it. NULL when the text has none. */
static const char *eol_at(const struct buf *text, struct range r)
{
	const char *s = buf_cstr(text), *newline = memchr(s + r.begin, '\n', text->len - r.begin);

	if (!newline)
		newline = memrchr(s, '\n', r.begin);
	if (!newline)
		return NULL;
	return is_crlf(s, (size_t) (newline - s)) ? "\r\n" : "\n";
}

/* Appends @s with every CRLF and LF as @eol. */
static void add_with_eol(struct buf *out, const char *s, size_t n, const char *eol)
{
	for (const char *end = s + n; s < end;) {
		const char *newline = memchr(s, '\n', (size_t) (end - s));
		size_t len = (size_t) ((newline ? newline : end) - s);
		bool cr = newline && len > 0 && s[len - 1] == '\r';

		buf_add(out, s, len - cr);
		buf_add_str(out, newline ? eol : "");
		s += len + (newline != NULL);
	}
}

/* The offset in @text of what has the offset @at when every CRLF is one LF. */
static size_t original_offset(const struct buf *text, size_t at)
{
	size_t i = 0;

	for (size_t n = 0; n < at; n++)
		i += text->p[i] == '\r' && i + 1 < text->len && text->p[i + 1] == '\n' ? 2 : 1;
	return i;
}

/* --- replacing ---------------------------------------------------------------------------------------------------- */

/* Puts @len bytes at @with into the place of @r. */
static enum edit_result put(struct buf *text, struct range r, const struct buf *with, const struct edit *e,
			    struct buf *why)
{
	_cleanup_buf_ struct buf out = BUF_INIT(text->max);

	buf_add(&out, text->p, r.begin);
	buf_add(&out, with->p, with->len);
	buf_add(&out, text->p + r.end, text->len - r.end);
	if (buf_error(with) || buf_error(&out)) {
		buf_addf(why,
			 "Edit %zu would make the file too large: this tool changes files of up to %zu bytes. Nothing "
			 "was changed.",
			 e->index, text->max);
		return EDIT_FAILED;
	}
	struct buf old = *text;
	*text = out;
	out = old;
	return EDIT_EXACT;
}

static enum edit_result put_exact(struct buf *text, struct range r, const struct edit *e, struct buf *why)
{
	_cleanup_buf_ struct buf with = BUF_INIT(2 * e->new_len + 1);
	const char *eol = eol_at(text, r);

	if (eol)
		add_with_eol(&with, e->new_text, e->new_len, eol);
	else
		buf_add(&with, e->new_text, e->new_len);
	return put(text, r, &with, e, why);
}

/* --- exact matching ----------------------------------------------------------------------------------------------- */

/* *@ret_first is the offset of the first occurrence. */
static void find_exact(const char *s, size_t n, const char *old, size_t len, struct places *places, size_t *ret_first)
{
	const char *from = s, *end = s + n, *hit;
	size_t line = 1;

	*places = (struct places) { .count = 0 };
	for (const char *p = s; (hit = memmem(p, (size_t) (end - p), old, len)) != NULL; p = hit + 1) {
		if (places->count == 0)
			*ret_first = (size_t) (hit - s);
		if (places->count < EDIT_PLACES_MAX) {
			line += text_line_at(from, (size_t) (hit - from)) - 1;
			places->at[places->count] = line;
			from = hit;
		}
		/* Each hit costs about the length of `old`: from here on "more than" is good enough. */
		if (++places->count >= EDIT_COUNT_MAX || places->count > EDIT_WORK_MAX / len)
			return;
	}
}

/* Finds `old` in the bytes as they are, then with CRLF and LF taken as equal. */
static struct places locate(const struct buf *text, const struct edit *e, struct range *ret)
{
	const char *s = buf_cstr(text);
	bool crlf = memmem(s, text->len, "\r\n", 2) != NULL;
	bool breaks = memchr(e->old_text, '\n', e->old_len) != NULL;
	struct places places = { .count = 0 };
	size_t first = 0;

	/* An `old` that begins with LF must not match the second half of a CRLF. */
	if (!(crlf && e->old_text[0] == '\n'))
		find_exact(s, text->len, e->old_text, e->old_len, &places, &first);
	*ret = (struct range) { first, first + e->old_len };
	if (places.count > 0 || !breaks || (!crlf && !memmem(e->old_text, e->old_len, "\r\n", 2)))
		return places;
	_cleanup_buf_ struct buf plain = BUF_INIT(text->len + 1), old = BUF_INIT(e->old_len + 1);
	add_with_eol(&plain, s, text->len, "\n");
	add_with_eol(&old, e->old_text, e->old_len, "\n");
	if (buf_error(&plain) || buf_error(&old))
		return places;
	find_exact(buf_cstr(&plain), plain.len, buf_cstr(&old), old.len, &places, &first);
	if (places.count > 0)
		*ret = (struct range) { original_offset(text, first), original_offset(text, first + old.len) };
	return places;
}

/* --- matching by lines -------------------------------------------------------------------------------------------- */

struct by_lines {
	struct lines file, old_lines, new_lines;
};

static void by_lines_done(struct by_lines *b)
{
	lines_done(&b->file);
	lines_done(&b->old_lines);
	lines_done(&b->new_lines);
}

/*
 * Windows of the file whose lines equal those of `old`, by Knuth, Morris and Pratt: no line is compared over and over.
 */
static int find_windows(const struct lines *file, const struct lines *old, struct places *places)
{
	size_t *border = calloc(old->count + 1, sizeof(*border));
	size_t have = 0;

	*places = (struct places) { .count = 0 };
	if (!border)
		return -ENOMEM;
	for (size_t i = 1, k = 0; i < old->count; i++) {
		while (k > 0 && !lines_same_core(&old->at[i], &old->at[k]))
			k = border[k - 1];
		k += lines_same_core(&old->at[i], &old->at[k]);
		border[i] = k;
	}
	for (size_t i = 0; i < file->count; i++) {
		while (have > 0 && (have == old->count || !lines_same_core(&file->at[i], &old->at[have])))
			have = border[have - 1];
		have += lines_same_core(&file->at[i], &old->at[have]);
		if (have < old->count)
			continue;
		if (places->count < EDIT_PLACES_MAX)
			places->at[places->count] = i + 2 - old->count;
		places->count++;
	}
	free(border);
	return 0;
}

static bool has_text(const struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->at[i].core > 0)
			return true;
	return false;
}

/* Replaces the window that begins at line @first (from 0). */
static enum edit_result put_lines(struct buf *text, const struct by_lines *b, size_t first, const struct edit *e,
				  struct buf *why)
{
	const struct line *found = &b->file.at[first], *last = &found[b->old_lines.count - 1];
	struct range r = { (size_t) (found->p - text->p), (size_t) (last->p - text->p) + last->len };
	const char *eol = eol_at(text, r);
	_cleanup_buf_ struct buf with = BUF_INIT(text->max);

	if (!eol)
		eol = "\n";
	if (b->new_lines.count > 0) {
		int error = reindent(&with, &b->file, found, &b->old_lines, &b->new_lines, eol);
		if (error < 0)
			with.error = error;
		/* The last line ends as it did: also without a line end at the end of the file. */
		if (last->p[last->len - 1] == '\n')
			buf_add_str(&with, is_crlf(last->p, last->len - 1) ? "\r\n" : "\n");
	}
	return put(text, r, &with, e, why) == EDIT_FAILED ? EDIT_FAILED : EDIT_FUZZY;
}

/* What else may be the reason. */
static void add_hints(const struct buf *text, const struct edit *e, struct buf *why)
{
	if (memmem(e->old_text, e->old_len, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT)) &&
	    !utf8_is_valid(buf_cstr(text), text->len))
		buf_add_str(why, "\nHint: 'old' has the sign U+FFFD, which read_file shows in place of bytes that are "
				 "not UTF-8. Choose a part of the text without it.");
	if (!memchr(e->old_text, '\n', e->old_len) && memmem(e->old_text, e->old_len, "\\n", 2))
		buf_add_str(why, "\nHint: 'old' has a backslash followed by n. If a line break is meant, it was "
				 "escaped once too often.");
}

static enum edit_result apply_by_lines(struct buf *text, const struct edit *e, struct buf *why)
{
	_cleanup_(by_lines_done) struct by_lines b = { .file = { .at = NULL } };
	struct places places = { .count = 0 };
	int r = lines_split(&b.file, buf_cstr(text), text->len);

	if (r == 0)
		r = lines_split(&b.old_lines, e->old_text, e->old_len);
	if (r == 0)
		r = lines_split(&b.new_lines, e->new_text, e->new_len);
	/* Only white space would match every blank line. */
	if (r == 0 && has_text(&b.old_lines))
		r = find_windows(&b.file, &b.old_lines, &places);
	if (r == 0 && places.count == 1)
		return put_lines(text, &b, places.at[0] - 1, e, why);
	begin_why(why, e);
	if (places.count > 1) {
		buf_addf(why,
			 " is not there exactly. Found %zu fuzzy matches (equal but for white space at both ends of "
			 "lines)",
			 places.count);
		add_places(why, &places);
		return EDIT_FAILED;
	}
	buf_addf(why,
		 " not found in %s, neither exactly nor with other white space at both ends of lines. Nothing was "
		 "changed.",
		 e->file);
	if (r == 0)
		closest_explain(why, &b.file, &b.old_lines);
	add_hints(text, e, why);
	return EDIT_FAILED;
}

enum edit_result edit_apply(struct buf *text, const struct edit *e, struct buf *why)
{
	struct range r;
	struct places places = locate(text, e, &r);

	if (places.count == 1)
		return put_exact(text, r, e, why);
	if (places.count == 0)
		return apply_by_lines(text, e, why);
	begin_why(why, e);
	buf_addf(why, " found %zu times (exact match)", places.count);
	add_places(why, &places);
	return EDIT_FAILED;
}
