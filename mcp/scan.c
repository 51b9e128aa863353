/*
 * The strict pre-scan in front of cJSON: see scan.h. Runs in cloche-mcp, without any capability; sees hostile bytes.
 *
 * A recursive descent over the grammar of RFC 8259. Recursion is bounded by SCAN_DEPTH_MAX. Each function leaves the
 * cursor behind what it read and returns false after recording the first problem.
 */
#include "mcp/scan.h"

#include <stdint.h>
#include <string.h>

#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"

/* Where a value stands in a message. The first four are objects whose members matter. */
enum place {
	PLACE_ENVELOPE,
	PLACE_PARAMS,
	PLACE_META,
	PLACE_ARGUMENTS,
	PLACE_ARGUMENT, /* one argument of a tool call, or anything below it */
	PLACE_ID,
	PLACE_TOKEN,
	PLACE_TARGET,
	PLACE_OTHER,
};

#define PLACE_CHECKED PLACE_ARGUMENTS /* duplicate members are found in the places before this */

static const struct {
	enum place parent;
	const char *name;
	enum place child;
} children[] = {
	{ PLACE_ENVELOPE, "id", PLACE_ID },
	{ PLACE_ENVELOPE, "params", PLACE_PARAMS },
	{ PLACE_PARAMS, "_meta", PLACE_META },
	{ PLACE_PARAMS, "requestId", PLACE_TARGET },
	{ PLACE_PARAMS, "arguments", PLACE_ARGUMENTS },
	{ PLACE_META, "progressToken", PLACE_TOKEN },
};

struct key {
	uint64_t hash; /* FNV-1a over the decoded characters */
	char name[SCAN_NAME_MAX + 1]; /* decoded, cut; what is not ASCII appears as '?' */
	size_t len;
};

struct scanner {
	const char *start, *p, *end;
	struct scan *out;
	struct buf *to; /* where the copy goes, NULL = nowhere */
	bool verbatim;  /* escapes are kept as they are */
	int depth;
	enum scan_result result;
	struct {
		uint64_t hash[SCAN_MEMBERS_MAX];
		size_t count;
	} seen[PLACE_CHECKED];
	char argument[SCAN_NAME_MAX + 1]; /* of tools/call, the one being read */
};

static bool value(struct scanner *s, enum place place);

static bool fail(struct scanner *s, enum scan_result result, const char *problem)
{
	if (s->result == SCAN_OK) {
		s->result = result;
		s->out->problem = problem;
		s->out->offset = (size_t) (s->p - s->start);
	}
	return false;
}

static void emit(struct scanner *s, const char *data, size_t len)
{
	if (s->to)
		buf_add(s->to, data, len);
}

static void skip_space(struct scanner *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\n'))
		s->p++;
}

/* Takes the character @c, with its copy. */
static bool take(struct scanner *s, char c)
{
	skip_space(s);
	if (s->p >= s->end || *s->p != c)
		return false;
	emit(s, s->p++, 1);
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The value of "\uXXXX" at @p, or -1. */
static int unicode_escape(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int h = hex_value(p[i]);
		if (h < 0)
			return -1;
		v = v * 16 + h;
	}
	return v;
}

static void found_nul(struct scanner *s)
{
	if (!s->out->nul_name[0])
		memcpy(s->out->nul_name, s->argument, sizeof(s->argument));
	s->out->has_nul = true;
}

static bool escape(struct scanner *s)
{
	static const char replacement[] = "\\ufffd";

	if (s->end - s->p < 2)
		return fail(s, SCAN_SYNTAX, "a string does not end");
	if (s->p[1] != 'u') {
		if (!strchr("\"\\/bfnrt", s->p[1]) || s->p[1] == '\0')
			return fail(s, SCAN_SYNTAX, "unknown escape in a string");
		emit(s, s->p, 2);
		s->p += 2;
		return true;
	}
	int unit = unicode_escape(s->p, s->end);
	if (unit < 0)
		return fail(s, SCAN_SYNTAX, "\\u without four hexadecimal digits");
	size_t len = 6;
	bool lone = unit >= 0xdc00 && unit <= 0xdfff;
	if (unit >= 0xd800 && unit <= 0xdbff) {
		int low = unicode_escape(s->p + 6, s->end);
		if (low >= 0xdc00 && low <= 0xdfff)
			len = 12;
		else
			lone = true;
	}
	if (!s->verbatim && unit == 0)
		found_nul(s);
	if (!s->verbatim && (lone || unit == 0))
		emit(s, replacement, 6);
	else
		emit(s, s->p, len);
	s->p += len;
	return true;
}

