/*
 * `cloche kill`: ends sandboxes, from another terminal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/cli/command.h"
#include "runtime/cli/options.h"
#include "runtime/cli/sandboxes.h"
#include "runtime/life/stop.h"

enum { LINE_MAX_BYTES = 1024, CANDIDATES_SHOWN = 8, EXIT_NOT_ALL = 1 };

/* Whether the word is the name of some sandbox: then no beginning of an id is meant by it. A whole id goes before any name. */
static bool is_name(const struct sandboxes *list, const char *word)
{
	bool found = false;

	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->entries[i].file, word) == 0)
			return false;
		found |= strcmp(list->entries[i].record.name, word) == 0;
	}
	return found;
}

static void add_candidate(struct buf *out, const struct state_entry *e, size_t n)
{
	if (n < CANDIDATES_SHOWN)
		buf_addf(out, "%s%s", n ? ", " : "", e->file);
	else if (n == CANDIDATES_SHOWN)
		buf_add_str(out, ", ...");
}

/* The one living sandbox that @word means. -ENOENT or -EEXIST with @err filled otherwise. */
static int find_one(const struct sandboxes *list, const char *word, size_t *ret, struct err *err)
{
	_cleanup_buf_ struct buf candidates = BUF_INIT(LINE_MAX_BYTES);
	bool by_name = is_name(list, word);
	size_t found = 0;

	for (size_t i = 0; i < list->count && word[0]; i++) {
		const struct state_entry *e = &list->entries[i];
		if (by_name ? strcmp(e->record.name, word) != 0 : strncmp(e->file, word, strlen(word)) != 0)
			continue;
		add_candidate(&candidates, e, found++);
		*ret = i;
	}
	if (found == 1)
		return 0;
	if (found == 0)
		return err_set(err, ERR_USAGE, ENOENT, "no running sandbox has the id or name '%s': see `cloche ps`", word);
	return err_set(err, ERR_USAGE, EEXIST, "'%s' means %zu sandboxes (%s): say which by its id", word, found, buf_cstr(&candidates));
}

/* Marks what was asked for. Returns the number of words that mean no sandbox, each of which has been complained about. */
static size_t choose(const struct sandboxes *list, char **words, int count, bool all, bool *chosen)
{
	size_t wrong = 0, which = 0;

	for (size_t i = 0; i < list->count; i++)
		chosen[i] = all;
	for (int i = 0; i < count; i++) {
		struct err err = { .code = ERR_NONE };
		if (find_one(list, words[i], &which, &err) == 0) {
			chosen[which] = true;
		} else {
			(void) dprintf(STDERR_FILENO, "cloche: %s\n", err.text);
			wrong++;
		}
	}
	return wrong;
}

/* Some of the chosen sandboxes, as many as are ended side by side. */
struct batch {
	const struct sandboxes *list;
	const bool *chosen;
	size_t first, end; /* of the list */
	struct stop_target targets[STOP_AT_ONCE_MAX];
	const struct state_entry *entries[STOP_AT_ONCE_MAX];
	size_t count;
};

/* Takes a record of the batch together with its folder. What is gone by now is not met here: it has ended. */
static int take(int dir_fd, const struct state_entry *entry, void *userdata)
{
	struct batch *b = userdata;

	for (size_t i = b->first; i < b->end && b->count < STOP_AT_ONCE_MAX; i++) {
		const struct state_entry *e = &b->list->entries[i];
		if (!b->chosen[i] || strcmp(e->file, entry->file) != 0 || e->owner != entry->owner)
			continue;
		int r = stop_prepare(&b->targets[b->count], dir_fd, e);
		if (r < 0)
			return r;
		b->entries[b->count++] = e;
	}
	return 0;
}

