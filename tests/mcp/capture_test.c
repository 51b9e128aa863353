/*
 * What is kept of output: head, tail and total, however the writes are cut.
 */
#include "mcp/capture.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/unit.h"

/* The byte at position @i of the output. */
static char byte_at(size_t i)
{
	return (char) ('!' + i % 89);
}

static void check(size_t total, size_t piece, size_t head_max, size_t tail_max)
{
	char data[512];
	struct capture c;
	struct buf head, tail, peeked_head, peeked_tail;

	capture_init(&c, head_max, tail_max);
	for (size_t i = 0; i < total;) {
		size_t n = MIN(piece, total - i);
		for (size_t k = 0; k < n; k++)
			data[k] = byte_at(i + k);
		capture_add(&c, data, n);
		i += n;
	}
	ck_assert_uint_eq(c.total, total);
	capture_peek(&c, &peeked_head, &peeked_tail);
	capture_finish(&c, &head, &tail);
	capture_done(&c);
	ck_assert_mem_eq(buf_cstr(&peeked_head), buf_cstr(&head), head.len + 1);
	ck_assert_mem_eq(buf_cstr(&peeked_tail), buf_cstr(&tail), tail.len + 1);
	buf_done(&peeked_head);
	buf_done(&peeked_tail);

	bool whole = total <= head_max + tail_max;
	ck_assert_uint_eq(head.len, whole ? total : head_max);
	ck_assert_uint_eq(tail.len, whole ? 0 : tail_max);
	for (size_t i = 0; i < head.len; i++)
		ck_assert_int_eq(head.p[i], byte_at(i));
	for (size_t i = 0; i < tail.len; i++)
		ck_assert_int_eq(tail.p[i], byte_at(total - tail_max + i));
	buf_done(&head);
	buf_done(&tail);
}

START_TEST(test_sizes)
{
	static const size_t maxima[] = { 0, 1, 7, 64 };

	for (size_t h = 0; h < ARRAY_LEN(maxima); h++)
		for (size_t t = 0; t < ARRAY_LEN(maxima); t++)
			for (size_t total = 0; total < 200; total++)
				for (size_t piece = 1; piece < 200; piece += 13)
					check(total, piece, maxima[h], maxima[t]);
}
END_TEST

UNIT_MAIN("mcp/capture", test_sizes)
