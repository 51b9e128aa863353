/*
 * The two tokens of JSON (RFC 8259) that have a grammar of their own: numbers, and escapes in strings. The pre-scan of messages
 * and the checker of files both read them with these functions; what they say about a fault is their own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum json_number {
	JSON_NUMBER,
	JSON_NUMBER_ZERO,        /* it begins with 0, and digits follow */
	JSON_NUMBER_NO_DIGITS,   /* none at the beginning or behind the minus sign */
	JSON_NUMBER_NO_FRACTION, /* none behind the decimal point */
	JSON_NUMBER_NO_EXPONENT, /* none behind the exponent's e */
};

/* Reads the number at @p. *@ret_end is behind it, or where a digit is missing or one too many. */
enum json_number json_number(const char *p, const char *end, const char **ret_end);

enum json_escape {
	JSON_ESCAPE,
	JSON_ESCAPE_LONE,    /* half a surrogate pair */
	JSON_ESCAPE_CUT,     /* the text ends behind the backslash */
	JSON_ESCAPE_UNKNOWN, /* no letter that JSON knows */
	JSON_ESCAPE_NO_HEX,  /* \u without four hexadecimal digits */
};

/*
 * Reads the escape whose backslash is at @p. For the first two kinds, *@ret_len is its length (2, 6, or 12 for a pair) and
 * *@ret_character what it stands for: a code point, or the half as it is.
 */
enum json_escape json_escape(const char *p, const char *end, size_t *ret_len, uint32_t *ret_character);
