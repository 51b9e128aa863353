/*
 * Changes single keys of a TOML file and leaves every other byte as it is: comments, order, blanks and line ends.
 *
 * Of TOML 1.0, and the line breaks in inline tables of 1.1, it knows where each key and each value begins and ends; numbers and dates
 * are not looked into. Defining a table twice, which TOML forbids, is found for the tables and keys that are to be changed.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

/*
 * Makes the settings at the front of @input in the file behind them (spec/compilemsg.h) and appends the new text of the file to @out.
 * All names of a path but its last are a table: a key goes where that table is, be it [a.table] or an inline table, or into a new
 * [a.table] at the end of the file. 0, or -errno with @err filled: the line that is not TOML, or that is in the way (a table made of
 * dotted keys, which cannot be added to by text; a key twice).
 */
int toml_edit(const char *input, size_t len, struct buf *out, struct err *err) _must_check_;
