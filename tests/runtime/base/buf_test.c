/*
 * The growable buffer: its maximum, its sticky failure, what it hands over.
 */
#include "runtime/base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/unit.h"

START_TEST(test_empty)
{
	_cleanup_buf_ struct buf b = BUF_INIT(10);

	ck_assert_ptr_null(b.p);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_str_eq(buf_cstr(&b), "");
	ck_assert_int_eq(buf_error(&b), 0);

	/* Adding nothing is no failure and leaves a C string. */
	buf_add(&b, NULL, 0);
	buf_add_str(&b, "");
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_str_eq(buf_cstr(&b), "");
}
END_TEST

START_TEST(test_exactly_the_maximum)
{
	_cleanup_buf_ struct buf b = BUF_INIT(5);

	buf_add_str(&b, "12345");
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_str_eq(b.p, "12345");
	buf_add(&b, NULL, 0);
	ck_assert_int_eq(buf_error(&b), 0);
	buf_add_char(&b, '6');
	ck_assert_int_eq(buf_error(&b), -E2BIG);
	ck_assert_str_eq(b.p, "12345");
}
END_TEST

START_TEST(test_failure_is_sticky)
{
	_cleanup_buf_ struct buf b = BUF_INIT(5);

	buf_add_str(&b, "123");
	buf_add_str(&b, "456");
	ck_assert_int_eq(buf_error(&b), -E2BIG);
	/* What would fit is refused too: the content is a prefix of what was asked for, never one with a hole. */
	buf_add_char(&b, '4');
	buf_addf(&b, "%d", 5);
	ck_assert_ptr_null(buf_reserve(&b, 0));
	ck_assert_str_eq(b.p, "123");
	ck_assert_ptr_null(buf_take(&b, NULL));

	buf_clear(&b);
	ck_assert_int_eq(buf_error(&b), 0);
	buf_add_str(&b, "54321");
	ck_assert_str_eq(b.p, "54321");
}
END_TEST

START_TEST(test_huge_length_does_not_wrap)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100);

	buf_add_char(&b, 'x');
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	ck_assert_int_eq(buf_error(&b), -E2BIG);
	buf_clear(&b);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX - 1));
	ck_assert_int_eq(buf_error(&b), -E2BIG);
}
END_TEST

START_TEST(test_grows_and_keeps_content)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100000);

	for (unsigned int i = 0; i < 100000; i++)
		buf_add_char(&b, (char) ('a' + i % 26));
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_uint_eq(b.len, 100000);
	ck_assert_uint_eq(strlen(b.p), 100000);
	for (unsigned int i = 0; i < 100000; i++)
		ck_assert_int_eq(b.p[i], 'a' + (int) (i % 26));
	/* Not much more memory is held than the maximum asks for. */
	ck_assert_uint_le(b.cap, 100001);
}
END_TEST

START_TEST(test_any_bytes)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100);

	buf_add(&b, "a\0b\xff", 4);
	buf_add_char(&b, '\0');
	ck_assert_uint_eq(b.len, 5);
	ck_assert_mem_eq(b.p, "a\0b\xff\0", 6);
}
END_TEST

START_TEST(test_format)
{
	_cleanup_buf_ struct buf b = BUF_INIT(400);

	buf_addf(&b, "%s=%d;", "x", -5);
	buf_addf(&b, "%s", "");
	ck_assert_str_eq(b.p, "x=-5;");
	buf_addf(&b, "%0300d", 1);
	ck_assert_uint_eq(b.len, 305);
	ck_assert_int_eq(b.p[304], '1');
	/* Formatted text is taken whole or not at all. */
	buf_addf(&b, "%096d", 1);
	ck_assert_int_eq(buf_error(&b), -E2BIG);
	ck_assert_uint_eq(b.len, 305);
	ck_assert_int_eq(b.p[305], '\0');
}
END_TEST

START_TEST(test_reserve)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);
	char *to = buf_reserve(&b, 8);

	ck_assert_ptr_nonnull(to);
	ck_assert_uint_eq(b.len, 0);
	memcpy(to, "12345678", 8);
	b.len = 8;
	ck_assert_ptr_null(buf_reserve(&b, 1));
	ck_assert_int_eq(buf_error(&b), -E2BIG);
}
END_TEST

START_TEST(test_consume)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);

	buf_consume(&b, 3); /* of nothing */
	buf_add_str(&b, "abcdefgh");
	buf_consume(&b, 0);
	ck_assert_str_eq(b.p, "abcdefgh");
	buf_consume(&b, 3);
	ck_assert_str_eq(b.p, "defgh");
	buf_add_str(&b, "123"); /* the room is free again */
	ck_assert_str_eq(b.p, "defgh123");
	buf_consume(&b, 100);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_str_eq(b.p, "");
}
END_TEST

START_TEST(test_truncate)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);

	buf_truncate(&b, 0);
	buf_truncate(&b, 5);
	buf_add_str(&b, "abcdef");
	buf_truncate(&b, 6);
	buf_truncate(&b, 7); /* never lengthens */
	ck_assert_str_eq(b.p, "abcdef");
	buf_truncate(&b, 2);
	ck_assert_str_eq(b.p, "ab");
	buf_truncate(&b, 0);
	ck_assert_str_eq(b.p, "");
}
END_TEST

START_TEST(test_take)
{
	struct buf b = BUF_INIT(8);
	size_t len = 99;

	char *p = buf_take(&b, &len); /* of an empty buffer: a string all the same */
	ck_assert_ptr_nonnull(p);
	ck_assert_str_eq(p, "");
	ck_assert_uint_eq(len, 0);
	free(p);

	buf_add_str(&b, "abc");
	p = buf_take(&b, &len);
	ck_assert_str_eq(p, "abc");
	ck_assert_uint_eq(len, 3);
	free(p);

	/* The buffer is empty and of use again. */
	ck_assert_ptr_null(b.p);
	buf_add_str(&b, "12345678");
	ck_assert_int_eq(buf_error(&b), 0);
	buf_done(&b);
	ck_assert_ptr_null(b.p);
	buf_done(&b);
}
END_TEST

/* What a pipe holds comes behind what is there; a full buffer is told from the end, and a descriptor that is none from both. */
START_TEST(test_read_fd)
{
	static const struct {
		size_t max;
		int result;
	} rows[] = { { 8, 0 }, { 7, -EFBIG }, { 5, -EFBIG } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = BUF_INIT(rows[i].max);
		int ends[2];

		ck_assert_int_eq(pipe(ends), 0);
		ck_assert_int_eq(write(ends[1], "cd\0ef", 5), 5);
		ck_assert_int_eq(close(ends[1]), 0);
		buf_add_str(&b, "ab");
		ck_assert_int_eq(buf_read_fd(&b, ends[0]), rows[i].result);
		ck_assert_uint_eq(b.len, MIN(rows[i].max, (size_t) 7));
		ck_assert_mem_eq(b.p, "abcd\0ef", b.len);
		ck_assert_int_eq(b.p[b.len], '\0');
		ck_assert_int_eq(close(ends[0]), 0);
		ck_assert_int_eq(buf_read_fd(&b, ends[0]), rows[i].result ? -EFBIG : -EBADF);
		buf_done(&b);
	}
}
END_TEST

UNIT_MAIN("runtime/base/buf", test_empty, test_exactly_the_maximum, test_failure_is_sticky,
	  test_huge_length_does_not_wrap, test_grows_and_keeps_content, test_any_bytes, test_format, test_reserve,
	  test_consume, test_truncate, test_take, test_read_fd)
