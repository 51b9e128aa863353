/*
 * Unified diffs: see diff.h. Pure functions; texts are hostile, so time and memory are bounded.
 *
 * What both texts begin and end with is set aside. The lines between are compared with Myers' greedy O(ND) algorithm
 * ("An O(ND) Difference Algorithm and Its Variations", 1986), which keeps the furthest reaching paths of every step to
 * walk back along them.
 */
#include "mcp/diff.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/lines.h"
#include "mcp/text.h"
#include "runtime/base/utf8.h"

/* Line comparisons of one diff, roughly. */
static const size_t work_max = 50 * 1000 * 1000;

enum { DIFF_NAMES_MAX = 64 * 1024 }; /* bytes of the two lines with the file's name */

static const char too_long[] = "[the diff is not shown: too long]\n";

/*
 * Lines [a, a + a_count) of the old text become lines [b, b + b_count) of the new one; numbers from 0 in the whole
 * text.
 */
struct change {
	size_t a, a_count, b, b_count;
};

struct diff {
	const struct buf *a, *b;
	size_t prefix, prefix_lines; /* bytes and lines both begin with */
	struct lines la, lb;         /* the lines between, and DIFF_CONTEXT lines behind */
	size_t na, nb;               /* of these, the lines between */
	struct change *change;
	size_t changes;
};

static bool same_line(const struct line *x, const struct line *y)
{
	return x->len == y->len && x->hash == y->hash && memcmp(x->p, y->p, x->len) == 0;
}

/* --- the region that differs -------------------------------------------------------------------------------------- */

static size_t common_prefix(const struct buf *a, const struct buf *b)
{
	size_t max = MIN(a->len, b->len), n = 0;

	while (n < max && a->p[n] == b->p[n])
		n++;
	while (n > 0 && a->p[n - 1] != '\n')
		n--;
	return n;
}

static size_t common_suffix(const struct buf *a, const struct buf *b, size_t prefix)
{
	size_t max = MIN(a->len, b->len) - prefix, n = 0;

	while (n < max && a->p[a->len - 1 - n] == b->p[b->len - 1 - n])
		n++;
	/* It begins where a line does, in both. */
	bool a_begins = n == a->len - prefix || a->p[a->len - n - 1] == '\n';
	bool b_begins = n == b->len - prefix || b->p[b->len - n - 1] == '\n';
	if (n == 0 || (a_begins && b_begins))
		return n;
	const char *from = a->p + a->len - n, *newline = memchr(from, '\n', n);
	return newline ? n - (size_t) (newline + 1 - from) : 0;
}

/*
 * Splits text from @from to the end of the suffix's first DIFF_CONTEXT lines. *@ret_between counts the lines before the
 * suffix.
 */
static int split(struct lines *l, const struct buf *text, size_t from, size_t suffix, size_t *ret_between)
{
	size_t end = text->len - suffix;

	for (int i = 0; i < DIFF_CONTEXT && end < text->len; i++) {
		const char *newline = memchr(text->p + end, '\n', text->len - end);
		end = newline ? (size_t) (newline - text->p) + 1 : text->len;
	}
	int r = lines_split(l, text->p + from, end - from);
	if (r < 0)
		return r;
	const char *between_end = text->p + text->len - suffix;
	size_t n = l->count;
	while (n > 0 && l->at[n - 1].p >= between_end)
		n--;
	*ret_between = n;
	return 0;
}

/* --- the shortest script ------------------------------------------------------------------------------------------ */

struct search {
	int64_t max;      /* steps allowed */
	int32_t **trace;  /* trace[d][k + d]: the furthest x on diagonal k before step d + 1 */
	int64_t steps;    /* traces there are */
};

static void search_done(struct search *s)
{
	for (int64_t d = 0; d < s->steps; d++)
		free(s->trace[d]);
	free(s->trace);
}

static int32_t furthest(const struct search *s, int64_t d, int64_t k)
{
	return k < -d || k > d ? -1 : s->trace[d][k + d];
}

/*
 * Where step @d begins on diagonal @k: behind one line inserted (from k + 1) or deleted (from k - 1), whichever reaches
 * further. -1 when neither stays within the texts.
 */
static int64_t begin_of_step(const struct diff *df, const struct search *s, int64_t d, int64_t k, bool *ret_insert)
{
	int64_t down = furthest(s, d - 1, k + 1), right = furthest(s, d - 1, k - 1);

	if (down - k > (int64_t) df->nb)
		down = -1;
	right = right < 0 || right == (int64_t) df->na ? -1 : right + 1;
	*ret_insert = down > right;
	return MAX(down, right);
}

static int64_t slide(const struct diff *d, int64_t x, int64_t y)
{
	while (x < (int64_t) d->na && y < (int64_t) d->nb && same_line(&d->la.at[x], &d->lb.at[y])) {
		x++;
		y++;
	}
	return x;
}

