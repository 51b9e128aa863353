/*
 * The list of recorded sandboxes: see sandboxes.h. Runs on the host, as the invoking user.
 */
#include "runtime/cli/sandboxes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/utf8.h"

enum { FIRST_CAP = 32 };

void sandboxes_done(struct sandboxes *list)
{
	free(list->entries);
	list->entries = NULL;
	list->count = list->cap = 0;
}

static int grow(struct sandboxes *list)
{
	size_t cap = list->cap ? list->cap * 2 : FIRST_CAP;

	if (cap > SANDBOXES_MAX)
		return -E2BIG;
	struct state_entry *entries = reallocarray(list->entries, cap, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	list->entries = entries;
	list->cap = cap;
	return 0;
}

static int add(struct sandboxes *list, const struct state_entry *entry)
{
	int r = list->count == list->cap ? grow(list) : 0;

	if (r == 0)
		list->entries[list->count++] = *entry;
	return r;
}

static int add_any(_unused_ int dir_fd, const struct state_entry *entry, void *userdata)
{
	return add(userdata, entry);
}

static int add_living(_unused_ int dir_fd, const struct state_entry *entry, void *userdata)
{
	return entry->kind == STATE_ALIVE ? add(userdata, entry) : 0;
}

static int by_age(const void *a, const void *b)
{
	const struct state_entry *x = a, *y = b;

	if (x->record.started != y->record.started)
		return x->record.started < y->record.started ? -1 : 1;
	return strcmp(x->file, y->file);
}

int sandboxes_list(struct sandboxes *ret, bool all, struct err *err)
{
	int r = state_visit(all ? add_any : add_living, ret);

	if (r == -E2BIG)
		(void) dprintf(STDERR_FILENO, "cloche: there are more than %d records, and only so many are looked at: `cloche gc` removes those "
					      "of the dead\n", SANDBOXES_MAX);
	else if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the sandboxes cannot be listed: %m");
	if (ret->count > 1)
		qsort(ret->entries, ret->count, sizeof(ret->entries[0]), by_age);
	return 0;
}

void sandboxes_add_text(struct buf *out, const char *text)
{
	utf8_add_printable(out, text, strlen(text));
}

void sandboxes_add_title(struct buf *out, const struct state_entry *entry)
{
	buf_add_str(out, entry->file);
	if (entry->record.name[0])
		buf_addf(out, " (%s)", entry->record.name); /* letters, digits and a few signs only: state_record_parse() */
}
