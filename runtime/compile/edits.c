/*
 * Settings to be made in a configuration file: see edits.h. Runs in cloche-compile, which has locked itself in.
 */
#include "runtime/compile/edits.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/utf8.h"
#include "runtime/spec/compilemsg.h"

/* The string at *@at, which is moved behind its NUL; NULL when there is no NUL. */
static const char *next_string(const char *input, size_t len, size_t *at)
{
	const char *s = input + *at;
	const char *end = memchr(s, '\0', len - *at);

	if (!end)
		return NULL;
	*at = (size_t) (end - input) + 1;
	return s;
}

/* Reads one edit behind @name, the first of its path. */
static bool read_edit(const char *input, size_t len, size_t *at, const char *name, struct edit *ret)
{
	for (; name && *name; name = next_string(input, len, at)) {
		if (ret->depth == EDIT_DEPTH_MAX)
			return false;
		ret->path[ret->depth++] = name;
	}
	ret->value = name ? next_string(input, len, at) : NULL;
	return ret->value && *ret->value;
}

/* Takes @input apart; what @ret holds points into it. 0, or -EPROTO with @err filled. */
static int read_edits(const char *input, size_t len, struct edits *ret, struct err *err)
{
	size_t at = 0;

	memset(ret, 0, sizeof(*ret));
	for (;;) {
		const char *name = next_string(input, len, &at);
		if (name && !*name)
			break;
		if (!name || ret->count == EDITS_MAX || !read_edit(input, len, &at, name, &ret->list[ret->count]))
			return err_set(err, ERR_SYSTEM, EPROTO, "the settings to be made are not in their form");
		ret->count++;
	}
	ret->text = input + at;
	ret->len = len - at;
	return 0;
}

unsigned int edits_line(const char *text, size_t at)
{
	unsigned int line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

const char *edits_newline(const char *text, size_t len)
{
	const char *end = len ? memchr(text, '\n', len) : NULL;

	return end && end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

const char *edits_indent(const char *text, size_t at, size_t *ret_len)
{
	size_t start = at;

	while (start > 0 && text[start - 1] != '\n')
		start--;
	start += start == 0 ? utf8_bom_length(text, at) : 0;
	*ret_len = 0;
	while (start + *ret_len < at && (text[start + *ret_len] == ' ' || text[start + *ret_len] == '\t'))
		(*ret_len)++;
	return text + start;
}

void edits_replace(struct buf *text, size_t from, size_t to, const char *add, size_t add_len)
{
	struct buf new = BUF_INIT(text->max);

	buf_add(&new, buf_cstr(text), from);
	buf_add(&new, add, add_len);
	buf_add(&new, buf_cstr(text) + to, text->len - to);
	buf_done(text);
	*text = new;
}

/* A settings file is UTF-8 without a NUL. */
static int check_text(const char *text, size_t len, struct err *err)
{
	size_t valid = utf8_valid_prefix(text, len);
	const char *nul = len ? memchr(text, '\0', len) : NULL;

	if (valid < len)
		return err_set(err, ERR_USAGE, EINVAL, "line %u is not UTF-8", edits_line(text, valid));
	if (nul)
		return err_set(err, ERR_USAGE, EINVAL, "line %u holds a NUL byte", edits_line(text, (size_t) (nul - text)));
	return 0;
}

int edits_run(const char *input, size_t len, edits_fn edit, struct buf *out, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(COMPILE_OUTPUT_MAX);
	struct edits edits;
	int r = read_edits(input, len, &edits, err);

	if (r == 0)
		r = check_text(edits.text, edits.len, err);
	if (r < 0)
		return r;
	buf_add(&text, edits.text, edits.len);
	r = edit(&edits, &text, err);
	if (r == 0 && buf_error(&text) < 0)
		return err_set(err, ERR_USAGE, -buf_error(&text), "with the settings it would be larger than %d bytes", COMPILE_OUTPUT_MAX);
	if (r == 0)
		buf_add(out, buf_cstr(&text), text.len);
	return r;
}
