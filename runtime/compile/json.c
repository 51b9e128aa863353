/*
 * Strict JSON with lines: see json.h. Runs in cloche-compile, which has confined itself, and in the tests.
 *
 * The text is walked twice: once here, for what cJSON would let pass (depth, control characters, bytes that are not UTF-8) and to
 * note where each value begins, then by cJSON, which knows the grammar. Both meet the values in the same order.
 */
#include "runtime/compile/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/utf8.h"

struct walk {
	const char *text;
	size_t len;
	size_t at;
	uint32_t line;
	bool key_next;              /* a string that comes now is the name of a member */
	char open[JSON_DEPTH_MAX];  /* '{' or '[' */
	unsigned int depth;
	struct json_doc *doc;
	struct err *err;
};

static int fail(const struct walk *w, const char *problem)
{
	return err_set(w->err, ERR_USAGE, EINVAL, "line %u: %s", w->line, problem);
}

static int mark(struct walk *w)
{
	if (w->doc->count == JSON_VALUES_MAX)
		return fail(w, "too many values");
	w->doc->marks[w->doc->count++] = (struct json_mark) { .offset = (uint32_t) w->at, .line = w->line };
	return 0;
}

static int walk_string(struct walk *w)
{
	for (w->at++; w->at < w->len && w->text[w->at] != '"'; w->at++) {
		if ((unsigned char) w->text[w->at] < 0x20)
			return fail(w, "a string goes over the end of the line, or holds a control character");
		if (w->text[w->at] != '\\')
			continue;
		if (w->len - w->at > 6 && memcmp(w->text + w->at, "\\u0000", 6) == 0)
			return fail(w, "a string holds a NUL");
		w->at++;
	}
	if (w->at >= w->len)
		return fail(w, "a string does not end");
	return 0;
}

static int walk_open(struct walk *w, char c)
{
	int r = mark(w);

	if (r < 0)
		return r;
	if (w->depth == JSON_DEPTH_MAX)
		return fail(w, "values are nested too deeply");
	w->open[w->depth++] = c;
	w->key_next = c == '{';
	return 0;
}

/* One character, or a whole string or plain value. Leaves @at on its last character. */
static int walk_step(struct walk *w)
{
	char c = w->text[w->at];
	int r = 0;

	switch (c) {
	case '\n':
		w->line++;
		return 0;
	case ' ':
	case '\t':
	case '\r':
		return 0;
	case '{':
	case '[':
		return walk_open(w, c);
	case '}':
	case ']':
		if (w->depth == 0)
			return fail(w, "something is closed that was not opened");
		w->depth--;
		w->key_next = false;
		return 0;
	case ',':
		w->key_next = w->depth > 0 && w->open[w->depth - 1] == '{';
		return 0;
	case ':':
		w->key_next = false;
		return 0;
	case '"':
		if (!w->key_next)
			r = mark(w);
		return r < 0 ? r : walk_string(w);
	default:
		if ((unsigned char) c < 0x20)
			return fail(w, "a control character");
		r = mark(w);
		while (w->at + 1 < w->len && !strchr("\n \t\r{}[],:\"", w->text[w->at + 1]))
			w->at++;
		return r;
	}
}

static int walk_all(struct walk *w)
{
	size_t good = utf8_valid_prefix(w->text, w->len);

	if (memchr(w->text, '\0', w->len))
		return fail(w, "it holds a NUL byte, and is not text");
	for (; w->at < w->len; w->at++) {
		if (w->at >= good)
			return fail(w, "the bytes are not UTF-8");
		int r = walk_step(w);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint32_t line_at(const char *text, const char *at)
{
	uint32_t line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

/* Gives every item the number of its mark. The number of items. */
static size_t number_items(cJSON *item, size_t next)
{
	for (; item; item = item->next) {
		item->valueint = (int) next++;
		next = number_items(item->child, next);
	}
	return next;
}

int json_read(const char *text, size_t len, struct json_doc *ret, struct err *err)
{
	const char *end = text;

	*ret = (struct json_doc) { .text = text, .len = len, .marks = calloc(JSON_VALUES_MAX, sizeof(*ret->marks)) };
	if (!ret->marks)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	struct walk w = { .text = text, .len = len, .line = 1, .doc = ret, .err = err };
	int r = walk_all(&w);
	if (r < 0)
		return r;
	ret->root = cJSON_ParseWithLengthOpts(text, len, &end, 0);
	if (!ret->root)
		return err_set(err, ERR_USAGE, EINVAL, "line %u: this is not JSON", line_at(text, end ? MIN(end, text + len) : text));
	while (end < text + len && strchr(" \t\r\n", *end))
		end++;
	if (end != text + len || number_items(ret->root, 0) != ret->count)
		return err_set(err, ERR_USAGE, EINVAL, "line %u: this is not one JSON value", line_at(text, end));
	return 0;
}

void json_done(struct json_doc *doc)
{
	cJSON_Delete(doc->root);
	free(doc->marks);
	*doc = (struct json_doc) { .root = NULL };
}

unsigned int json_line(const struct json_doc *doc, const cJSON *item)
{
	return doc->marks[item->valueint].line;
}

int json_integer(const struct json_doc *doc, const cJSON *item, uint64_t max, uint64_t *ret)
{
	const char *s = doc->text + doc->marks[item->valueint].offset;
	const char *end = doc->text + doc->len;
	uint64_t v = 0;

	if (!cJSON_IsNumber(item) || (*s == '0' && s + 1 < end && s[1] >= '0' && s[1] <= '9'))
		return -EINVAL;
	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, (uint64_t) (*s - '0'), &v))
			return -EINVAL;
	}
	if ((s < end && !strchr("\n \t\r}],", *s)) || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

static const char *type_name(int type)
{
	return type == cJSON_String ? "a string" : type == cJSON_Number ? "a number" : type == cJSON_Array ? "a list" : "an object";
}

static int unknown_member(const struct json_doc *doc, const cJSON *item, const char *what, const struct json_member *m, size_t n,
			  struct err *err)
{
	_cleanup_buf_ struct buf known = BUF_INIT(512);

	for (size_t i = 0; i < n; i++)
		buf_addf(&known, "%s'%s'", i == 0 ? "" : i + 1 == n ? " and " : ", ", m[i].name);
	return err_set(err, ERR_USAGE, EINVAL, "line %u: the member '%.60s' of %s is not known: it may have %s", json_line(doc, item),
		       item->string, what, buf_cstr(&known));
}

int json_members(const struct json_doc *doc, const cJSON *obj, const char *what, struct json_member *m, size_t n, struct err *err)
{
	const cJSON *item;
	unsigned int seen = 0;

	if (!cJSON_IsObject(obj))
		return err_set(err, ERR_USAGE, EINVAL, "line %u: %s is not an object", json_line(doc, obj), what);
	cJSON_ArrayForEach(item, obj) {
		size_t i = 0;

		while (i < n && strcmp(m[i].name, item->string) != 0)
			i++;
		if (i == n)
			return unknown_member(doc, item, what, m, n, err);
		if (seen >> i & 1)
			return err_set(err, ERR_USAGE, EINVAL, "line %u: the member '%s' of %s is there twice", json_line(doc, item),
				       item->string, what);
		seen |= 1U << i;
		if (cJSON_IsNull(item))
			continue;
		if ((item->type & 0xff) != m[i].type)
			return err_set(err, ERR_USAGE, EINVAL, "line %u: the member '%s' of %s must be %s", json_line(doc, item),
				       item->string, what, type_name(m[i].type));
		m[i].item = item;
	}
	return 0;
}
