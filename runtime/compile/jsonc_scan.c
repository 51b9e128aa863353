/*
 * Finds members in JSON with comments: see jsonc_scan.h. Runs in cloche-compile, which has locked itself in.
 *
 * Nothing is built: each function gets a place in the text and says where what begins there ends.
 */
#include "runtime/compile/jsonc_scan.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/base/utf8.h"
#include "runtime/compile/edits.h"

/* What is looked for in the object that is being read, and where the findings go; both NULL when only its end counts. */
struct search {
	const char *name;
	struct jsonc_object *object;
};

static int scan_value(const struct jsonc_text *t, size_t at, unsigned int depth, const struct search *search, size_t *ret);

static int wrong(const struct jsonc_text *t, size_t at, const char *what)
{
	return err_set(t->err, ERR_USAGE, EINVAL, "line %u: %s", edits_line(t->p, at < t->len ? at : t->len), what);
}

static char peek(const struct jsonc_text *t, size_t at)
{
	return at < t->len ? t->p[at] : '\0';
}

int jsonc_skip_blank(const struct jsonc_text *t, size_t at, size_t *ret)
{
	for (;;) {
		while (at < t->len && strchr(" \t\r\n", t->p[at]))
			at++;
		if (peek(t, at) != '/' || (peek(t, at + 1) != '/' && peek(t, at + 1) != '*'))
			break;
		bool to_line_end = t->p[at + 1] == '/';
		const char *end = memmem(t->p + at + 2, t->len - at - 2, to_line_end ? "\n" : "*/", to_line_end ? 1 : 2);
		if (!end && !to_line_end)
			return wrong(t, at, "a comment begins that does not end");
		at = !end ? t->len : (size_t) (end - t->p) + (to_line_end ? 0 : 2);
	}
	*ret = at;
	return 0;
}

/* The value of four hexadecimal digits at @at, or -1. */
static int hex4(const struct jsonc_text *t, size_t at)
{
	static const char digits[] = "0123456789abcdef";
	int value = 0;

	for (size_t i = 0; i < 4; i++) {
		char c = peek(t, at + i);
		const char *digit = c ? strchr(digits, c | 0x20) : NULL;
		if (!digit)
			return -1;
		value = value * 16 + (int) (digit - digits);
	}
	return value;
}

/*
 * Moves *@at behind one character of a string. Returns what it stands for (a code unit behind a \u, a byte else), or -1 when it may
 * not stand there.
 */
static int next_char(const struct jsonc_text *t, size_t *at)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	unsigned char c = (unsigned char) peek(t, *at);

	if (c < 0x20)
		return -1;
	(*at)++;
	if (c != '\\')
		return c;
	char letter = peek(t, (*at)++);
	if (letter == 'u') {
		int unit = hex4(t, *at);
		*at += 4;
		return unit;
	}
	const char *known = letter ? strchr(letters, letter) : NULL;
	return known ? meanings[known - letters] : -1;
}

/* Reads the string at @at; whether it says @name goes to *@ret_same unless that is NULL. */
static int scan_string(const struct jsonc_text *t, size_t at, const char *name, bool *ret_same, size_t *ret)
{
	size_t begin = at, matched = 0;
	bool same = name != NULL;

	if (peek(t, at) != '"')
		return wrong(t, at, "a name in double quotes is missing");
	for (at++; peek(t, at) != '"';) {
		int c = next_char(t, &at);
		if (c < 0)
			return wrong(t, begin, "a string begins that does not end, or that JSON does not allow");
		same = same && name[matched] && c == (unsigned char) name[matched];
		matched += same;
	}
	if (ret_same)
		*ret_same = same && !name[matched];
	*ret = at + 1;
	return 0;
}

static size_t digits(const struct jsonc_text *t, size_t at)
{
	while (peek(t, at) >= '0' && peek(t, at) <= '9')
		at++;
	return at;
}

/* Behind the number at @at, or @at when there is none. */
static size_t number_end(const struct jsonc_text *t, size_t at)
{
	size_t whole = at + (peek(t, at) == '-'), end = digits(t, whole);

	if (end == whole || (t->p[whole] == '0' && end > whole + 1))
		return at;
	if (peek(t, end) == '.') {
		size_t fraction = digits(t, end + 1);
		if (fraction == end + 1)
			return at;
		end = fraction;
	}
	if ((peek(t, end) | 0x20) == 'e') {
		size_t sign = end + 1 + (peek(t, end + 1) == '+' || peek(t, end + 1) == '-');
		size_t exponent = digits(t, sign);
		return exponent == sign ? at : exponent;
	}
	return end;
}

