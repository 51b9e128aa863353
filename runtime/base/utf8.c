/*
 * UTF-8: decoding, checking and repairing. Pure functions, used on both sides of the wall.
 */
#include "runtime/base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/attr.h"

/* What may follow a lead byte (Unicode Standard, table 3-7): the rest of the sequence is always 0x80 to 0xBF. */
struct lead {
	unsigned char length; /* of the whole character; 0 = not a lead byte */
	unsigned char low, high; /* bounds of the second byte */
};

static struct lead lead_of(unsigned char c)
{
	if (c < 0x80)
		return (struct lead) { 1, 0, 0 };
	if (c < 0xC2 || c > 0xF4)
		return (struct lead) { 0, 0, 0 };
	if (c < 0xE0)
		return (struct lead) { 2, 0x80, 0xBF };
	switch (c) {
	case 0xE0:
		return (struct lead) { 3, 0xA0, 0xBF };
	case 0xED:
		return (struct lead) { 3, 0x80, 0x9F };
	case 0xF0:
		return (struct lead) { 4, 0x90, 0xBF };
	case 0xF4:
		return (struct lead) { 4, 0x80, 0x8F };
	default:
		return (struct lead) { c < 0xF0 ? 3 : 4, 0x80, 0xBF };
	}
}

enum step {
	STEP_GOOD,
	STEP_BAD,   /* ill-formed, whatever follows */
	STEP_SHORT, /* well-formed so far, cut off by the end */
};

/* Looks at the character at @s (@n > 0). *@ret_len is its length, or that of the maximal ill-formed part. */
static enum step step_over(const char *s, size_t n, size_t *ret_len)
{
	struct lead lead = lead_of((unsigned char) s[0]);
	size_t len = 1;

	for (; len < lead.length && len < n; len++) {
		unsigned char c = (unsigned char) s[len];
		unsigned char low = len == 1 ? lead.low : 0x80, high = len == 1 ? lead.high : 0xBF;

		if (c < low || c > high) {
			*ret_len = len;
			return STEP_BAD;
		}
	}
	*ret_len = len;
	if (lead.length == 0)
		return STEP_BAD;
	return len == lead.length ? STEP_GOOD : STEP_SHORT;
}

/* Number of leading ASCII bytes, a word at a time: most text is nothing else. */
static size_t ascii_prefix(const char *s, size_t n)
{
	size_t i = 0;

	for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, s + i, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	while (i < n && (unsigned char) s[i] < 0x80)
		i++;
	return i;
}

size_t utf8_decode(const char *s, size_t n, uint32_t *ret_cp)
{
	static const unsigned char lead_bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	size_t len;

	if (n == 0 || step_over(s, n, &len) != STEP_GOOD)
		return 0;
	uint32_t cp = (unsigned char) s[0] & lead_bits[len];
	for (size_t i = 1; i < len; i++)
		cp = cp << 6 | ((unsigned char) s[i] & 0x3F);
	if (ret_cp)
		*ret_cp = cp;
	return len;
}

size_t utf8_valid_prefix(const char *s, size_t n)
{
	size_t i = 0;

	for (;;) {
		size_t len;

		i += ascii_prefix(s + i, n - i);
		if (i == n || step_over(s + i, n - i, &len) != STEP_GOOD)
			return i;
		i += len;
	}
}

void utf8_repair(struct buf *out, const char *s, size_t n)
{
	while (n > 0) {
		size_t good = utf8_valid_prefix(s, n), bad;

		buf_add(out, s, good);
		s += good;
		n -= good;
		if (n == 0)
			return;
		(void) step_over(s, n, &bad);
		buf_add_str(out, UTF8_REPLACEMENT);
		s += bad;
		n -= bad;
	}
}

static bool is_harmless(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} refused[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f },                         /* control characters */
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, /* invisible ones, line ends, directions */
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	};

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (c >= refused[i].first && c <= refused[i].last)
			return false;
	return true;
}

void utf8_add_printable(struct buf *out, const char *s, size_t n)
{
	_cleanup_buf_ struct buf good = BUF_INIT(3 * n + 1);

	utf8_repair(&good, s, n);
	for (size_t i = 0; i < good.len;) {
		uint32_t c = '?';
		size_t len = utf8_decode(good.p + i, good.len - i, &c);
		if (len == 0)
			return; /* what was repaired has no such place */
		if (is_harmless(c))
			buf_add(out, good.p + i, len);
		else
			buf_add_char(out, '?');
		i += len;
	}
}

size_t utf8_floor(const char *s, size_t n)
{
	/* Only the last three bytes can begin a character that is not complete. */
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		size_t len;

		if (((unsigned char) s[n - back] & 0xC0) == 0x80)
			continue;
		return step_over(s + n - back, back, &len) == STEP_SHORT ? n - back : n;
	}
	return n;
}

size_t utf8_skip_partial(const char *s, size_t n)
{
	size_t skip = 0;

	while (skip < n && skip < 3 && ((unsigned char) s[skip] & 0xC0) == 0x80)
		skip++;
	return skip;
}
