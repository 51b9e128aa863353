/*
 * The syntax gate: whether a file's content is what its name promises.
 *
 * A write is refused only when it would turn a valid file (or none) into an invalid one; a file that is broken already
 * may be repaired step by step, with a warning. What cannot be checked is never refused. JSON, JSON Lines and Python
 * are checked; every other name passes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/buf.h"

struct tool_call;

enum { CHECK_TEXT_MAX = 400 };

enum check_verdict {
	CHECK_OK,
	CHECK_BAD,
	CHECK_UNKNOWN, /* not checked, @text says why; or nothing to check for this name (@text empty) */
};

struct check_result {
	enum check_verdict verdict;
	char text[CHECK_TEXT_MAX]; /* a sentence: what is wrong and where, or why it was not checked */
	char warning[CHECK_TEXT_MAX]; /* something legal but doubtful, or "" */
};

/* Checks @data as the content of a file named @path. May run a program in the sandbox: worker threads only. */
void check_content(struct tool_call *call, const char *path, const char *data, size_t len, struct check_result *res);

/* Whether check_content() knows something about this name: reading the old content is worth it. */
bool check_applies(const char *path);

/*
 * The gate itself. @before is the old content, or NULL when there is no file. Returns true when @after may be written;
 * @notes then has the lines to be told, each beginning with a newline. Otherwise the call has been failed.
 */
bool check_gate(struct tool_call *call, const char *path, const struct buf *before, const struct buf *after,
		struct buf *notes);
