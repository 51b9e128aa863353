/*
 * Cases for what changes settings files by text: a file before and after, and what has to be said when it cannot be done.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

typedef int edit_function(const char *input, size_t len, struct buf *out, struct err *err);

struct edit_case {
	const char *before;
	const char *edits; /* PATH=VALUE, one a line, the names of the path separated by '/' */
	const char *after; /* NULL: it is refused, */
	const char *says;  /* with this in the message */
};

enum { EDIT_TEXT_MAX = 1024 * 1024 };

/* The input that cloche-compile gets for @edits and the file @text. */
static inline void edit_input(struct buf *ret, const char *edits, const char *text, size_t len)
{
	for (const char *line = edits; *line;) {
		size_t line_len = strcspn(line, "\n");
		const char *equals = memchr(line, '=', line_len);
		ck_assert_ptr_nonnull(equals);
		for (const char *c = line; c < equals; c++)
			buf_add_char(ret, *c == '/' ? '\0' : *c);
		buf_add(ret, "\0", 2);
		buf_add(ret, equals + 1, (size_t) (line + line_len - equals - 1));
		buf_add_char(ret, '\0');
		line += line_len + (line[line_len] == '\n');
	}
	buf_add_char(ret, '\0');
	buf_add(ret, text, len);
}

/* Runs @edit; the message goes to @err. 0 or -errno. */
static inline int edit_run(edit_function *edit, const char *edits, const char *text, size_t len, struct buf *out, struct err *err)
{
	_cleanup_buf_ struct buf input = BUF_INIT(2 * EDIT_TEXT_MAX);

	edit_input(&input, edits, text, len);
	memset(err, 0, sizeof(*err));
	return edit(buf_cstr(&input), input.len, out, err);
}

/* Runs a case, and what came out once more: that must change nothing. */
static inline void edit_check(edit_function *edit, const struct edit_case *c, size_t number)
{
	_cleanup_buf_ struct buf out = BUF_INIT(EDIT_TEXT_MAX), again = BUF_INIT(EDIT_TEXT_MAX);
	struct err err;
	int r = edit_run(edit, c->edits, c->before, strlen(c->before), &out, &err);

	if (!c->after) {
		ck_assert_msg(r < 0 && err.code == ERR_USAGE, "case %zu was taken: %s", number, buf_cstr(&out));
		ck_assert_msg(strstr(err.text, c->says) != NULL, "case %zu lacks '%s': %s", number, c->says, err.text);
		return;
	}
	ck_assert_msg(r == 0, "case %zu: %s", number, err.text);
	ck_assert_msg(strcmp(buf_cstr(&out), c->after) == 0, "case %zu gives\n%s\ninstead of\n%s", number, buf_cstr(&out), c->after);
	r = edit_run(edit, c->edits, out.p, out.len, &again, &err);
	ck_assert_msg(r == 0 && strcmp(buf_cstr(&again), c->after) == 0, "case %zu, done twice: %s %s", number, err.text, buf_cstr(&again));
}

/*
 * Damages @text in @rounds ways. Whatever becomes of it is refused with a message, or taken; then what comes out is taken too, and
 * changes no more.
 */
static inline void edit_damage(edit_function *edit, const char *edits, const char *text, const char *alphabet, unsigned int rounds)
{
	struct seeded seed = { .state = 20261130 };
	unsigned int taken = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(EDIT_TEXT_MAX), again = BUF_INIT(EDIT_TEXT_MAX);
		struct err err;
		char *copy = strdup(text);
		size_t len = strlen(text);
		for (size_t hits = 1 + seeded_below(&seed, 4); hits > 0; hits--)
			copy[seeded_below(&seed, len)] = alphabet[seeded_below(&seed, strlen(alphabet))];
		if (seeded_below(&seed, 4) == 0)
			len = seeded_below(&seed, len);
		int r = edit_run(edit, edits, copy, len, &out, &err);
		if (r < 0) {
			ck_assert_msg(strlen(err.text) > 10, "round %u: no message", i);
		} else {
			taken++;
			r = edit_run(edit, edits, out.p, out.len, &again, &err);
			ck_assert_msg(r == 0 && out.len == again.len && memcmp(out.p, again.p, out.len) == 0,
				      "round %u, done twice: %s\n%.*s\n%s\n%s", i, err.text, (int) len, copy, buf_cstr(&out), buf_cstr(&again));
		}
		free(copy);
	}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_lt(taken, rounds);
}
