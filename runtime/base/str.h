/*
 * Numbers, sizes and names from outside. Every parser takes the whole string or fails: -EINVAL when it is not of the form,
 * -ERANGE when the value lies outside the given bounds. On failure nothing is stored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"

/* Decimal digits only: no sign, no blank, no leading zero but "0" itself. */
int str_to_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret) _must_check_;

/* A size in bytes as Docker writes it: digits with an optional b, k, m, g or t (powers of 1024, any case; kb, kib too). */
int str_to_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret) _must_check_;

/* A positive decimal fraction such as 1.5, in thousandths. At most three decimals count, more are refused. */
int str_to_milli(const char *s, uint64_t min, uint64_t max, uint64_t *ret) _must_check_;

/* A name of 1 to @max letters, digits, '_', '.', '-', beginning with a letter or digit. */
bool str_is_name(const char *s, size_t max);

/* True when two assignments "NAME=value" are to the same name. */
bool str_same_variable(const char *a, const char *b);

/* What the hexadecimal digit @c is worth, or -1. */
int str_hex_value(char c);

enum { STR_SHOWN_BYTE_MAX = 4 };

/*
 * The byte @c as it may stand on a line for people: as it is, or \xNN when it is a control character, so that no text from
 * outside forges a line. Writes it to @to, without a NUL; returns its length.
 */
size_t str_show_byte(char to[static STR_SHOWN_BYTE_MAX], char c);

/* True for a character that belongs in a host name label, a file name of ours or an identifier. */
static inline bool str_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
