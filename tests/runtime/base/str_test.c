/*
 * Numbers, sizes and names from outside: tables of what is taken and what is refused, with the boundaries.
 */
#include "runtime/base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum { UNTOUCHED = 4711, ROUNDS = 100000, RANDOM_LEN_MAX = 24 };

struct number_case {
	const char *text;
	int result;
	uint64_t value;
};

typedef int parser(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

static void check_table(parser *parse, uint64_t min, uint64_t max, const struct number_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;
		int r = parse(cases[i].text, min, max, &value);
		ck_assert_msg(r == cases[i].result, "'%s': result %d, wanted %d", cases[i].text, r, cases[i].result);
		/* On failure nothing is stored. */
		ck_assert_msg(value == (r == 0 ? cases[i].value : UNTOUCHED), "'%s': value %ju", cases[i].text, (uintmax_t) value);
	}
}

START_TEST(test_uint)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "00", -EINVAL, 0 },
		{ "01", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1\n", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "\xd9\xa1", -EINVAL, 0 }, /* a digit, but not one of ours */
	};

	check_table(str_to_uint, 0, UINT64_MAX, cases, ARRAY_LEN(cases));
}
END_TEST

START_TEST(test_uint_bounds)
{
	static const struct number_case cases[] = {
		{ "9", -ERANGE, 0 }, { "10", 0, 10 }, { "20", 0, 20 }, { "21", -ERANGE, 0 }, { "x", -EINVAL, 0 },
	};

	check_table(str_to_uint, 10, 20, cases, ARRAY_LEN(cases));
}
END_TEST

START_TEST(test_size)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "1023", 0, 1023 },
		{ "5b", 0, 5 },
		{ "5B", 0, 5 },
		{ "1k", 0, 1024 },
		{ "1K", 0, 1024 },
		{ "1kb", 0, 1024 },
		{ "1KiB", 0, 1024 },
		{ "512m", 0, 512ULL << 20 },
		{ "2g", 0, 2ULL << 30 },
		{ "2Gib", 0, 2ULL << 30 },
		{ "3t", 0, 3ULL << 40 },
		{ "16777215t", 0, 16777215ULL << 40 },
		{ "16777216t", -ERANGE, 0 }, /* 2^64 */
		{ "18446744073709551615k", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "m", -EINVAL, 0 },
		{ "1.5g", -EINVAL, 0 },
		{ "1 k", -EINVAL, 0 },
		{ "-1k", -EINVAL, 0 },
		{ "01k", -EINVAL, 0 },
		{ "1kk", -EINVAL, 0 },
		{ "1ki", -EINVAL, 0 },
		{ "1bb", -EINVAL, 0 },
		{ "1bib", -EINVAL, 0 },
		{ "1p", -EINVAL, 0 },
		{ "1kibx", -EINVAL, 0 },
	};

	check_table(str_to_size, 0, UINT64_MAX, cases, ARRAY_LEN(cases));
}
END_TEST

START_TEST(test_size_bounds_count_bytes)
{
	static const struct number_case cases[] = {
		{ "4k", -ERANGE, 0 }, { "5k", 0, 5120 }, { "1m", 0, 1 << 20 }, { "1025k", -ERANGE, 0 },
	};

	check_table(str_to_size, 5000, 1 << 20, cases, ARRAY_LEN(cases));
}
END_TEST