/* Takes one byte below 0x20 or one sequence from 0x80 up. */
static void odd_character(struct scanner *s)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char c = (unsigned char) *s->p;

	if (c == 0 && !s->verbatim) {
		found_nul(s);
		emit(s, "\\ufffd", 6);
		s->p++;
	} else if (c < 0x20) {
		const char text[] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };
		emit(s, text, sizeof(text));
		s->p++;
	} else {
		size_t len = utf8_decode(s->p, (size_t) (s->end - s->p), NULL);
		if (len > 0)
			emit(s, s->p, len);
		else
			emit(s, JSONW_REPLACEMENT, 3);
		s->p += MAX(len, (size_t) 1);
	}
}

static bool string(struct scanner *s)
{
	emit(s, s->p++, 1);
	while (s->p < s->end) {
		const char *run = s->p;
		while (s->p < s->end && (unsigned char) (*s->p - 0x20) < 0x60 && *s->p != '"' && *s->p != '\\')
			s->p++;
		emit(s, run, (size_t) (s->p - run));
		if (s->p >= s->end)
			break;
		if (*s->p == '"') {
			emit(s, s->p++, 1);
			return true;
		}
		if (*s->p != '\\')
			odd_character(s);
		else if (!escape(s))
			return false;
	}
	return fail(s, SCAN_SYNTAX, "a string does not end");
}

static size_t digits(struct scanner *s)
{
	const char *first = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t) (s->p - first);
}

static bool number(struct scanner *s)
{
	const char *first = s->p;

	if (*s->p == '-')
		s->p++;
	bool zero = s->p < s->end && *s->p == '0';
	size_t n = digits(s);
	if (n == 0 || (zero && n > 1))
		return fail(s, SCAN_SYNTAX, "a number is malformed");
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (digits(s) == 0)
			return fail(s, SCAN_SYNTAX, "a number is malformed");
	}
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (digits(s) == 0)
			return fail(s, SCAN_SYNTAX, "a number is malformed");
	}
	if (s->p - first > SCAN_NUMBER_MAX && !s->verbatim)
		return fail(s, SCAN_SYNTAX, "a number has too many digits");
	emit(s, first, (size_t) (s->p - first));
	return true;
}

static bool word(struct scanner *s, const char *text)
{
	size_t len = strlen(text);

	if ((size_t) (s->end - s->p) < len || memcmp(s->p, text, len) != 0)
		return fail(s, SCAN_SYNTAX, "unexpected text");
	emit(s, text, len);
	s->p += len;
	return true;
}

/* Decodes the member name that was copied to the text from @from on. */
static void decode_key(const struct scanner *s, size_t from, struct key *key)
{
	const char *p = s->to->p + from + 1, *end = s->to->p + s->to->len - 1;

	key->hash = 0xcbf29ce484222325U;
	key->len = 0;
	while (p < end) {
		int unit = (unsigned char) *p;
		size_t len = 1;
		if (*p == '\\' && p[1] == 'u') {
			unit = unicode_escape(p, end);
			len = 6;
		} else if (*p == '\\') {
			static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
			const char *at = strchr(names, p[1]);
			unit = at ? (unsigned char) values[at - names] : '?';
			len = 2;
		}
		p += len;
		key->hash = (key->hash ^ (uint64_t) unit) * 0x100000001b3U;
		if (key->len < SCAN_NAME_MAX)
			key->name[key->len] = unit >= 0x20 && unit < 0x7f ? (char) unit : '?';
		key->len++;
	}
	key->name[MIN(key->len, (size_t) SCAN_NAME_MAX)] = '\0';
}

