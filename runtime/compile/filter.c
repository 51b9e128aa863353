/*
 * Filters as rules: see filter.h. Runs in cloche-compile, while building, and in the tests.
 */
#include "runtime/compile/filter.h"

#include <stdio.h>
#include <string.h>

int filter_by_number(const void *a, const void *b)
{
	const struct filter_call *x = a;
	const struct filter_call *y = b;

	return (x->nr > y->nr) - (x->nr < y->nr);
}

struct filter_call *filter_add_call(struct filter_profile *p, uint32_t nr, const char *name)
{
	for (unsigned int i = 0; i < p->ncalls; i++)
		if (p->call[i].nr == nr)
			return &p->call[i];
	if (p->ncalls == FILTER_CALLS_MAX)
		return NULL;

	struct filter_call *call = &p->call[p->ncalls++];
	memset(call, 0, sizeof(*call));
	call->nr = nr;
	(void) snprintf(call->name, sizeof(call->name), "%s", name);
	return call;
}

const char *filter_keep_comment(struct filter_profile *p, const char *text)
{
	size_t size = strlen(text) + 1;

	if (size > sizeof(p->comments) - p->comments_len)
		return NULL;
	char *kept = memcpy(p->comments + p->comments_len, text, size);
	p->comments_len += size;
	return kept;
}
