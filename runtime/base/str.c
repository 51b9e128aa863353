/*
 * Numbers, sizes and names from outside: see str.h.
 */
#include "runtime/base/str.h"

#include <errno.h>
#include <string.h>

/* Reads digits at *@s, moves it behind them. -EINVAL without a digit or with a leading zero, -ERANGE on overflow. */
static int digits(const char **s, uint64_t *ret)
{
	const char *p = *s;
	uint64_t value = 0;

	if (*p < '0' || *p > '9' || (p[0] == '0' && p[1] >= '0' && p[1] <= '9'))
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t) (*p - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	*s = p;
	*ret = value;
	return 0;
}

static int bounded(uint64_t value, uint64_t min, uint64_t max, uint64_t *ret)
{
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int str_to_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value;
	int r = digits(&s, &value);

	if (r < 0)
		return r;
	return *s ? -EINVAL : bounded(value, min, max, ret);
}

int str_to_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	static const struct {
		char letter;
		unsigned int shift;
	} units[] = { { 'b', 0 }, { 'k', 10 }, { 'm', 20 }, { 'g', 30 }, { 't', 40 } };
	uint64_t value;
	int r = digits(&s, &value);

	if (r < 0)
		return r;
	if (!*s)
		return bounded(value, min, max, ret);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if ((*s | 0x20) != units[i].letter)
			continue;
		const char *rest = s + 1;
		if (units[i].shift && (*rest | 0x20) == 'i' && (rest[1] | 0x20) == 'b')
			rest += 2;
		else if (units[i].shift && (*rest | 0x20) == 'b')
			rest++;
		if (*rest)
			return -EINVAL;
		if (value > (UINT64_MAX >> units[i].shift))
			return -ERANGE;
		return bounded(value << units[i].shift, min, max, ret);
	}
	return -EINVAL;
}

int str_to_milli(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t whole = 0, fraction = 0;
	int r = *s == '.' ? 0 : digits(&s, &whole);

	if (r < 0)
		return r;
	if (whole > UINT64_MAX / 1000 - 1)
		return -ERANGE;
	if (*s == '.') {
		uint64_t unit = 100;
		if (s[1] < '0' || s[1] > '9')
			return -EINVAL;
		for (s++; *s >= '0' && *s <= '9'; s++, unit /= 10) {
			if (unit == 0)
				return -EINVAL;
			fraction += (uint64_t) (*s - '0') * unit;
		}
	}
	return *s ? -EINVAL : bounded(whole * 1000 + fraction, min, max, ret);
}

bool str_is_name(const char *s, size_t max)
{
	size_t len = strlen(s);

	if (len == 0 || len > max || !str_is_alnum(s[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!str_is_alnum(s[i]) && s[i] != '_' && s[i] != '.' && s[i] != '-')
			return false;
	return true;
}

bool str_same_variable(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return strncmp(a, b, len) == 0 && a[len] == '=' && b[len] == '=';
}

int str_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t str_show_byte(char to[static STR_SHOWN_BYTE_MAX], char c)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char byte = (unsigned char) c;

	to[0] = c;
	if (byte >= 0x20 && byte != 0x7f)
		return 1;
	to[0] = '\\';
	to[1] = 'x';
	to[2] = digits[byte >> 4];
	to[3] = digits[byte & 15];
	return STR_SHOWN_BYTE_MAX;
}