/* Says what became of one. True when it is over. */
static bool report(const struct stop_target *t, const struct state_entry *e)
{
	static const struct {
		const char *text;
		bool is_over;
	} words[] = {
		[STOP_ENDED] = { "ended", true },
		[STOP_KILLED] = { "killed", true },
		[STOP_GONE] = { "was over already", true },
		[STOP_STUCK] = { "was killed, but the kernel has not taken it down yet: look again with `cloche ps`", false },
		[STOP_REFUSED] = { "cannot be ended", false },
	};
	_cleanup_buf_ struct buf line = BUF_INIT(LINE_MAX_BYTES);
	bool is_over = words[t->result].is_over;

	if (!is_over)
		buf_add_str(&line, "cloche: ");
	sandboxes_add_title(&line, e);
	buf_addf(&line, " %s", words[t->result].text);
	if (t->result == STOP_REFUSED)
		buf_addf(&line, ": %s", t->errnum == ENXIO ? "its supervisor runs in a PID namespace that is not seen from here" :
							     strerror(t->errnum));
	buf_add_char(&line, '\n');
	IGNORE_RESULT(fd_write_all(is_over ? STDOUT_FILENO : STDERR_FILENO, buf_cstr(&line), line.len)); /* nobody reads it */
	return is_over;
}

/* Ends the sandboxes of a batch. Returns how many are not over then, or -errno with @err filled. */
static int end_batch(struct batch *b, bool by_force, struct err *err)
{
	int left = 0;
	int r = state_visit(take, b);

	if (r >= 0)
		stop_all(b->targets, b->count, by_force);
	for (size_t i = 0; i < b->count; i++) {
		if (r >= 0 && !report(&b->targets[i], b->entries[i]))
			left++;
		stop_done(&b->targets[i]);
	}
	b->count = 0;
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "the sandboxes cannot be reached: %m") : left;
}

static int end_all(const struct sandboxes *list, const bool *chosen, bool by_force, struct err *err)
{
	static struct batch batch;
	int left = 0;

	batch.list = list;
	batch.chosen = chosen;
	while (batch.end < list->count) {
		size_t taken = 0;
		for (batch.first = batch.end; batch.end < list->count && taken < STOP_AT_ONCE_MAX; batch.end++)
			taken += chosen[batch.end];
		int r = end_batch(&batch, by_force, err);
		if (r < 0)
			return r;
		left += r;
	}
	return left;
}

static int check_operands(const struct options *o, int operands, struct err *err)
{
	if (o->all && operands > 0)
		return err_set(err, ERR_USAGE, EINVAL, "--all and names together: leave one out");
	if (!o->all && operands == 0)
		return err_set(err, ERR_USAGE, EINVAL, "which sandbox? Give ids or names as in `cloche ps`, or --all");
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };
	_cleanup_sandboxes_ struct sandboxes list = { .count = 0 };

	options_init(&o);
	int operands = opt_parse(options_table, GROUP_KILL, OPT_PERMUTE, &o, argc, argv, err);
	if (operands < 0)
		return operands;
	if (o.help) {
		cli_print_help(&cmd_kill);
		return EXIT_SUCCESS;
	}
	int r = check_operands(&o, operands, err);
	if (r < 0 || (r = sandboxes_list(&list, false, err)) < 0)
		return r;
	bool *chosen = calloc(list.count + 1, sizeof(*chosen));
	if (!chosen)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	size_t wrong = choose(&list, argv, operands, o.all, chosen);
	r = end_all(&list, chosen, o.by_force, err);
	free(chosen);
	if (r < 0)
		return r;
	if (o.all && list.count == 0)
		(void) dprintf(STDOUT_FILENO, "no sandbox is running\n");
	return wrong > 0 || r > 0 ? EXIT_NOT_ALL : EXIT_SUCCESS;
}

const struct cli_command cmd_kill = {
	.name = "kill",
	.usage = "[OPTIONS] ID|NAME...",
	.summary = "end running sandboxes",
	.about = "Ends the sandboxes with the given ids (the beginning of one does) or names, as `cloche ps` lists them. Each is asked\n"
		 "first, with SIGTERM to its supervisor; what has not ended after five seconds is killed. Says what became of each. The\n"
		 "exit status is 0 when all of them are over, 1 when one was not found or could not be ended.\n",
	.group = GROUP_KILL,
	.run = run,
};
