/*
 * The tokens of the strict pre-scan: see scan_token.h. Runs in cloche-mcp, without any capability; sees hostile bytes.
 */
#include "mcp/scan_token.h"

#include <string.h>

#include "mcp/json_token.h"
#include "runtime/base/utf8.h"

/* In place of what no text may hold, where an escape stood. */
static const char replacement[] = "\\ufffd";

bool scan_token_fail(struct scan_token *s, enum scan_result result, const char *problem)
{
	if (s->result == SCAN_OK) {
		s->result = result;
		s->problem = problem;
		s->offset = (size_t) (s->p - s->start);
	}
	return false;
}

void scan_token_emit(struct scan_token *s, const char *data, size_t len)
{
	if (s->to)
		buf_add(s->to, data, len);
}

void scan_token_skip_space(struct scan_token *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
		s->p++;
}

bool scan_token_take(struct scan_token *s, char c)
{
	scan_token_skip_space(s);
	if (s->p >= s->end || *s->p != c)
		return false;
	scan_token_emit(s, s->p++, 1);
	return true;
}

static bool escape(struct scan_token *s)
{
	static const char *const problems[] = {
		[JSON_ESCAPE_CUT] = "a string does not end",
		[JSON_ESCAPE_UNKNOWN] = "unknown escape in a string",
		[JSON_ESCAPE_NO_HEX] = "\\u without four hexadecimal digits",
	};
	uint32_t character = 0;
	size_t len = 0;
	enum json_escape kind = json_escape(s->p, s->end, &len, &character);

	if (kind != JSON_ESCAPE && kind != JSON_ESCAPE_LONE)
		return scan_token_fail(s, SCAN_SYNTAX, problems[kind]);
	if (!s->verbatim && character == 0)
		s->nul = true;
	if (!s->verbatim && (kind == JSON_ESCAPE_LONE || character == 0))
		scan_token_emit(s, replacement, sizeof(replacement) - 1);
	else
		scan_token_emit(s, s->p, len);
	s->p += len;
	return true;
}

/* Takes one byte below 0x20 or one sequence from 0x80 up. */
static void odd_character(struct scan_token *s)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char c = (unsigned char) *s->p;

	if (c == 0 && !s->verbatim) {
		s->nul = true;
		scan_token_emit(s, replacement, sizeof(replacement) - 1);
		s->p++;
	} else if (c < 0x20) {
		const char text[] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };
		scan_token_emit(s, text, sizeof(text));
		s->p++;
	} else {
		size_t len = utf8_decode(s->p, (size_t) (s->end - s->p), NULL);
		if (len > 0)
			scan_token_emit(s, s->p, len);
		else
			scan_token_emit(s, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		s->p += MAX(len, (size_t) 1);
	}
}

bool scan_token_string(struct scan_token *s)
{
	scan_token_emit(s, s->p++, 1);
	while (s->p < s->end) {
		const char *run = s->p;
		while (s->p < s->end && (unsigned char) (*s->p - 0x20) < 0x60 && *s->p != '"' && *s->p != '\\')
			s->p++;
		scan_token_emit(s, run, (size_t) (s->p - run));
		if (s->p >= s->end)
			break;
		if (*s->p == '"') {
			scan_token_emit(s, s->p++, 1);
			return true;
		}
		if (*s->p != '\\')
			odd_character(s);
		else if (!escape(s))
			return false;
	}
	return scan_token_fail(s, SCAN_SYNTAX, "a string does not end");
}

bool scan_token_number(struct scan_token *s)
{
	const char *first = s->p;

	if (json_number(s->p, s->end, &s->p) != JSON_NUMBER)
		return scan_token_fail(s, SCAN_SYNTAX, "a number is malformed");
	if (s->p - first > SCAN_NUMBER_MAX && !s->verbatim)
		return scan_token_fail(s, SCAN_SYNTAX, "a number has too many digits");
	scan_token_emit(s, first, (size_t) (s->p - first));
	return true;
}

bool scan_token_word(struct scan_token *s, const char *text)
{
	size_t len = strlen(text);

	if ((size_t) (s->end - s->p) < len || memcmp(s->p, text, len) != 0)
		return scan_token_fail(s, SCAN_SYNTAX, "unexpected text");
	scan_token_emit(s, text, len);
	s->p += len;
	return true;
}
