/*
 * Numbers and escapes of JSON: see json_token.h. Pure functions over hostile bytes, in cloche-mcp without any capability.
 */
#include "mcp/json_token.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "runtime/base/str.h"

enum { UNIT_LEN = 6 }; /* of "\u1234" */

/* Steps over digits. False when there is none. */
static bool take_digits(const char **p, const char *end)
{
	const char *first = *p;

	while (*p < end && **p >= '0' && **p <= '9')
		++*p;
	return *p > first;
}

enum json_number json_number(const char *p, const char *end, const char **ret_end)
{
	const char **at = ret_end;

	*at = p;
	if (*at < end && **at == '-')
		++*at;
	const char *first = *at;
	if (!take_digits(at, end))
		return JSON_NUMBER_NO_DIGITS;
	if (*first == '0' && *at - first > 1) {
		*at = first + 1;
		return JSON_NUMBER_ZERO;
	}
	if (*at < end && **at == '.') {
		++*at;
		if (!take_digits(at, end))
			return JSON_NUMBER_NO_FRACTION;
	}
	if (*at < end && (**at == 'e' || **at == 'E')) {
		++*at;
		if (*at < end && (**at == '+' || **at == '-'))
			++*at;
		if (!take_digits(at, end))
			return JSON_NUMBER_NO_EXPONENT;
	}
	return JSON_NUMBER;
}

/* The unit of UTF-16 that "\uXXXX" at @p stands for, or -1 when it is none. */
static int unit_at(const char *p, const char *end)
{
	int unit = 0;

	if (end - p < UNIT_LEN || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < UNIT_LEN; i++) {
		int digit = str_hex_value(p[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

enum json_escape json_escape(const char *p, const char *end, size_t *ret_len, uint32_t *ret_character)
{
	static const char letters[] = { '"', '\\', '/', 'b', 'f', 'n', 'r', 't' }, values[] = "\"\\/\b\f\n\r\t";

	if (end - p < 2)
		return JSON_ESCAPE_CUT;
	if (p[1] != 'u') {
		const char *letter = memchr(letters, p[1], sizeof(letters));
		if (!letter)
			return JSON_ESCAPE_UNKNOWN;
		*ret_len = 2;
		*ret_character = (unsigned char) values[letter - letters];
		return JSON_ESCAPE;
	}
	int unit = unit_at(p, end), low = -1;
	if (unit < 0)
		return JSON_ESCAPE_NO_HEX;
	*ret_len = UNIT_LEN;
	*ret_character = (uint32_t) unit;
	if (unit < 0xd800 || unit > 0xdfff)
		return JSON_ESCAPE;
	if (unit < 0xdc00)
		low = unit_at(p + UNIT_LEN, end);
	if (low < 0xdc00 || low > 0xdfff)
		return JSON_ESCAPE_LONE;
	*ret_len = 2 * UNIT_LEN;
	*ret_character = 0x10000 + ((uint32_t) (unit - 0xd800) << 10) + (uint32_t) (low - 0xdc00);
	return JSON_ESCAPE;
}