START_TEST(test_milli)
{
	static const struct number_case cases[] = {
		{ "2", 0, 2000 },
		{ "1.5", 0, 1500 },
		{ "0.001", 0, 1 },
		{ ".5", 0, 500 },
		{ "1.050", 0, 1050 },
		{ "0", 0, 0 },
		{ "18446744073709551", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0.0001", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "1.2.3", -EINVAL, 0 },
		{ "1,5", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1.-5", -EINVAL, 0 },
		{ "1e1", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
	};

	check_table(str_to_milli, 0, UINT64_MAX, cases, ARRAY_LEN(cases));
}
END_TEST

START_TEST(test_name)
{
	static const char *const good[] = { "a", "A", "0", "a-b", "a.b_c-9", "12345678" };
	static const char *const bad[] = { "", "-a", ".", "..", ".a", "_a", "a/b", "a b", "a\n", "\xc3\xa4", "123456789" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ck_assert_msg(str_is_name(good[i], 8), "'%s'", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(!str_is_name(bad[i], 8), "'%s'", bad[i]);
}
END_TEST

/* What is written from a number, with every unit, is read as that number or refused by the bounds. */
START_TEST(test_written_numbers_are_read)
{
	static const char *const units[] = { "", "b", "k", "M", "gb", "TiB" };
	static const unsigned int shifts[] = { 0, 0, 10, 20, 30, 40 };
	struct seeded random = { .state = 1 };

	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t min = seeded_next(&random) >> seeded_below(&random, 64), value = UNTOUCHED;
		uint64_t max = min + (UINT64_MAX - min) / (1 + seeded_below(&random, 1000));
		uint64_t number = seeded_next(&random) >> seeded_below(&random, 64);
		size_t unit = seeded_below(&random, ARRAY_LEN(units));
		char text[64];

		(void) snprintf(text, sizeof(text), "%ju%s", (uintmax_t) number, units[unit]);
		bool fits = number <= UINT64_MAX >> shifts[unit];
		uint64_t wanted = fits ? number << shifts[unit] : 0;
		fits = fits && wanted >= min && wanted <= max;
		int r = str_to_size(text, min, max, &value);
		if (r != (fits ? 0 : -ERANGE) || value != (fits ? wanted : UNTOUCHED)) /* an assertion each time would take seconds */
			ck_abort_msg("'%s' in %ju..%ju: %d", text, (uintmax_t) min, (uintmax_t) max, r);

		(void) snprintf(text, sizeof(text), "%ju.%03ju", (uintmax_t) number / 1000, (uintmax_t) number % 1000);
		value = UNTOUCHED;
		r = str_to_milli(text, 0, UINT64_MAX, &value);
		fits = number / 1000 < UINT64_MAX / 1000;
		if (r != (fits ? 0 : -ERANGE) || value != (fits ? number : UNTOUCHED))
			ck_abort_msg("'%s': %d", text, r);
	}
}
END_TEST

/* Nearly-numbers: whatever a parser says yes to lies in the bounds; a no leaves the result alone. */
START_TEST(test_random_text)
{
	static const char alphabet[] = "0123456789019.bBkKmMgGtTiI -+e\n\xff";
	static const struct {
		parser *parse;
		uint64_t min, max;
	} parsers[] = { { str_to_uint, 5, 5000 }, { str_to_size, 5, 1 << 30 }, { str_to_milli, 5, 500000 } };
	struct seeded random = { .state = 2 };

	for (size_t p = 0; p < ARRAY_LEN(parsers); p++) {
		size_t taken = 0;
		for (size_t i = 0; i < ROUNDS; i++) {
			char text[RANDOM_LEN_MAX + 1], again[RANDOM_LEN_MAX + 1];
			uint64_t value = UNTOUCHED;

			seeded_text(&random, alphabet, sizeof(alphabet) - 1, text, i % 2 ? RANDOM_LEN_MAX : 4);
			int r = parsers[p].parse(text, parsers[p].min, parsers[p].max, &value);
			(void) snprintf(again, sizeof(again), "%ju", (uintmax_t) value);
			bool right = r == 0 ? value >= parsers[p].min && value <= parsers[p].max
					    : value == UNTOUCHED && (r == -EINVAL || r == -ERANGE);
			/* A plain number has one spelling only. */
			if (r == 0 && parsers[p].parse == str_to_uint)
				right = right && strcmp(again, text) == 0;
			if (!right)
				ck_abort_msg("'%s': %d %s", text, r, again);
			taken += r == 0;
		}
		ck_assert_uint_gt(taken, 100);
	}
}
END_TEST

START_TEST(test_same_variable)
{
	ck_assert(str_same_variable("A=1", "A=2"));
	ck_assert(str_same_variable("A=", "A="));
	ck_assert(!str_same_variable("A=1", "AB=1"));
	ck_assert(!str_same_variable("AB=1", "A=1"));
	ck_assert(!str_same_variable("A=1", "A"));
	ck_assert(!str_same_variable("A", "A=1"));
	ck_assert(!str_same_variable("a=1", "A=1"));
}
END_TEST

START_TEST(test_hex_value)
{
	ck_assert_int_eq(str_hex_value('0'), 0);
	ck_assert_int_eq(str_hex_value('9'), 9);
	ck_assert_int_eq(str_hex_value('a'), 10);
	ck_assert_int_eq(str_hex_value('F'), 15);
	static const char others[] = "/:@G`g \x80";
	for (size_t i = 0; i < sizeof(others); i++)
		ck_assert_int_eq(str_hex_value(others[i]), -1);
}
END_TEST

START_TEST(test_show_byte)
{
	for (int c = 0; c < 256; c++) {
		char shown[STR_SHOWN_BYTE_MAX + 1] = { 0 }, wanted[8];
		size_t len = str_show_byte(shown, (char) c);
		(void) snprintf(wanted, sizeof(wanted), c < 0x20 || c == 0x7f ? "\\x%02x" : "%c", c);
		ck_assert_str_eq(shown, wanted);
		ck_assert_uint_eq(len, strlen(wanted));
	}
}
END_TEST

UNIT_MAIN("runtime/base/str", test_hex_value, test_show_byte, test_uint, test_uint_bounds, test_size, test_size_bounds_count_bytes, test_milli, test_name,
	  test_written_numbers_are_read, test_random_text, test_same_variable)