static bool note_member(struct scanner *s, enum place place, const struct key *key)
{
	if (place >= PLACE_CHECKED)
		return true;
	size_t count = s->seen[place].count;
	for (size_t i = 0; i < count; i++) {
		if (s->seen[place].hash[i] != key->hash)
			continue;
		s->out->duplicate = true;
		if (place == PLACE_ENVELOPE && strcmp(key->name, "id") == 0)
			s->out->duplicate_id = true;
	}
	if (count == SCAN_MEMBERS_MAX)
		return fail(s, SCAN_SIZE, "an object of the protocol has too many members");
	s->seen[place].hash[count] = key->hash;
	s->seen[place].count = count + 1;
	return true;
}

/* Reads a member's name and tells where its value stands. */
static bool member_name(struct scanner *s, enum place place, enum place *ret_child)
{
	struct key key;

	skip_space(s);
	if (s->p >= s->end || *s->p != '"')
		return fail(s, SCAN_SYNTAX, "a member's name is missing");
	size_t from = s->to ? s->to->len : 0;
	if (!string(s))
		return false;
	*ret_child = place == PLACE_ARGUMENT ? PLACE_ARGUMENT : PLACE_OTHER;
	if (place > PLACE_ARGUMENTS || !s->to)
		return true;
	if (buf_error(s->to))
		return fail(s, SCAN_SIZE, "the message is too large");
	decode_key(s, from, &key);
	if (place == PLACE_ARGUMENTS) {
		memcpy(s->argument, key.name, sizeof(s->argument));
		*ret_child = PLACE_ARGUMENT;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(children); i++)
		if (children[i].parent == place && strcmp(children[i].name, key.name) == 0)
			*ret_child = children[i].child;
	return note_member(s, place, &key);
}

static bool object(struct scanner *s, enum place place)
{
	if (place < PLACE_CHECKED)
		s->seen[place].count = 0;
	(void) take(s, '{');
	if (take(s, '}'))
		return true;
	do {
		enum place child;
		if (!member_name(s, place, &child))
			return false;
		if (!take(s, ':'))
			return fail(s, SCAN_SYNTAX, "':' is missing after a member's name");
		if (!value(s, child))
			return false;
		if (place == PLACE_ARGUMENTS)
			s->argument[0] = '\0';
	} while (take(s, ','));
	return take(s, '}') || fail(s, SCAN_SYNTAX, "an object is not closed");
}

static bool array(struct scanner *s, enum place place)
{
	(void) take(s, '[');
	if (take(s, ']'))
		return true;
	do {
		if (!value(s, place == PLACE_ARGUMENT ? PLACE_ARGUMENT : PLACE_OTHER))
			return false;
	} while (take(s, ','));
	return take(s, ']') || fail(s, SCAN_SYNTAX, "an array is not closed");
}

static bool scalar(struct scanner *s)
{
	switch (*s->p) {
	case '"':
		return string(s);
	case 't':
		return word(s, "true");
	case 'f':
		return word(s, "false");
	case 'n':
		return word(s, "null");
	default:
		if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
			return number(s);
		return fail(s, SCAN_SYNTAX, "unexpected text");
	}
}

/* Reads an id or token: strings and numbers go to @raw as they are written, and a 0 into the copy. */
static bool raw_value(struct scanner *s, struct scan_raw *raw)
{
	char c = *s->p;

	raw->type = c == 'n' ? SCAN_NULL : SCAN_OTHER;
	if (c != '"' && c != '-' && (c < '0' || c > '9'))
		return c == '{' || c == '[' ? value(s, PLACE_OTHER) : scalar(s);

	struct buf *to = s->to;
	buf_clear(&raw->text);
	raw->text.max = SCAN_RAW_MAX;
	s->to = &raw->text;
	s->verbatim = true;
	bool ok = scalar(s);
	s->to = to;
	s->verbatim = false;
	raw->type = SCAN_ABSENT;
	if (ok && buf_error(&raw->text))
		raw->type = SCAN_TOO_LONG;
	else if (ok)
		raw->type = c == '"' ? SCAN_STRING : SCAN_NUMBER;
	emit(s, "0", 1);
	return ok;
}

