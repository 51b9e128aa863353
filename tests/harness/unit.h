/*
 * What every unit test program shares: libcheck, a main() and a few checks.
 *
 * A program defines its tests with START_TEST/END_TEST and ends in
 *     UNIT_MAIN("runtime/base/buf", test_empty, test_limit, …)
 * libcheck runs each test in a process of its own with a timeout, and prints TAP when tools/run-tests asks for it.
 */
#pragma once

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

enum { UNIT_TIMEOUT_S = 30 }; /* only to catch a hang */

/* Runs @count tests as one suite named @name. The exit status for main(). */
static inline int unit_run(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, UNIT_TIMEOUT_S);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define UNIT_MAIN(name, ...)                                                                                           \
	int main(void)                                                                                                 \
	{                                                                                                              \
		const TTest *const tests[] = { __VA_ARGS__ };                                                          \
		return unit_run(name, tests, sizeof(tests) / sizeof(tests[0]));                                        \
	}
