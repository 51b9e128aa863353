/*
 * A set of hashes: what was added is found, also through every growth and among those that fall on one slot; nothing
 * beyond the maximum.
 */
#include "mcp/hashset.h"

#include "runtime/base/attr.h"
#include "tests/harness/unit.h"

enum { MANY = 4096 };

/* Adds @count hashes that are @step apart. All must be new the first time and known the second. */
static void fill(size_t count, uint64_t step)
{
	_cleanup_(hashset_done) struct hashset set = HASHSET_INIT(MANY);

	for (uint64_t i = 1; i <= count; i++)
		ck_assert_msg(!hashset_add(&set, i * step), "%ju of %ju", (uintmax_t) i, (uintmax_t) step);
	for (uint64_t i = 1; i <= count; i++)
		ck_assert_msg(hashset_add(&set, i * step), "%ju of %ju", (uintmax_t) i, (uintmax_t) step);
	ck_assert_uint_eq(set.used, count);
}

START_TEST(test_found_again)
{
	fill(1, 1);
	fill(MANY - 1, 1);
	fill(MANY - 1, UINT64_C(0x9e3779b97f4a7c15));
	fill(300, UINT64_C(1) << 40); /* all on one slot */
}
END_TEST

START_TEST(test_maximum)
{
	_cleanup_(hashset_done) struct hashset set = HASHSET_INIT(MANY);

	for (uint64_t i = 1; i <= MANY; i++)
		ck_assert(!hashset_add(&set, i));
	ck_assert(!hashset_add(&set, MANY + 1));
	ck_assert(!hashset_add(&set, MANY + 1)); /* it was not remembered */
	ck_assert_uint_eq(set.used, MANY);
}
END_TEST

UNIT_MAIN("mcp/hashset", test_found_again, test_maximum)