/* Number of steps of the shortest script, -1 when there are more than allowed, or -ENOMEM. */
static int64_t find_script(const struct diff *df, struct search *s)
{
	s->trace = calloc((size_t) s->max + 1, sizeof(s->trace[0]));
	if (!s->trace)
		return -ENOMEM;
	for (int64_t d = 0; d <= s->max; d++) {
		s->trace[d] = calloc((size_t) (2 * d + 1), sizeof(s->trace[d][0]));
		if (!s->trace[d])
			return -ENOMEM;
		s->steps = d + 1;
		for (int64_t i = 0; i <= 2 * d; i++)
			s->trace[d][i] = -1;
		for (int64_t k = -d; k <= d; k += 2) {
			bool insert;
			int64_t x = d == 0 ? 0 : begin_of_step(df, s, d, k, &insert);
			if (x < 0)
				continue;
			x = slide(df, x, x - k);
			s->trace[d][k + d] = (int32_t) x;
			if (x == (int64_t) df->na && x - k == (int64_t) df->nb)
				return d;
		}
	}
	return -1;
}

/* Marks deleted lines of a and inserted lines of b while walking back from the end. */
static void walk_back(const struct diff *df, const struct search *s, int64_t steps, bool *deleted, bool *inserted)
{
	int64_t x = (int64_t) df->na, k = x - (int64_t) df->nb;

	for (int64_t d = steps; d > 0; d--) {
		bool insert;
		int64_t begin = begin_of_step(df, s, d, k, &insert);
		if (insert) {
			inserted[begin - k - 1] = true;
			k++;
			x = begin;
		} else {
			deleted[begin - 1] = true;
			k--;
			x = begin - 1;
		}
	}
}

/* Turns the marks into changes, in order. */
static void collect(struct diff *df, const bool *deleted, const bool *inserted)
{
	size_t i = 0, j = 0;

	while (i < df->na || j < df->nb) {
		struct change c = { .a = i, .b = j };
		while (i < df->na && deleted[i])
			i++;
		while (j < df->nb && inserted[j])
			j++;
		c.a_count = i - c.a;
		c.b_count = j - c.b;
		c.a += df->prefix_lines;
		c.b += df->prefix_lines;
		if (c.a_count || c.b_count)
			df->change[df->changes++] = c;
		while (i < df->na && j < df->nb && !deleted[i] && !inserted[j]) {
			i++;
			j++;
		}
	}
}