static bool value(struct scanner *s, enum place place)
{
	bool ok;

	skip_space(s);
	if (s->p >= s->end)
		return fail(s, SCAN_SYNTAX, "it ends too early");
	if (++s->out->values > SCAN_VALUES_MAX)
		return fail(s, SCAN_SIZE, "the message holds too many values");
	if (place == PLACE_ID)
		return raw_value(s, &s->out->id);
	if (place == PLACE_TOKEN)
		return raw_value(s, &s->out->token);
	if (place == PLACE_TARGET)
		return raw_value(s, &s->out->target);
	if (*s->p != '{' && *s->p != '[')
		return scalar(s);
	if (s->depth == SCAN_DEPTH_MAX)
		return fail(s, SCAN_SYNTAX, "it is nested too deeply");
	s->depth++;
	ok = *s->p == '{' ? object(s, place) : array(s, place);
	s->depth--;
	return ok;
}

void scan_trim(const char **line, size_t *len)
{
	static const char bom[] = "\xef\xbb\xbf";
	const char *p = *line, *end = p + *len;

	if (end - p >= 3 && memcmp(p, bom, 3) == 0)
		p += 3;
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	while (p < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n'))
		end--;
	*line = p;
	*len = (size_t) (end - p);
}

static void scan_init(struct scan *out)
{
	memset(out, 0, sizeof(*out));
	out->text.max = SCAN_TEXT_MAX;
	out->id.text.max = out->token.text.max = out->target.text.max = SCAN_RAW_MAX;
	out->problem = "";
}

void scan_done(struct scan *s)
{
	buf_done(&s->text);
	buf_done(&s->id.text);
	buf_done(&s->token.text);
	buf_done(&s->target.text);
}

static enum scan_result scan_from(struct scan *out, const char *line, size_t len, enum place place)
{
	struct scanner s = { .start = line, .p = line, .end = line + len, .out = out, .to = &out->text };

	scan_init(out);
	skip_space(&s);
	out->top = s.p < s.end ? *s.p : '\0';
	if (!value(&s, place))
		return s.result;
	skip_space(&s);
	if (s.p < s.end)
		(void) fail(&s, SCAN_SYNTAX, "something follows the first value");
	else if (buf_error(&out->text))
		(void) fail(&s, SCAN_SIZE, "the message is too large");
	return s.result;
}

enum scan_result scan_message(struct scan *out, const char *line, size_t len)
{
	return scan_from(out, line, len, PLACE_ENVELOPE);
}

enum scan_result scan_value(struct scan *out, const char *text, size_t len)
{
	return scan_from(out, text, len, PLACE_OTHER);
}

enum scan_result scan_split(struct scan *out, const char *line, size_t len, struct scan_slice *slices, size_t max,
			    size_t *ret_count)
{
	struct scanner s = { .start = line, .p = line, .end = line + len, .out = out, .to = NULL, .depth = 1 };

	scan_init(out);
	*ret_count = 0;
	if (!take(&s, '['))
		return fail(&s, SCAN_SYNTAX, "an array was expected"), s.result;
	if (!take(&s, ']')) {
		do {
			skip_space(&s);
			const char *first = s.p;
			if (!value(&s, PLACE_OTHER))
				return s.result;
			if (*ret_count < max)
				slices[*ret_count] = (struct scan_slice){ first, (size_t) (s.p - first) };
			++*ret_count;
		} while (take(&s, ','));
		if (!take(&s, ']'))
			return fail(&s, SCAN_SYNTAX, "an array is not closed"), s.result;
	}
	skip_space(&s);
	if (s.p < s.end)
		(void) fail(&s, SCAN_SYNTAX, "something follows the first value");
	return s.result;
}
