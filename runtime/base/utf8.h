/*
 * UTF-8 as the Unicode Standard defines it (no overlong forms, no surrogates, nothing above U+10FFFF).
 *
 * Lengths are in bytes; nothing here needs or writes a terminating NUL, and a NUL byte is an ordinary character.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/buf.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, in place of what is not UTF-8 */
#define UTF8_BOM "\xef\xbb\xbf"         /* U+FEFF, as a byte order mark */

/* Length of the byte order mark at the front of @s: 3 or 0. */
static inline size_t utf8_bom_length(const char *s, size_t n)
{
	const size_t len = sizeof(UTF8_BOM) - 1;

	return n >= len && memcmp(s, UTF8_BOM, len) == 0 ? len : 0;
}

/*
 * Length of the well-formed character at @s (and its code point in *@ret_cp, unless that is NULL), or 0 when there is
 * none.
 */
size_t utf8_decode(const char *s, size_t n, uint32_t *ret_cp);

/* Number of leading bytes that are well-formed: @n when all of it is, else the offset of the first bad byte. */
size_t utf8_valid_prefix(const char *s, size_t n);

static inline bool utf8_is_valid(const char *s, size_t n)
{
	return utf8_valid_prefix(s, n) == n;
}

/*
 * Appends @s to @out with one U+FFFD for each maximal ill-formed part, as browsers and Python do. At most 3 times as
 * long.
 */
void utf8_repair(struct buf *out, const char *s, size_t n);

/*
 * Appends @s to @out for a terminal or a log: repaired, and with a question mark for each character that one would obey or that hides
 * something (control characters, line ends, directions, invisible ones).
 */
void utf8_add_printable(struct buf *out, const char *s, size_t n);

/*
 * Length of the longest prefix of the @n bytes at @s that does not end within a character (what is ill-formed counts as
 * whole).
 */
size_t utf8_floor(const char *s, size_t n);

/*
 * Number of bytes (0 to 3) to skip at @s so that what follows does not begin within a character: for the tail of a
 * text.
 */
size_t utf8_skip_partial(const char *s, size_t n);