static int compare(struct diff *df)
{
	size_t total = df->na + df->nb;
	_cleanup_(search_done) struct search s = { .max = (int64_t) MIN((size_t) DIFF_EDITS_MAX,
									work_max / (total + 1) + 1) };
	int64_t steps = find_script(df, &s);

	if (steps == -ENOMEM)
		return -ENOMEM;
	df->change = calloc(steps < 0 ? 1 : (size_t) steps + 1, sizeof(df->change[0]));
	if (!df->change)
		return -ENOMEM;
	if (steps < 0) {
		df->change[df->changes++] = (struct change) { df->prefix_lines, df->na, df->prefix_lines, df->nb };
		return 0;
	}
	bool *marks = calloc(total + 1, sizeof(marks[0]));
	if (!marks)
		return -ENOMEM;
	walk_back(df, &s, steps, marks, marks + df->na);
	collect(df, marks, marks + df->na);
	free(marks);
	return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void add_line(struct buf *out, char mark, const char *p, size_t len)
{
	buf_add_char(out, mark);
	text_add_repaired(out, p, len);
	if (len == 0 || p[len - 1] != '\n')
		buf_add_str(out, "\n\\ No newline at end of file\n");
}

/* Line @n (from 0, in the whole text) of a; it lies within or close to the region that differs. */
static struct line old_line(const struct diff *df, size_t n)
{
	if (n >= df->prefix_lines)
		return df->la.at[n - df->prefix_lines];
	const char *end = df->a->p + df->prefix, *p = end;
	for (size_t back = df->prefix_lines - n; back > 0; back--) {
		end = p--;
		while (p > df->a->p && p[-1] != '\n')
			p--;
	}
	return (struct line) { .p = p, .len = (size_t) (end - p) };
}

static void add_lines(struct buf *out, char mark, const struct lines *l, size_t from, size_t count)
{
	for (size_t i = from; i < from + count; i++)
		add_line(out, mark, l->at[i].p, l->at[i].len);
}

static void add_context(struct buf *out, const struct diff *df, size_t from, size_t to)
{
	for (size_t n = from; n < to; n++) {
		struct line l = old_line(df, n);
		add_line(out, ' ', l.p, l.len);
	}
}

static void add_range(struct buf *out, char mark, size_t first, size_t count)
{
	/* An empty range names the line before it. */
	buf_addf(out, "%c%zu", mark, count > 0 ? first + 1 : first);
	if (count != 1)
		buf_addf(out, ",%zu", count);
}

/* Writes the changes [from, to), which are close to each other, as one hunk. */
static void add_hunk(struct buf *out, const struct diff *df, size_t from, size_t to)
{
	const struct change *first = &df->change[from], *last = &df->change[to - 1];
	size_t all_a = df->prefix_lines + df->la.count;
	size_t begin = first->a - MIN(first->a, (size_t) DIFF_CONTEXT);
	size_t end = MIN(last->a + last->a_count + DIFF_CONTEXT, all_a);
	size_t b_begin = first->b - (first->a - begin),
	       b_end = last->b + last->b_count + (end - last->a - last->a_count);

	buf_add_str(out, "@@ ");
	add_range(out, '-', begin, end - begin);
	buf_add_char(out, ' ');
	add_range(out, '+', b_begin, b_end - b_begin);
	buf_add_str(out, " @@\n");
	for (size_t i = from, at = begin; i < to; i++) {
		const struct change *c = &df->change[i];
		add_context(out, df, at, c->a);
		add_lines(out, '-', &df->la, c->a - df->prefix_lines, c->a_count);
		add_lines(out, '+', &df->lb, c->b - df->prefix_lines, c->b_count);
		at = c->a + c->a_count;
	}
	add_context(out, df, last->a + last->a_count, end);
}

/* patch(1) ends a name at a blank unless a tab follows it, and reads quoted names with C's escapes. */
static void add_name(struct buf *out, const char *mark, const char *side, const char *name)
{
	bool quote = false;

	for (const char *p = name; *p; p++)
		quote |= (unsigned char) *p < 0x20 || *p == 0x7F || *p == '"' || *p == '\\';
	buf_addf(out, "%s %s%s/", mark, quote ? "\"" : "", side);
	if (!quote) {
		utf8_repair(out, name, strlen(name));
		buf_add_str(out, strchr(name, ' ') ? "\t\n" : "\n");
		return;
	}
	for (const char *p = name; *p; p++) {
		if ((unsigned char) *p < 0x20 || (unsigned char) *p >= 0x7F)
			buf_addf(out, "\\%03o", (unsigned char) *p);
		else
			buf_addf(out, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
	}
	buf_add_str(out, "\"\n");
}

static void write_hunks(struct buf *out, const char *name, const struct diff *df, size_t max)
{
	size_t left_out = 0, line = 0;

	add_name(out, "---", "a", name);
	add_name(out, "+++", "b", name);
	size_t head = out->len;
	for (size_t from = 0, to; from < df->changes; from = to) {
		for (to = from + 1; to < df->changes; to++)
			if (df->change[to].a - (df->change[to - 1].a + df->change[to - 1].a_count) > 2 * DIFF_CONTEXT)
				break;
		_cleanup_buf_ struct buf hunk = BUF_INIT(max);
		if (left_out == 0)
			add_hunk(&hunk, df, from, to);
		if (left_out == 0 && !buf_error(&hunk) && out->len + hunk.len + DIFF_NOTE_MAX <= max) {
			buf_add(out, hunk.p, hunk.len);
			continue;
		}
		if (left_out++ == 0)
			line = df->change[from].b;
	}
	if (out->len == head) {
		buf_clear(out);
		buf_add_str(out, too_long);
	} else if (left_out) {
		buf_addf(out, "[%zu hunks of the diff are not shown, the first at line %zu: too long. To see it, call read_file with offset %zu.]\n",
			 left_out, line + 1, line);
	}
}

static void diff_done(struct diff *df)
{
	lines_done(&df->la);
	lines_done(&df->lb);
	free(df->change);
}

int diff_unified(struct buf *out, const char *name, const struct buf *a, const struct buf *b, size_t max)
{
	_cleanup_(diff_done) struct diff df = { .a = a, .b = b };
	_cleanup_buf_ struct buf text = BUF_INIT(max + DIFF_NAMES_MAX);

	if (a->len == b->len && memcmp(buf_cstr(a), buf_cstr(b), a->len) == 0)
		return 0;
	df.prefix = a->len && b->len ? common_prefix(a, b) : 0;
	df.prefix_lines = df.prefix ? text_line_at(a->p, df.prefix) - 1 : 0;
	size_t suffix = a->len && b->len ? common_suffix(a, b, df.prefix) : 0;
	int r = a->len ? split(&df.la, a, df.prefix, suffix, &df.na) : 0;
	if (r == 0 && b->len)
		r = split(&df.lb, b, df.prefix, suffix, &df.nb);
	if (r == -E2BIG) {
		buf_add_str(out, too_long);
		return 0;
	}
	if (r == 0)
		r = compare(&df);
	if (r < 0)
		return r;
	write_hunks(&text, name, &df, max);
	buf_add(out, text.p, text.len);
	return buf_error(&text);
}
