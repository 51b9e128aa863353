/*
 * The strict pre-scan in front of cJSON: see scan.h. Runs in cloche-mcp, without any capability; sees hostile bytes.
 *
 * A recursive descent over the grammar of RFC 8259, on the tokens of scan_token.h. Recursion is bounded by
 * SCAN_DEPTH_MAX. Each function leaves the cursor behind what it read and returns false after recording the first problem.
 */
#include "mcp/scan.h"

#include <stdint.h>
#include <string.h>

#include "mcp/json_token.h"
#include "mcp/scan_token.h"
#include "runtime/base/hash.h"
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
	struct scan_token t;
	struct scan *out;
	int depth;
	struct {
		uint64_t hash[SCAN_MEMBERS_MAX];
		size_t count;
	} seen[PLACE_CHECKED];
	char argument[SCAN_NAME_MAX + 1]; /* of tools/call, the one being read */
};

static bool value(struct scanner *s, enum place place);

static bool fail(struct scanner *s, enum scan_result result, const char *problem)
{
	(void) scan_token_fail(&s->t, result, problem);
	return false;
}

static bool take(struct scanner *s, char c)
{
	return scan_token_take(&s->t, c);
}

/* Takes a string and notes where a U+0000 stood. */
static bool string(struct scanner *s)
{
	bool ok = scan_token_string(&s->t);

	if (s->t.nul && !s->out->nul_name[0])
		memcpy(s->out->nul_name, s->argument, sizeof(s->argument));
	s->out->has_nul |= s->t.nul;
	s->t.nul = false;
	return ok;
}

