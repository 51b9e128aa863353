/*
 * The answer: see answer.h. Runs in cloche-scope. The words may come from the bus, so nothing but their letters is taken.
 */
#include "runtime/scope/answer.h"

#include <stdarg.h>
#include <stdio.h>

int answer_set(struct scopemsg_answer *answer, enum scopemsg_cause cause, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (answer->cause != SCOPEMSG_NO_CAUSE)
		return -errnum;
	answer->cause = cause;
	answer->errnum = errnum;
	va_start(ap, fmt);
	(void) vsnprintf(answer->text, sizeof(answer->text), fmt, ap);
	va_end(ap);
	for (char *c = answer->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return -errnum;
}
