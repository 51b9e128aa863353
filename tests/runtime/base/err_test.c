/*
 * Error objects: the number that comes back, the text, and the exit status of each code.
 */
#include "runtime/base/err.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/unit.h"

START_TEST(test_set)
{
	struct err err = { 0 };

	ck_assert_int_eq(err_set(&err, ERR_SYSTEM, ENOENT, "cannot open '%s': %m", "/x"), -ENOENT);
	ck_assert_int_eq(err.code, ERR_SYSTEM);
	ck_assert_int_eq(err.errnum, ENOENT);
	ck_assert_str_eq(err.text, "cannot open '/x': No such file or directory");
}
END_TEST

/* %m in the text means the number that was given, whatever errno holds at that moment. */
START_TEST(test_percent_m_is_the_given_number)
{
	struct err err = { 0 };

	errno = EBUSY;
	(void) err_set(&err, ERR_SYSTEM, EPERM, "%m");
	ck_assert_str_eq(err.text, "Operation not permitted");
}
END_TEST

START_TEST(test_without_number)
{
	struct err err = { 0 };

	ck_assert_int_eq(err_set(&err, ERR_USAGE, 0, "no"), -EINVAL);
	ck_assert_int_eq(err.errnum, 0);
	ck_assert_int_eq(err_wrap(&err, "more"), -EINVAL);
	ck_assert_str_eq(err.text, "more: no");
}
END_TEST

START_TEST(test_null_is_allowed)
{
	ck_assert_int_eq(err_set(NULL, ERR_USAGE, ENOMEM, "%s", "x"), -ENOMEM);
	ck_assert_int_eq(err_set(NULL, ERR_USAGE, 0, "%s", "x"), -EINVAL);
	ck_assert_int_eq(err_wrap(NULL, "%s", "x"), -EINVAL);
}
END_TEST

START_TEST(test_wrap)
{
	struct err err = { 0 };

	(void) err_set(&err, ERR_NOT_FOUND, ENOENT, "it is not there");
	ck_assert_int_eq(err_wrap(&err, "step %d", 2), -ENOENT);
	ck_assert_int_eq(err_wrap(&err, "start"), -ENOENT);
	ck_assert_int_eq(err.code, ERR_NOT_FOUND);
	ck_assert_str_eq(err.text, "start: step 2: it is not there");
}
END_TEST

/* Text of any length is cut, stays terminated, and what was added in front survives. */
START_TEST(test_long_texts)
{
	struct err err = { 0 };
	char lots[4 * ERR_TEXT_MAX];

	memset(lots, 'x', sizeof(lots) - 1);
	lots[sizeof(lots) - 1] = '\0';
	ck_assert_int_eq(err_set(&err, ERR_SYSTEM, EIO, "%s", lots), -EIO);
	ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	ck_assert_int_eq(err_wrap(&err, "in front"), -EIO);
	ck_assert_int_eq(strncmp(err.text, "in front: xxx", 13), 0);
	ck_assert_uint_lt(strlen(err.text), ERR_TEXT_MAX);
	ck_assert_int_eq(err_wrap(&err, "%s", lots), -EIO);
	ck_assert_uint_lt(strlen(err.text), ERR_TEXT_MAX);
}
END_TEST

START_TEST(test_exit_status)
{
	ck_assert_int_eq(err_exit_status(ERR_NONE), 0);
	ck_assert_int_eq(err_exit_status(ERR_USAGE), 125);
	ck_assert_int_eq(err_exit_status(ERR_UNSUPPORTED), 125);
	ck_assert_int_eq(err_exit_status(ERR_SYSTEM), 125);
	ck_assert_int_eq(err_exit_status(ERR_NOT_FOUND), 127);
	ck_assert_int_eq(err_exit_status(ERR_NOT_EXEC), 126);
	ck_assert_int_eq(err_exit_status((enum err_code) 999), 125);
}
END_TEST

UNIT_MAIN("runtime/base/err", test_set, test_percent_m_is_the_given_number, test_without_number, test_null_is_allowed,
	  test_wrap, test_long_texts, test_exit_status)
