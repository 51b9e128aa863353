/*
 * What the filter refused to a command, as lines for an agent or a person.
 */
#pragma once

#include "runtime/base/buf.h"
#include "runtime/spec/initmsg.h"

enum { DENIAL_TEXT_MAX = 16 * 1024 }; /* more than all lines together have */

/*
 * Adds a line for each kind of call in @denials to @text, between @before and @after: "mount (EPERM, 3 times). Why, and what to
 * do instead." Every word is ours; the list may have come from anywhere, and counts for what it can be at most. Returns the number
 * of lines.
 */
unsigned int denial_text(struct buf *text, const struct initmsg_denials *denials, const char *before, const char *after);

/* The name of an errno that filters answer with ("EPERM"), or "" for any other. */
const char *denial_errno_name(uint32_t errnum);
