/*
 * `cloche ps`: which sandboxes run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"
#include "runtime/cli/command.h"
#include "runtime/cli/options.h"
#include "runtime/cli/sandboxes.h"

enum { OUTPUT_MAX = 256 * 1024 * 1024, CELL_MAX = 64 * 1024, WHAT_WIDTH = 40 };

enum column { ID, NAME, AGE, WHAT, WORKSPACE, OWNER, PID, COLUMNS };

static const char *const titles[COLUMNS] = { "ID", "NAME", "AGE", "WHAT", "WORKSPACE", "UID", "PID" };

/* Seconds that a record says it has been running; records and clocks may say anything. */
static long long age(const struct state_entry *e)
{
	long long seconds = (long long) time(NULL) - e->record.started;

	return e->record.started > 0 && seconds > 0 ? seconds : 0;
}

static void add_age(struct buf *out, const struct state_entry *e)
{
	static const struct {
		long long below, unit;
		char letter;
	} units[] = { { 120, 1, 's' }, { 7200, 60, 'm' }, { 172800, 3600, 'h' } };
	long long seconds = age(e);

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (seconds < units[i].below) {
			buf_addf(out, "%lld%c", seconds / units[i].unit, units[i].letter);
			return;
		}
	}
	buf_addf(out, "%lldd", seconds / 86400);
}

static size_t width(const struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += ((unsigned char) text->p[i] & 0xc0) != 0x80;
	return n;
}

/* Shortens a cell to WHAT_WIDTH characters. */
static void shorten(struct buf *text)
{
	if (width(text) <= WHAT_WIDTH)
		return;
	while (width(text) > WHAT_WIDTH - 3)
		buf_truncate(text, utf8_floor(text->p, text->len - 1));
	buf_add_str(text, "...");
}

static void fill_cell(struct buf *out, enum column column, const struct state_entry *e)
{
	switch (column) {
	case ID:
		buf_add_str(out, e->file);
		break;
	case NAME:
		sandboxes_add_text(out, e->record.name);
		break;
	case AGE:
		add_age(out, e);
		break;
	case WHAT:
		sandboxes_add_text(out, e->record.command[0] ? e->record.command : e->is_readable ? "mcp" : "(unreadable)");
		shorten(out);
		break;
	case WORKSPACE:
		sandboxes_add_text(out, e->record.workspace);
		break;
	case OWNER:
		buf_addf(out, "%u", e->owner);
		break;
	case PID:
		if (e->kind == STATE_ALIVE && e->pid > 0)
			buf_addf(out, "%d", e->pid);
		else if (e->kind != STATE_ALIVE)
			buf_add_str(out, "dead");
		break;
	case COLUMNS:
		break;
	}
	if (out->len == 0)
		buf_add_char(out, '-');
}

/* Calls @use with each cell, the titles included, in the order of writing. */
static void each_cell(const struct sandboxes *list, void (*use)(void *userdata, enum column column, const struct buf *text), void *userdata)
{
	_cleanup_buf_ struct buf cell = BUF_INIT(CELL_MAX);

	for (size_t row = 0; row <= list->count; row++) {
		for (enum column c = 0; c < COLUMNS; c++) {
			buf_clear(&cell);
			if (row == 0)
				buf_add_str(&cell, titles[c]);
			else
				fill_cell(&cell, c, &list->entries[row - 1]);
			use(userdata, c, &cell);
		}
	}
}

struct table {
	struct buf *out;
	size_t widths[COLUMNS];
	bool with_owner;
};

static void measure(void *userdata, enum column column, const struct buf *text)
{
	struct table *t = userdata;

	t->widths[column] = MAX(t->widths[column], width(text));
}

static void write_cell(void *userdata, enum column column, const struct buf *text)
{
	struct table *t = userdata;

	if (column == OWNER && !t->with_owner)
		return;
	buf_add(t->out, text->p, text->len);
	if (column == COLUMNS - 1) {
		buf_add_char(t->out, '\n');
		return;
	}
	for (size_t n = width(text); n < t->widths[column] + 2; n++)
		buf_add_char(t->out, ' ');
}

