/*
 * What `cloche ps`, `cloche kill` and `cloche gc` share: the list of recorded sandboxes, and their words on a terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/life/state.h"

enum { SANDBOXES_MAX = 16384 };

struct sandboxes {
	struct state_entry *entries; /* owned */
	size_t count, cap;
};

void sandboxes_done(struct sandboxes *list);
#define _cleanup_sandboxes_ _cleanup_(sandboxes_done)

/*
 * Lists the living (of everybody, for real root) and, when @all, what the dead have left; the oldest first. Of more than
 * SANDBOXES_MAX the rest is left out, and said to be.
 */
int sandboxes_list(struct sandboxes *ret, bool all, struct err *err) _must_check_;

/* Appends a text from a record: what a terminal would obey, or what turns the direction of text, becomes '?'. */
void sandboxes_add_text(struct buf *out, const char *text);

/* Appends "ID" or "ID (NAME)". */
void sandboxes_add_title(struct buf *out, const struct state_entry *entry);
