/*
 * Elapsed time: the unit, and a start whose nanoseconds are above those of now.
 */
#include "runtime/base/clock.h"

#include "tests/harness/unit.h"

enum { SECOND_US = 1000000, GENEROUS_US = 5 * SECOND_US, SECOND_NS = 1000000000 };

START_TEST(test_elapsed)
{
	struct timespec start = clock_now();
	uint64_t first = clock_us_since(&start);
	uint64_t second = clock_us_since(&start);

	ck_assert_uint_le(first, second);
	ck_assert_uint_lt(second, GENEROUS_US);
}
END_TEST

START_TEST(test_sleep_is_counted_in_microseconds)
{
	static const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct timespec start = clock_now();

	while (nanosleep(&pause, NULL) != 0)
		;
	uint64_t us = clock_us_since(&start);
	ck_assert_uint_ge(us, 20 * 1000);
	ck_assert_uint_lt(us, GENEROUS_US);
}
END_TEST

START_TEST(test_across_a_second)
{
	struct timespec now = clock_now();
	/* One nanosecond before the second that began before the last one. */
	struct timespec start = { .tv_sec = now.tv_sec - 2, .tv_nsec = SECOND_NS - 1 };
	uint64_t expected = (uint64_t) (SECOND_US + now.tv_nsec / 1000);
	uint64_t us = clock_us_since(&start);
	/* What passed between the two looks at the clock, and one for each rounding. */
	uint64_t more = clock_us_since(&now) + 2;

	ck_assert_uint_ge(us, expected);
	ck_assert_uint_le(us, expected + more);
}
END_TEST

UNIT_MAIN("runtime/base/clock", test_elapsed, test_sleep_is_counted_in_microseconds, test_across_a_second)
