/*
 * A strict JSON checker: see check_json.h. A pure function over hostile bytes: iterative, one pass, with a fixed depth.
 */
#include "mcp/check_json.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/hashset.h"
#include "mcp/json_token.h"
#include "mcp/text.h"
#include "runtime/base/hash.h"
#include "runtime/base/utf8.h"

enum { JSON_SHOWN_NAME = 40 };

struct level {
	bool object;
	uint64_t serial; /* of the object: equal names in different objects are no repetition */
};

struct json {
	const char *start, *p, *end;
	const char *bad; /* where it went wrong, or NULL */
	bool too_deep;
	char text[CHECK_TEXT_MAX / 2];
	struct hashset names; /* of objects, each mixed with the number of its object */
	uint64_t objects;
	const char *repeated; /* the first name that was repeated (its opening quote) */
	const char *number_word; /* the first NaN or Infinity */
	size_t depth;
	struct level level[JSON_DEPTH_MAX];
};

_printf_(3, 4) static bool wrong(struct json *j, const char *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(j->text, sizeof(j->text), fmt, ap);
	va_end(ap);
	j->bad = at;
	return false;
}

/* Complains about what stands at j->p instead of @wanted. */
static bool expected(struct json *j, const char *wanted)
{
	unsigned char c = j->p < j->end ? (unsigned char) *j->p : 0;

	if (j->p == j->end)
		return wrong(j, j->p, "expected %s, but the text ends", wanted);
	if (c == '/' || c == '#')
		return wrong(j, j->p, "expected %s; JSON has no comments", wanted);
	if (c == '\'')
		return wrong(j, j->p, "expected %s; JSON strings need double quotes", wanted);
	if (c > 0x20 && c < 0x7F)
		return wrong(j, j->p, "expected %s, but found '%c'", wanted, c);
	return wrong(j, j->p, "expected %s, but found another character", wanted);
}

