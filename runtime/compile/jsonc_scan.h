/*
 * Finds members in JSON with comments, by their place in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"

struct jsonc_text {
	const char *p;
	size_t len;
	struct err *err;
};

struct jsonc_range {
	size_t begin, end;
};

/* An object and where in it things are; offsets into the text. */
struct jsonc_object {
	size_t open, close;        /* its braces */
	size_t first;              /* the first member's name; @close when there is none */
	size_t last_end;           /* behind the last member's value; behind @open when there is none */
	bool comma_at_end;         /* one stands behind the last member */
	size_t tail;               /* where a new last member can begin: behind all members, commas and comments */
	bool found;                /* the member that was asked for */
	struct jsonc_range value;  /* of that member */
};

/* Behind blanks and comments from @at on in *@ret. 0, or -EINVAL for a comment without an end. */
int jsonc_skip_blank(const struct jsonc_text *t, size_t at, size_t *ret) _must_check_;

/*
 * Reads the whole text; *@ret_root is where its object begins, or the text's length when it holds no value at all. 0, or -EINVAL with
 * the error filled: it is not JSON, or no object.
 */
int jsonc_check(const struct jsonc_text *t, size_t *ret_root) _must_check_;

/* Reads the object at @at and looks for its member @name. 0, or -EINVAL: the name is there twice. */
int jsonc_find(const struct jsonc_text *t, size_t at, const char *name, struct jsonc_object *ret) _must_check_;
