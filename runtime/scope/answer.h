/*
 * The answer of cloche-scope: a cause for programs, a sentence for people.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/spec/scopemsg.h"

/*
 * Fills @answer, unless it is filled already: the first failure is the one that explains. What does not fit is cut, what cannot be
 * printed becomes '?'. Returns -@errnum.
 */
int answer_set(struct scopemsg_answer *answer, enum scopemsg_cause cause, int errnum, const char *fmt, ...) _printf_(4, 5);