static void skip_space(struct json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

static bool is_digit(const struct json *j)
{
	return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

/* --- repeated names ----------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h)
{
	h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ (h >> 32);
}

static void note_name(struct json *j, const char *quote)
{
	uint64_t h = mix(j->level[j->depth - 1].serial);

	for (const char *p = quote; p < j->p; p++)
		h = hash_add(h, (unsigned char) *p);
	h = mix(h) | 1;
	if (hashset_add(&j->names, h) && !j->repeated)
		j->repeated = quote;
}

/* --- scalars ------------------------------------------------------------------------------------------------------ */

static bool escape(struct json *j)
{
	static const char *const problems[] = {
		[JSON_ESCAPE_LONE] = "half a surrogate pair",
		[JSON_ESCAPE_CUT] = "the text ends within an escape",
		[JSON_ESCAPE_UNKNOWN] = "there is no such escape; a backslash itself is written \\\\",
		[JSON_ESCAPE_NO_HEX] = "expected four hexadecimal digits behind \\u",
	};
	uint32_t character;
	size_t len = 0;
	enum json_escape kind = json_escape(j->p, j->end, &len, &character);

	if (kind != JSON_ESCAPE)
		return wrong(j, j->p, "%s", problems[kind]);
	j->p += len;
	return true;
}

static bool string(struct json *j)
{
	const char *quote = j->p++;

	while (j->p < j->end) {
		unsigned char c = (unsigned char) *j->p;
		if (c == '"') {
			j->p++;
			return true;
		}
		if (c == '\n' || c == '\r')
			return wrong(j, j->p, "the line ends within a string; a line break in a string is written \\n");
		if (c < 0x20)
			return wrong(j, j->p,
				     "a control character in a string must be written as an escape such as \\t");
		if (c == '\\') {
			if (!escape(j))
				return false;
			continue;
		}
		j->p++;
	}
	return wrong(j, quote, "the string that begins here has no closing quote");
}

static bool word(struct json *j, const char *text)
{
	size_t len = strlen(text);

	if ((size_t) (j->end - j->p) < len || memcmp(j->p, text, len) != 0)
		return false;
	j->p += len;
	return true;
}

static bool number(struct json *j)
{
	static const char *const wanted[] = {
		[JSON_NUMBER_NO_DIGITS] = "a digit behind the minus sign",
		[JSON_NUMBER_NO_FRACTION] = "a digit behind the decimal point",
		[JSON_NUMBER_NO_EXPONENT] = "a digit behind the exponent's e",
	};
	const char *at = j->p;
	enum json_number kind = json_number(at, j->end, &j->p);

	if (kind == JSON_NUMBER_NO_DIGITS && word(j, "Infinity")) {
		j->number_word = j->number_word ? j->number_word : at;
		return true;
	}
	if (kind == JSON_NUMBER_ZERO)
		return wrong(j, at, "a number may not begin with 0");
	return kind == JSON_NUMBER || expected(j, wanted[kind]);
}

static bool literal(struct json *j)
{
	const char *at = j->p;

	if (word(j, "true") || word(j, "false") || word(j, "null"))
		return true;
	if (word(j, "NaN") || word(j, "Infinity")) {
		j->number_word = j->number_word ? j->number_word : at;
		return true;
	}
	return expected(j, "a value");
}

static bool scalar(struct json *j)
{
	if (j->p == j->end)
		return expected(j, "a value");
	if (*j->p == '"')
		return string(j);
	if (*j->p == '-' || is_digit(j))
		return number(j);
	return literal(j);
}

/* --- structure ---------------------------------------------------------------------------------------------------- */

static bool name_and_colon(struct json *j)
{
	const char *quote = j->p;

	if (j->p == j->end || *j->p != '"')
		return expected(j, "a name in double quotes");
	if (!string(j))
		return false;
	note_name(j, quote);
	skip_space(j);
	if (j->p == j->end || *j->p != ':')
		return expected(j, "':' behind the name");
	j->p++;
	skip_space(j);
	return true;
}

static bool open_level(struct json *j)
{
	if (j->depth == JSON_DEPTH_MAX) {
		j->too_deep = true;
		return false;
	}
	bool object = *j->p++ == '{';
	j->level[j->depth++] = (struct level) { .object = object, .serial = ++j->objects };
	return true;
}

static char closing(const struct json *j)
{
	return j->level[j->depth - 1].object ? '}' : ']';
}

/*
 * Behind a value: closes what ends here and steps over the comma. Sets *@ret_over when the outermost value is complete.
 */
static bool after_value(struct json *j, bool *ret_over)
{
	for (;;) {
		if (j->depth == 0) {
			*ret_over = true;
			return true;
		}
		skip_space(j);
		char close = closing(j);
		if (j->p < j->end && *j->p == close) {
			j->p++;
			j->depth--;
			continue;
		}
		if (j->p == j->end || *j->p != ',')
			return expected(j, close == '}' ? "',' or '}'" : "',' or ']'");
		const char *comma = j->p++;
		skip_space(j);
		if (j->p < j->end && *j->p == close)
			return wrong(j, comma, "there may be no comma before '%c'", close);
		return close == ']' || name_and_colon(j);
	}
}

/* One value, whose first character is at j->p. */
static bool value(struct json *j)
{
	bool over = false;

	while (!over) {
		if (j->p < j->end && (*j->p == '{' || *j->p == '[')) {
			if (!open_level(j))
				return false;
			skip_space(j);
			bool empty = j->p < j->end && *j->p == closing(j);
			if (!empty) {
				if (j->level[j->depth - 1].object && !name_and_colon(j))
					return false;
				continue;
			}
		} else if (!scalar(j)) {
			return false;
		}
		if (!after_value(j, &over))
			return false;
	}
	return true;
}

/* Line and column (in characters), both from 1, of @at. */
static void locate(const struct json *j, const char *at, size_t *ret_line, size_t *ret_column)
{
	const char *begin = j->start;

	*ret_line = 1;
	for (const char *p = begin; (p = memchr(p, '\n', (size_t) (at - p))) != NULL;) {
		begin = ++p;
		(*ret_line)++;
	}
	*ret_column = 1;
	for (const char *p = begin; p < at; p++)
		*ret_column += ((unsigned char) *p & 0xC0) != 0x80;
}

/* Checks the text from j->p to j->end. */
static bool whole(struct json *j)
{
	size_t len = (size_t) (j->end - j->p), good = utf8_valid_prefix(j->p, len);

	if (good < len)
		return wrong(j, j->p + good, "this byte is not UTF-8");
	skip_space(j);
	if (!value(j))
		return false;
	skip_space(j);
	return j->p == j->end || expected(j, "the end of the text");
}

static void warn(const struct json *j, struct check_result *res)
{
	size_t line, column;

	if (j->repeated) {
		locate(j, j->repeated, &line, &column);
		const char *name = j->repeated + 1;
		size_t len = 0, room = (size_t) (j->end - name);
		while (len < room && len < JSON_SHOWN_NAME && name[len] != '"' && name[len] != '\\')
			len++;
		text_format(res->warning, sizeof(res->warning),
			    "the name \"%.*s\" is repeated in its object (line %zu): most programs use the "
			    "last one only",
			    (int) utf8_floor(name, len), name, line);
	} else if (j->number_word) {
		locate(j, j->number_word, &line, &column);
		text_format(res->warning, sizeof(res->warning),
			    "NaN and Infinity (line %zu) are no JSON: many programs refuse them", line);
	}
}

static void report(struct json *j, const char *kind, struct check_result *res)
{
	size_t line, column;

	if (j->bad) {
		locate(j, j->bad, &line, &column);
		res->verdict = CHECK_BAD;
		text_format(res->text, sizeof(res->text), "%s parse error at line %zu: %s (column %zu)", kind, line,
			    j->text, column);
	} else if (j->too_deep) {
		res->verdict = CHECK_UNKNOWN;
		text_format(res->text, sizeof(res->text), "it is nested more than %d levels deep", JSON_DEPTH_MAX);
	} else {
		res->verdict = CHECK_OK;
		warn(j, res);
	}
}

static struct json *json_new(const char *data, size_t len, struct check_result *res)
{
	struct json *j = calloc(1, sizeof(*j));

	*res = (struct check_result) { .verdict = CHECK_UNKNOWN };
	if (!j) {
		text_format(res->text, sizeof(res->text), "out of memory");
		return NULL;
	}
	j->names.max = JSON_NAMES_MAX;
	j->start = j->p = data + utf8_bom_length(data, len);
	j->end = data + len;
	return j;
}

static void json_free(struct json *j)
{
	hashset_done(&j->names);
	free(j);
}

static bool is_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p == end;
}

void check_json(const char *data, size_t len, struct check_result *res)
{
	struct json *j = json_new(data, len, res);

	if (!j)
		return;
	if (is_blank(j->p, j->end)) {
		res->verdict = CHECK_OK;
		text_format(res->warning, sizeof(res->warning), "the file is empty, which is no JSON value");
	} else {
		(void) whole(j);
		report(j, "JSON", res);
	}
	json_free(j);
}

void check_jsonl(const char *data, size_t len, struct check_result *res)
{
	struct json *j = json_new(data, len, res);

	if (!j)
		return;
	const char *end = j->end;
	while (j->p < end && !j->bad && !j->too_deep) {
		const char *newline = memchr(j->p, '\n', (size_t) (end - j->p));
		j->end = newline ? newline : end;
		j->depth = 0;
		if (!is_blank(j->p, j->end))
			(void) whole(j);
		if (!j->bad)
			j->p = newline ? newline + 1 : end;
	}
	report(j, "JSONL", res);
	json_free(j);
}
