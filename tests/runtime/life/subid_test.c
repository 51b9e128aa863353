/*
 * Subordinate ids: lines of /etc/subuid that are taken and lines that are not, and the map that is made of them. Whatever the
 * ranges are, no id of the host is mapped twice, root is on neither side, and the caller is where it belongs.
 */
#include "runtime/life/subid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum { OWN = 1001, UID = 1001, ROUNDS = 2000, TEXT_SIZE = 4096 };

static struct subid_ranges ranges;
static size_t line;

static int parse(const char *text)
{
	return subid_parse(text, "tester", UID, OWN, &ranges, &line);
}

static void taken(const char *text, size_t count, uint32_t start, uint32_t first_count)
{
	ck_assert_msg(parse(text) == 0, "'%s' was refused in line %zu", text, line);
	ck_assert_msg(ranges.count == count, "'%s' gave %zu ranges", text, ranges.count);
	ck_assert_msg(count == 0 || (ranges.rows[0].start == start && ranges.rows[0].count == first_count), "'%s'", text);
}

static void refused(const char *text, int errnum, size_t in_line)
{
	int r = parse(text);

	ck_assert_msg(r == -errnum && line == in_line, "'%s' gave %d in line %zu", text, r, line);
}

START_TEST(test_taken)
{
	taken("", 0, 0, 0);
	taken("\n\n# tester:1:1 is no line of ours\n", 0, 0, 0);
	taken("tester:100000:65536\n", 1, 100000, 65536);
	taken("tester:100000:65536", 1, 100000, 65536);
	taken("1001:100000:65536\n", 1, 100000, 65536);
	taken("other:1:1\ntester:100000:65536\nother:200000:65536\n", 1, 100000, 65536);
	taken("tester:100000:10\n1001:100010:10\ntester:50:1\n", 3, 100000, 10);
	taken("tester:4294967294:1\n", 1, 4294967294U, 1);
	taken("tester:1:1000\n", 1, 1, 1000);
	taken("tester:1002:4294966293\n", 1, 1002, 4294966293U);
	/* what others have there is their business */
	taken("other\nother:x:y\n:::\nteste:0:0\ntester2:0:0\n 1001:0:0\n01001:0:0\n", 0, 0, 0);
}
END_TEST

START_TEST(test_refused)
{
	static const char *const lines[] = {
		"tester", "tester:", "tester::", "tester:100000", "tester:100000:", "tester::65536", "tester:100000:65536:", "tester:100000:0",
		"tester:0:65536", "tester:-1:2", "tester:+100000:65536", "tester:0100000:65536", "tester:0x100:16", "tester: 100000:65536",
		"tester:100000:65536 ", "tester:100000:65536\r", "tester:4294967295:1", "tester:4294967294:2", "tester:100000:4294967295",
		"tester:99999999999999999999:1", "tester:1:1001", "tester:1001:1", "tester:1000:10", "tester:1e5:1", "1001:x:1",
	};
	char text[TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		refused(lines[i], EINVAL, 1);
		(void) snprintf(text, sizeof(text), "other:1:1\n\n%s\n", lines[i]);
		refused(text, EINVAL, 3);
	}
	refused("tester:100000:10\ntester:100009:1\n", EINVAL, 2);
	refused("tester:100009:1\ntester:100000:10\n", EINVAL, 2);
	refused("tester:100000:10\n1001:100000:10\n", EINVAL, 2);
}
END_TEST

START_TEST(test_too_many)
{
	char text[TEXT_SIZE] = "";
	size_t len = 0;

	for (unsigned int i = 0; i <= SUBID_RANGES_MAX; i++)
		len += (size_t) snprintf(text + len, sizeof(text) - len, "tester:%u:1\n", 100000 + i);
	refused(text, E2BIG, SUBID_RANGES_MAX + 1);
}
END_TEST

START_TEST(test_no_login)
{
	ck_assert_int_eq(subid_parse("tester:100000:1\n:5:1\n1001:7:1\n", NULL, UID, OWN, &ranges, &line), 0);
	ck_assert(ranges.count == 1 && ranges.rows[0].start == 7);
	ck_assert_int_eq(subid_parse(":5:1\n1001:7:1\n", "", UID, OWN, &ranges, &line), 0);
	ck_assert(ranges.count == 1 && ranges.rows[0].start == 7);
}
END_TEST

