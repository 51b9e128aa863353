/*
 * What an answer shows of a command's output: see excerpt.h. Pure functions; they see what any program may print.
 *
 * Sizes are those of the text as it is shown: a NUL byte, or one that is no UTF-8, becomes a character of three.
 */
#include "mcp/excerpt.h"

#include <string.h>

#include "mcp/text.h"
#include "runtime/base/utf8.h"

#define IN_A_FILE "To see them, run it again with its output in a file, (COMMAND) >/tmp/out 2>&1, and then "

struct part {
	const char *p;
	size_t len;
	bool at_line; /* the first part ends with a line, the last begins with one */
};

static size_t repaired_length(const char *p, size_t len)
{
	_cleanup_buf_ struct buf b = BUF_INIT(3 * len);

	text_add_repaired(&b, p, len);
	return buf_error(&b) ? 3 * len : b.len;
}

static uint64_t newlines(const char *p, size_t len)
{
	const char *end = p + len;
	uint64_t n = 0;

	for (; (p = memchr(p, '\n', (size_t) (end - p))) != NULL; p++)
		n++;
	return n;
}

/* As much of the beginning of @whole as is shown in @room bytes. */
static struct part take_front(const struct buf *whole, size_t room)
{
	const char *p = buf_cstr(whole);
	size_t n = MIN(whole->len, room);

	for (size_t shown; (n = utf8_floor(p, n)) > 0 && (shown = repaired_length(p, n)) > room;)
		n = n * room / shown;
	const char *line_end = memrchr(p, '\n', n);
	size_t lines = line_end ? (size_t) (line_end - p) + 1 : 0;
	bool at_line = lines > 0 && lines >= n / 2;
	return (struct part) { .p = p, .len = at_line ? lines : n, .at_line = at_line };
}

/* The same of its end. */
static struct part take_back(const struct buf *whole, size_t room)
{
	size_t n = MIN(whole->len, room);

	const char *end = buf_cstr(whole) + whole->len;
	for (size_t shown; n > 0 && (shown = repaired_length(end - n, n)) > room;)
		n = n * room / shown;
	const char *p = end - n, *line_end = memchr(p, '\n', n / 2);
	p = line_end ? line_end + 1 : p + utf8_skip_partial(p, n);
	return (struct part) { .p = p, .len = (size_t) (end - p), .at_line = line_end != NULL };
}

static void add_notice(struct buf *text, const struct exec_result *res, const struct part *front, const struct part *back)
{
	typedef unsigned long long ull;
	ull left_out = res->output_total - front->len - back->len, shown = front->len + back->len;
	ull first = newlines(front->p, front->len) + 1, last_lines = newlines(back->p, back->len), all = res->output_newlines;

	if (back->len > 0 && back->p[back->len - 1] != '\n') {
		last_lines++;
		all++;
	}
	ull last = all - last_lines;
	buf_addf(text, "%s[... output truncated at %lluKB: ", front->at_line ? "" : "\n", MAX((shown + 512) / 1024, 1ULL));
	if (front->at_line && back->at_line && last >= first)
		buf_addf(text,
			 "lines %llu to %llu of %llu (%llu of %llu bytes) are left out here. " IN_A_FILE "sed -n '%llu,%llup' /tmp/out, or grep. ...]\n",
			 first, last, all, left_out, (ull) res->output_total, first, MIN(last, 2 * first - 2));
	else
		buf_addf(text,
			 "%llu bytes from the middle of %llu are left out here. " IN_A_FILE "tail -c +%zu /tmp/out | head -c %zu, or grep. ...]\n",
			 left_out, (ull) res->output_total, front->len + 1, MAX(front->len, (size_t) 1));
}

bool excerpt_add(struct buf *text, const struct exec_result *res, size_t room)
{
	const struct buf *head = &res->output, *tail = &res->tail;
	bool whole = head->len == res->output_total;

	if (whole && repaired_length(buf_cstr(head), head->len) <= room) {
		text_add_repaired(text, head->p, head->len);
		return false;
	}
	room = (room - EXCERPT_NOTICE_MAX) / 2;
	struct part front = take_front(head, room), back = take_back(whole ? head : tail, room);
	text_add_repaired(text, front.p, front.len);
	add_notice(text, res, &front, &back);
	text_add_repaired(text, back.p, back.len);
	return true;
}
