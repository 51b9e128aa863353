/*
 * What is shown of a command's output: all that fits, else whole lines of both ends, and a line between them whose numbers
 * are right. Wherever it is cut, the text stays UTF-8 and within its room.
 */
#include "mcp/excerpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/utf8.h"
#include "tests/harness/unit.h"

enum { ROOM = 4000 };

static struct exec_result result;
static struct buf text = BUF_INIT(1 << 20);

/* Shows @all as if init's client had kept @head and @tail bytes of it. */
static bool show(const struct buf *all, size_t head, size_t tail, size_t room)
{
	buf_clear(&text);
	result = (struct exec_result) { .output = BUF_INIT(1 << 20), .tail = BUF_INIT(1 << 20), .output_total = all->len };
	for (size_t i = 0; i < all->len; i++)
		result.output_newlines += all->p[i] == '\n';
	bool whole = all->len <= head + tail;
	buf_add(&result.output, all->p, whole ? all->len : head);
	if (!whole)
		buf_add(&result.tail, all->p + all->len - tail, tail);
	bool cut = excerpt_add(&text, &result, room);
	buf_done(&result.output);
	buf_done(&result.tail);
	ck_assert_int_eq(buf_error(&text), 0);
	ck_assert_uint_le(text.len, room);
	ck_assert(utf8_is_valid(buf_cstr(&text), text.len));
	ck_assert_uint_eq(strlen(buf_cstr(&text)), text.len);
	return cut;
}

static void add_numbered(struct buf *b, int first, int last)
{
	for (int i = first; i <= last; i++)
		buf_addf(b, "line %d\n", i);
}

START_TEST(test_all_of_it)
{
	_cleanup_buf_ struct buf all = BUF_INIT(1 << 20);

	ck_assert(!show(&all, 100, 100, ROOM));
	ck_assert_uint_eq(text.len, 0);
	add_numbered(&all, 1, 20);
	ck_assert(!show(&all, 2000, 2000, ROOM));
	ck_assert_str_eq(text.p, all.p);
	buf_truncate(&all, all.len - 1);
	while (all.len < ROOM)
		buf_add_char(&all, 'x');
	ck_assert(!show(&all, ROOM, 0, ROOM));
	ck_assert(show(&all, ROOM, 0, ROOM - 1));
}
END_TEST

/* The two ends and the lines that the notice names are all lines, once each. */
static void check_lines(size_t head, size_t tail, int count)
{
	_cleanup_buf_ struct buf all = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
	int first, last, total, from, to, kb;
	unsigned long long left_out, bytes;

	add_numbered(&all, 1, count);
	ck_assert(show(&all, head, tail, ROOM));
	const char *notice = strstr(text.p, "[... output truncated at ");
	ck_assert_ptr_nonnull(notice);
	ck_assert_int_eq(sscanf(notice, "[... output truncated at %dKB: lines %d to %d of %d (%llu of %llu bytes) are left out here.", &kb, &first,
				&last, &total, &left_out, &bytes), 6);
	ck_assert_int_eq(total, count);
	ck_assert_uint_eq(bytes, all.len);
	ck_assert_int_eq(kb, (int) ((all.len - left_out + 512) / 1024));
	buf_add(&again, text.p, (size_t) (notice - text.p));
	add_numbered(&again, first, last);
	const char *rest = strchr(notice, '\n');
	ck_assert_ptr_nonnull(rest);
	buf_add_str(&again, rest + 1);
	ck_assert_str_eq(again.p, all.p);
	ck_assert_uint_eq(left_out, all.len - (size_t) (notice - text.p) - strlen(rest + 1));
	/* The next part to look at begins where the first ends, and is as long. */
	const char *sed = strstr(notice, "sed -n '");
	ck_assert(sed && sscanf(sed, "sed -n '%d,%dp' /tmp/out", &from, &to) == 2);
	ck_assert_int_eq(from, first);
	ck_assert_int_eq(to, MIN(last, 2 * first - 2));
}

START_TEST(test_lines)
{
	check_lines(2000, 2000, 5000); /* the middle was not kept */
	check_lines(40000, 40000, 600); /* all of it was, but there is less room */
	check_lines(5000, 0, 460);
	check_lines(3000, 1000, 461);
}
END_TEST

/* No line ends where it is cut: bytes are told. */
START_TEST(test_long_lines)
{
	_cleanup_buf_ struct buf all = BUF_INIT(1 << 20);
	unsigned long long left_out, total, from;
	int shown;

	for (int i = 0; i < 3000; i++)
		buf_add_str(&all, "\xC3\xA9"); /* the cuts go through a character */
	for (size_t odd = 0; odd < 4; odd++) {
		buf_add_char(&all, 'x');
		ck_assert(show(&all, 2001 + odd, 2001, ROOM - odd));
		const char *notice = strstr(text.p, "\n[... output truncated at 3KB: ");
		ck_assert_ptr_nonnull(notice);
		ck_assert_int_eq(sscanf(notice, "\n[... output truncated at 3KB: %llu bytes from the middle of %llu are left out here.", &left_out, &total), 2);
		const char *tail = strchr(notice + 1, '\n');
		ck_assert_ptr_nonnull(tail);
		ck_assert_uint_eq(total, all.len);
		ck_assert_uint_eq(left_out, all.len - (size_t) (notice - text.p) - strlen(tail + 1));
		const char *command = strstr(notice, "tail -c +");
		ck_assert(command && sscanf(command, "tail -c +%llu /tmp/out | head -c %d", &from, &shown) == 2);
		ck_assert_uint_eq(from, (unsigned long long) (notice - text.p) + 1);
		ck_assert_ptr_null(strstr(text.p, UTF8_REPLACEMENT));
	}
	/* The end was not kept, for want of memory. */
	buf_clear(&text);
	result = (struct exec_result) { .output = { .p = all.p, .len = 1000, .max = 1000 }, .output_total = 5000 };
	ck_assert(excerpt_add(&text, &result, ROOM));
	ck_assert_ptr_nonnull(strstr(text.p, "4000 bytes from the middle of 5000"));
}
END_TEST

/* NUL, and bytes that are no UTF-8, are longer when shown. */
START_TEST(test_any_bytes)
{
	unsigned int seed = 1;

	for (int round = 0; round < 300; round++) {
		_cleanup_buf_ struct buf all = BUF_INIT(1 << 20);
		size_t len = (size_t) (rand_r(&seed) % 20000);
		size_t head = (size_t) (rand_r(&seed) % 4000 + 1), tail = (size_t) (rand_r(&seed) % 4000 + 1);

		for (size_t i = 0; i < len; i++)
			buf_add_char(&all, (char) (round % 4 == 0 ? rand_r(&seed) : round % 4 == 1 ? 0xFF : rand_r(&seed) % 40 ? 0x80 * (round % 2) : '\n'));
		(void) show(&all, head, tail, EXCERPT_ROOM_MIN + (size_t) (rand_r(&seed) % ROOM));
	}
}
END_TEST

UNIT_MAIN("mcp/excerpt", test_all_of_it, test_lines, test_long_lines, test_any_bytes)