/* Decodes the member name that was copied to the text from @from on: equal names are equal, however they are written. */
static void decode_key(const struct scanner *s, size_t from, struct key *key)
{
	const char *p = s->t.to->p + from + 1, *end = s->t.to->p + s->t.to->len - 1;

	key->hash = HASH_BEGIN;
	key->len = 0;
	while (p < end) {
		uint32_t c = '?';
		size_t len = 1;
		if (*p == '\\')
			(void) json_escape(p, end, &len, &c);
		else
			len = utf8_decode(p, (size_t) (end - p), &c);
		p += MAX(len, (size_t) 1);
		key->hash = hash_add(key->hash, c);
		if (key->len < SCAN_NAME_MAX)
			key->name[key->len] = c >= 0x20 && c < 0x7f ? (char) c : '?';
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

	scan_token_skip_space(&s->t);
	if (s->t.p >= s->t.end || *s->t.p != '"')
		return fail(s, SCAN_SYNTAX, "a member's name is missing");
	size_t from = s->t.to ? s->t.to->len : 0;
	if (!string(s))
		return false;
	*ret_child = place == PLACE_ARGUMENT ? PLACE_ARGUMENT : PLACE_OTHER;
	if (place > PLACE_ARGUMENTS || !s->t.to)
		return true;
	if (buf_error(s->t.to))
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
	switch (*s->t.p) {
	case '"':
		return string(s);
	case 't':
		return scan_token_word(&s->t, "true");
	case 'f':
		return scan_token_word(&s->t, "false");
	case 'n':
		return scan_token_word(&s->t, "null");
	default:
		if (*s->t.p == '-' || (*s->t.p >= '0' && *s->t.p <= '9'))
			return scan_token_number(&s->t);
		return fail(s, SCAN_SYNTAX, "unexpected text");
	}
}

/* Reads an id or token: strings and numbers go to @raw as they are written, and a 0 into the copy. */
static bool raw_value(struct scanner *s, struct scan_raw *raw)
{
	char c = *s->t.p;

	raw->type = c == 'n' ? SCAN_NULL : SCAN_OTHER;
	if (c != '"' && c != '-' && (c < '0' || c > '9'))
		return c == '{' || c == '[' ? value(s, PLACE_OTHER) : scalar(s);

	struct buf *to = s->t.to;
	buf_clear(&raw->text);
	raw->text.max = SCAN_RAW_MAX;
	s->t.to = &raw->text;
	s->t.verbatim = true;
	bool ok = scalar(s);
	s->t.to = to;
	s->t.verbatim = false;
	raw->type = SCAN_ABSENT;
	if (ok && buf_error(&raw->text))
		raw->type = SCAN_TOO_LONG;
	else if (ok)
		raw->type = c == '"' ? SCAN_STRING : SCAN_NUMBER;
	scan_token_emit(&s->t, "0", 1);
	return ok;
}

static bool value(struct scanner *s, enum place place)
{
	bool ok;

	scan_token_skip_space(&s->t);
	if (s->t.p >= s->t.end)
		return fail(s, SCAN_SYNTAX, "it ends too early");
	if (++s->out->values > SCAN_VALUES_MAX)
		return fail(s, SCAN_SIZE, "the message holds too many values");
	if (place == PLACE_ID)
		return raw_value(s, &s->out->id);
	if (place == PLACE_TOKEN)
		return raw_value(s, &s->out->token);
	if (place == PLACE_TARGET)
		return raw_value(s, &s->out->target);
	if (*s->t.p != '{' && *s->t.p != '[')
		return scalar(s);
	if (s->depth == SCAN_DEPTH_MAX)
		return fail(s, SCAN_SYNTAX, "it is nested too deeply");
	s->depth++;
	ok = *s->t.p == '{' ? object(s, place) : array(s, place);
	s->depth--;
	return ok;
}

void scan_trim(const char **line, size_t *len)
{
	const char *end = *line + *len, *p = *line + utf8_bom_length(*line, *len);

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

static bool nothing_follows(struct scanner *s)
{
	scan_token_skip_space(&s->t);
	return s->t.p == s->t.end || fail(s, SCAN_SYNTAX, "something follows the first value");
}

/* Tells what the first problem was, if there was one. */
static enum scan_result finish(const struct scanner *s)
{
	if (s->t.result != SCAN_OK) {
		s->out->problem = s->t.problem;
		s->out->offset = s->t.offset;
	}
	return s->t.result;
}

static enum scan_result scan_from(struct scan *out, const char *line, size_t len, enum place place)
{
	struct scanner s = { .t = { .start = line, .p = line, .end = line + len, .to = &out->text }, .out = out };

	scan_init(out);
	scan_token_skip_space(&s.t);
	out->top = s.t.p < s.t.end ? *s.t.p : '\0';
	if (value(&s, place) && nothing_follows(&s) && buf_error(&out->text))
		(void) fail(&s, SCAN_SIZE, "the message is too large");
	return finish(&s);
}

enum scan_result scan_message(struct scan *out, const char *line, size_t len)
{
	return scan_from(out, line, len, PLACE_ENVELOPE);
}

enum scan_result scan_value(struct scan *out, const char *text, size_t len)
{
	return scan_from(out, text, len, PLACE_OTHER);
}

static bool elements(struct scanner *s, struct scan_slice *slices, size_t max, size_t *ret_count)
{
	*ret_count = 0;
	if (!take(s, '['))
		return fail(s, SCAN_SYNTAX, "an array was expected");
	if (take(s, ']'))
		return true;
	do {
		scan_token_skip_space(&s->t);
		const char *first = s->t.p;
		if (!value(s, PLACE_OTHER))
			return false;
		if (*ret_count < max)
			slices[*ret_count] = (struct scan_slice) { first, (size_t) (s->t.p - first) };
		++*ret_count;
	} while (take(s, ','));
	return take(s, ']') || fail(s, SCAN_SYNTAX, "an array is not closed");
}

enum scan_result scan_split(struct scan *out, const char *line, size_t len, struct scan_slice *slices, size_t max,
			    size_t *ret_count)
{
	struct scanner s = { .t = { .start = line, .p = line, .end = line + len, .to = NULL }, .out = out, .depth = 1 };

	scan_init(out);
	if (elements(&s, slices, max, ret_count))
		(void) nothing_follows(&s);
	return finish(&s);
}
