/*
 * Proposals for the value of an argument of which the beginning has been typed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

struct tool_call;

/* What an argument's value may be; nothing is proposed for others. */
enum complete_kind {
	COMPLETE_NOTHING,
	COMPLETE_WORD, /* one of a list, or something else */
	COMPLETE_PATH, /* a file or directory of the workspace */
	COMPLETE_JOB,  /* the id of a task */
};

enum {
	COMPLETE_VALUES_MAX = 100,       /* in one answer: a rule of the protocol */
	COMPLETE_TEXT_MAX = 1024 * 1024, /* bytes of their JSON text */
};

struct completions {
	struct buf values;  /* JSON strings with commas between */
	size_t shown, found;
	bool incomplete;    /* there are more than were looked at: how many is not known */
};

#define COMPLETIONS_INIT { .values = BUF_INIT(COMPLETE_TEXT_MAX), .shown = 0, .found = 0, .incomplete = false }

void completions_done(struct completions *c);
#define _cleanup_completions_ _cleanup_(completions_done)

/* Counts one more value, and adds it unless there are COMPLETE_VALUES_MAX. It must be UTF-8. */
void completions_add(struct completions *c, const char *value);

/* Those of the NULL-terminated list @words that begin with @typed. NULL is an empty list. */
void complete_word(struct completions *c, const char *const *words, const char *typed);

/*
 * What is in the directory part of @typed and goes on as @typed does, in the order of the names; directories with a slash at
 * the end, so that the next request looks into them. Hidden names are left out as in listings, and so are names that are not
 * UTF-8 or hold control characters. The part before the last slash stays as it was typed: relative, or, unless @relative,
 * below the workspace's name. A path that leaves the workspace or has a ".." in it gets nothing, and that is no error.
 *
 * Blocks on the file system: for worker threads. The call's text is scribbled on.
 */
void complete_path(struct completions *c, struct tool_call *call, const char *typed, bool relative);

/* Adds {"values":[…],"total":N,"hasMore":…}, an object; without the total when it is not known. */
void completions_write(struct buf *b, const struct completions *c);
