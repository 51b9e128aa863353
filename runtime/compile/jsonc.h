/*
 * Changes single members of a JSON file and leaves every other byte as it is: comments, order, blanks and line ends.
 *
 * Read is JSON with what editors allow in their settings: comments of both kinds, a comma behind the last member, a byte order mark.
 * What is added gets the indentation of what is there; a file on one line stays on one line. A file without a value (empty, or
 * nothing but comments) becomes one object.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

/*
 * Makes the settings at the front of @input in the file behind them (spec/compilemsg.h) and appends the new text of the file to @out.
 * A member that has its value already, however it is laid out, stays. 0, or -errno with @err filled: the line that is not JSON, or
 * that is in the way (a member of that name twice, or with another kind of value).
 */
int jsonc_edit(const char *input, size_t len, struct buf *out, struct err *err) _must_check_;