static int scan_scalar(const struct jsonc_text *t, size_t at, size_t *ret)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t end = number_end(t, at);

	for (size_t i = 0; i < ARRAY_LEN(words) && end == at; i++)
		if (t->len - at >= strlen(words[i]) && memcmp(t->p + at, words[i], strlen(words[i])) == 0)
			end = at + strlen(words[i]);
	char next = peek(t, end);
	if (end == at || str_is_alnum(next))
		return wrong(t, at, "a value is missing, or is none of JSON");
	*ret = end;
	return 0;
}

/* Reads `"name": value` at @at. */
static int scan_member(const struct jsonc_text *t, size_t at, unsigned int depth, const struct search *search, size_t *ret)
{
	size_t begin = at, value;
	bool same = false;
	int r = scan_string(t, at, search->name, &same, &at);

	if (r == 0)
		r = jsonc_skip_blank(t, at, &at);
	if (r < 0)
		return r;
	if (peek(t, at) != ':')
		return wrong(t, at, "a colon is missing behind a name");
	if ((r = jsonc_skip_blank(t, at + 1, &value)) < 0 || (r = scan_value(t, value, depth, NULL, ret)) < 0)
		return r;
	if (!search->object)
		return 0;
	if (same && search->object->found)
		return err_set(t->err, ERR_USAGE, EINVAL, "line %u: '%s' is there twice in one object: remove one of the two",
			       edits_line(t->p, begin), search->name);
	if (same) {
		search->object->found = true;
		search->object->value = (struct jsonc_range) { value, *ret };
	}
	search->object->last_end = *ret;
	return 0;
}

/* Where a new last member can begin in the object from @open to @close: behind everything but blanks, and behind those of its line. */
static size_t tail_of(const struct jsonc_text *t, size_t open, size_t close)
{
	size_t tail = close, end;

	while (tail > open + 1 && strchr(" \t\r\n", t->p[tail - 1]))
		tail--;
	for (end = tail; end < close && strchr(" \t", t->p[end]); end++)
		;
	return end < close ? end : tail;
}

/* Reads what is between the brackets that open at @at, up to @close: members when @search is given, else values. */
static int scan_list(const struct jsonc_text *t, size_t at, char close, unsigned int depth, const struct search *search, size_t *ret)
{
	size_t open = at;
	bool comma = false;
	int r = jsonc_skip_blank(t, at + 1, &at);

	if (r == 0 && search && search->object)
		*search->object = (struct jsonc_object) { .open = open, .first = at, .last_end = open + 1 };
	for (; r == 0 && peek(t, at) != close; comma = true) {
		size_t item = at;
		r = search ? scan_member(t, at, depth, search, &at) : scan_value(t, at, depth, NULL, &at);
		if (r == 0)
			r = jsonc_skip_blank(t, at, &at);
		if (r < 0)
			return r;
		comma = false;
		if (peek(t, at) == close)
			break;
		if (peek(t, at) != ',')
			return wrong(t, at < t->len ? at : item, at < t->len ? "a comma or the closing bracket is missing"
									      : "a bracket opens that is never closed");
		r = jsonc_skip_blank(t, at + 1, &at);
	}
	if (r < 0)
		return r;
	if (search && search->object) {
		search->object->close = at;
		search->object->comma_at_end = comma;
		search->object->tail = tail_of(t, open, at);
	}
	*ret = at + 1;
	return 0;
}

static int scan_value(const struct jsonc_text *t, size_t at, unsigned int depth, const struct search *search, size_t *ret)
{
	static const struct search nothing = { NULL, NULL };

	if (depth >= EDIT_NEST_MAX)
		return wrong(t, at, "there are too many objects and arrays in one another");
	switch (peek(t, at)) {
	case '{':
		return scan_list(t, at, '}', depth + 1, search ? search : &nothing, ret);
	case '[':
		return scan_list(t, at, ']', depth + 1, NULL, ret);
	case '"':
		return scan_string(t, at, NULL, NULL, ret);
	default:
		return scan_scalar(t, at, ret);
	}
}

int jsonc_check(const struct jsonc_text *t, size_t *ret_root)
{
	size_t at = 0;
	int r = jsonc_skip_blank(t, utf8_bom_length(t->p, t->len), &at);

	*ret_root = at;
	if (r < 0 || at == t->len)
		return r;
	if (t->p[at] != '{')
		return wrong(t, at, "the file holds no JSON object");
	r = scan_value(t, at, 0, NULL, &at);
	if (r == 0)
		r = jsonc_skip_blank(t, at, &at);
	if (r == 0 && at < t->len)
		r = wrong(t, at, "something stands behind the end of the object");
	return r;
}

int jsonc_find(const struct jsonc_text *t, size_t at, const char *name, struct jsonc_object *ret)
{
	const struct search search = { name, ret };
	size_t end;

	return scan_value(t, at, 0, &search, &end);
}