static void write_table(struct buf *out, const struct sandboxes *list)
{
	struct table t = { .out = out };

	for (size_t i = 0; i < list->count; i++)
		t.with_owner |= list->entries[i].owner != geteuid();
	each_cell(list, measure, &t);
	each_cell(list, write_cell, &t);
}

static void json_text(struct buf *out, const char *name, const char *text)
{
	_cleanup_buf_ struct buf good = BUF_INIT(CELL_MAX);

	utf8_repair(&good, text, strlen(text));
	jsonw_name(out, name);
	jsonw_str(out, buf_cstr(&good));
}

static void json_number(struct buf *out, const char *name, long long number)
{
	jsonw_name(out, name);
	buf_addf(out, "%lld", number);
}

static void write_json(struct buf *out, const struct sandboxes *list)
{
	buf_add_str(out, "{\"sandboxes\":[");
	for (size_t i = 0; i < list->count; i++) {
		const struct state_entry *e = &list->entries[i];
		buf_add_str(out, i ? ",{" : "{");
		json_text(out, "id", e->file);
		json_text(out, "name", e->record.name);
		json_text(out, "state", e->kind == STATE_ALIVE ? "running" : "dead");
		json_text(out, "kind", !e->is_readable ? "" : e->record.command[0] ? "run" : "mcp");
		json_text(out, "command", e->record.command);
		json_text(out, "workspace", e->record.workspace);
		json_number(out, "started", e->record.started);
		json_number(out, "age", age(e));
		json_number(out, "pid", e->pid);
		json_number(out, "uid", (long long) e->owner);
		buf_add_char(out, '}');
	}
	buf_add_str(out, "]}\n");
}

/* Nothing was found: because nothing runs, or because nothing can be recorded? */
static int say_nothing_runs(struct buf *out, struct err *err)
{
	_cleanup_fd_ int fd = statedir_open(STATEDIR_SANDBOXES, err);

	if (fd < 0)
		return err_wrap(err, "no sandbox is recorded");
	buf_add_str(out, "no sandbox is running\n");
	return 0;
}

static int write_list(struct buf *out, const struct options *o, const struct sandboxes *list, struct err *err)
{
	if (o->json)
		write_json(out, list);
	else if (o->quiet)
		for (size_t i = 0; i < list->count; i++)
			buf_addf(out, "%s\n", list->entries[i].file);
	else if (list->count == 0)
		return say_nothing_runs(out, err);
	else
		write_table(out, list);
	return 0;
}

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };
	_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	_cleanup_sandboxes_ struct sandboxes list = { .count = 0 };

	options_init(&o);
	int operands = opt_parse(options_table, GROUP_PS, OPT_PERMUTE, &o, argc, argv, err);
	if (operands < 0)
		return operands;
	if (operands > 0)
		return err_set(err, ERR_USAGE, EINVAL, "ps takes no argument, but '%s' was given", argv[0]);
	if (o.help) {
		cli_print_help(&cmd_ps);
		return EXIT_SUCCESS;
	}
	int r = sandboxes_list(&list, o.all, err);
	if (r < 0 || (r = write_list(&out, &o, &list, err)) < 0)
		return r;
	r = cli_print(&out, "the list", err);
	return r < 0 ? r : EXIT_SUCCESS;
}

const struct cli_command cmd_ps = {
	.name = "ps",
	.usage = "[OPTIONS]",
	.summary = "list the running sandboxes",
	.about = "Lists your running sandboxes, the oldest first: id, name (--name), age, what runs in it (mcp, or the command of\n"
		 "run), the workspace on the host, and the process id of the cloche that holds it. Root sees those of everybody.\n",
	.group = GROUP_PS,
	.run = run,
};
