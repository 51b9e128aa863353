/*
 * Finds a table and a key in TOML, by their place in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"

struct toml_text {
	const char *p;
	size_t len;
	struct err *err;
};

struct toml_range {
	size_t begin, end;
};

enum { TOML_PATH_MAX = 1024 }; /* bytes of the names of a path, with a NUL behind each */

struct toml_path {
	char names[TOML_PATH_MAX];
	size_t len; /* a path that does not fit is TOML_PATH_MAX long, and the same as none */
};

/* Appends @len bytes of @name to @path. */
void toml_path_add(struct toml_path *path, const char *name, size_t len);

struct toml_found {
	bool key;                  /* the key is there: */
	struct toml_range value;   /* its value */
	bool key_is_table;         /* the key is one, by headers or dotted keys: no value can be given to it */
	size_t key_table_at;
	bool header;               /* [the.table] is there: */
	size_t statement, body_end; /* where its last line that says something begins, and ends */
	bool inline_table;         /* the table is an inline one: */
	struct toml_range braces;
	size_t last_end;           /* behind its last value; behind the brace when it has none */
	bool empty;
	bool in_the_way;           /* the table exists in a form that nothing can be added to, */
	bool closed_above;         /* or one that it would belong to is an inline table: */
	size_t way_at;
};

/*
 * Reads the whole text and looks for @table and, in it, for @key (a path that begins with @table's). 0, or -EINVAL with the error
 * filled: it is not TOML, or the table or the key is there twice.
 */
int toml_find(const struct toml_text *t, const struct toml_path *table, const struct toml_path *key,
	      struct toml_found *ret) _must_check_;