/* Which id of the host the inside id @inside is; 0 for none. */
static uint32_t outside(const struct subid_map *map, uint32_t inside)
{
	for (size_t i = 0; i < map->count; i++)
		if (inside >= map->rows[i].inside && inside - map->rows[i].inside < map->rows[i].count)
			return map->rows[i].outside + (inside - map->rows[i].inside);
	return 0;
}

START_TEST(test_plan)
{
	struct subid_map map;

	ck_assert_int_eq(parse("tester:100000:65536\n"), 0);
	subid_plan(&map, 1000, OWN, &ranges);
	ck_assert_uint_eq(map.count, 3);
	ck_assert_uint_eq(outside(&map, 0), 0);
	ck_assert_uint_eq(outside(&map, 1), 100000);
	ck_assert_uint_eq(outside(&map, 999), 100998);
	ck_assert_uint_eq(outside(&map, 1000), OWN);
	ck_assert_uint_eq(outside(&map, 1001), 101000);
	ck_assert_uint_eq(outside(&map, 65533), 165532);
	ck_assert_uint_eq(outside(&map, 65534), 0);

	subid_plan(&map, 1, OWN, &ranges);
	ck_assert(outside(&map, 1) == OWN && outside(&map, 2) == 100001 && map.count == 2);
	subid_plan(&map, 65533, OWN, &ranges);
	ck_assert(outside(&map, 65533) == OWN && outside(&map, 65532) == 165531 && map.count == 2);

	ck_assert_int_eq(parse("tester:500:3\ntester:100000:2\n"), 0);
	subid_plan(&map, 1000, OWN, &ranges);
	ck_assert(outside(&map, 1) == 500 && outside(&map, 3) == 502 && outside(&map, 4) == 100000 && outside(&map, 5) == 100001);
	ck_assert(outside(&map, 6) == 0 && outside(&map, 1000) == OWN);
	ck_assert_int_eq(parse(""), 0);
	subid_plan(&map, 1000, OWN, &ranges);
	ck_assert(map.count == 1 && outside(&map, 1000) == OWN);
}
END_TEST

static bool overlap(uint32_t a, uint32_t a_count, uint32_t b, uint32_t b_count)
{
	return a < b ? b - a < a_count : a - b < b_count;
}

static void check_map(const struct subid_map *map, uint32_t inside)
{
	ck_assert_uint_eq(outside(map, inside), OWN);
	for (size_t i = 0; i < map->count; i++) {
		const struct subid_extent *e = &map->rows[i];

		ck_assert(e->inside >= 1 && e->outside >= 1 && e->count >= 1 && e->count <= SUBID_INSIDE_MAX);
		ck_assert_uint_le(e->inside + e->count - 1, SUBID_INSIDE_MAX);
		ck_assert_uint_ge(UINT32_MAX - e->outside, e->count); /* (uid_t) -1 is not in it */
		for (size_t j = 0; j < i; j++) {
			const struct subid_extent *o = &map->rows[j];
			ck_assert(!overlap(e->inside, e->count, o->inside, o->count));
			ck_assert(!overlap(e->outside, e->count, o->outside, o->count));
		}
	}
}

START_TEST(test_random)
{
	struct seeded seed = { .state = 20261129 };
	char text[TEXT_SIZE];

	for (int round = 0; round < ROUNDS; round++) {
		size_t len = 0, lines = seeded_below(&seed, SUBID_RANGES_MAX) + 1;
		struct subid_map map;

		for (size_t i = 0; i < lines; i++)
			len += (size_t) snprintf(text + len, sizeof(text) - len, "tester:%u:%u\n",
						 (unsigned int) seeded_below(&seed, seeded_below(&seed, 2) ? 70000 : UINT32_MAX),
						 (unsigned int) seeded_below(&seed, 3000));
		if (parse(text) < 0) /* the lines before the wrong one are there */
			ck_assert_uint_lt(ranges.count, line);
		uint32_t inside = (uint32_t) seeded_below(&seed, SUBID_INSIDE_MAX) + 1;
		subid_plan(&map, inside, OWN, &ranges);
		check_map(&map, inside);
	}
}
END_TEST

UNIT_MAIN("runtime/life/subid", test_taken, test_refused, test_too_many, test_no_login, test_plan, test_random)
