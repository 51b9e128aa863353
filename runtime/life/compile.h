/*
 * Runs cloche-compile, the one program on the host side that parses JSON: policy files that a user names.
 *
 * It gets the file as its standard input and no other descriptor of ours but its own output, confines itself before it reads
 * a byte, and is stopped when it takes too long. Its only answer is bytes, which the caller checks.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/spec/compilemsg.h"

/*
 * Compiles the file @input_fd (borrowed; read from its current position) as @what, a sub-command of cloche-compile, and
 * appends the result to @out. @name is the file's name for messages. 0, or -errno with @err filled: for a file that is wrong,
 * with the sentence that cloche-compile wrote.
 */
int compile_run(const char *what, int input_fd, const char *name, struct buf *out, struct err *err) _must_check_;
