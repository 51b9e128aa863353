/*
 * What must hold between several limits: see limits.h. Runs in the launcher, before anything is created.
 */
#include "runtime/cli/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cli/layers.h"

enum { SAID_MAX = 256, VALUE_MAX = 32 };

enum unit { BYTES, MILLI, COUNT };

/* The largest unit that divides it, as on the command line. */
static void size_text(uint64_t bytes, char text[static VALUE_MAX])
{
	static const char letters[] = { 'b', 'k', 'm', 'g', 't' };
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(letters) && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	(void) snprintf(text, VALUE_MAX, "%llu%c", (unsigned long long) bytes, letters[i]);
}

/* "--NAME VALUE (by: who said so)"; who said it is told because a profile may be what surprises. */
static void said(const struct options *o, const char *name, uint64_t value, enum unit unit, char text[static SAID_MAX])
{
	char number[VALUE_MAX];

	if (unit == BYTES)
		size_text(value, number);
	else if (unit == MILLI)
		(void) snprintf(number, sizeof(number), "%.10g", (double) value / 1000);
	else
		(void) snprintf(number, sizeof(number), "%llu", (unsigned long long) value);
	(void) snprintf(text, SAID_MAX, "--%s %s (by: %.180s)", name, number, layers_origin(o, name, NULL, 0));
}

static int check_swap(const struct options *o, struct err *err)
{
	const struct spec *s = &o->spec;
	char swap[SAID_MAX], memory[SAID_MAX];

	if (s->memory_swap == 0 || s->memory_swap == UINT64_MAX)
		return 0;
	said(o, "memory-swap", s->memory_swap, BYTES, swap);
	if (s->memory == 0)
		return err_set(err, ERR_USAGE, EINVAL, "%s needs a limit of memory beside it, since it is the total of memory and swap: give --memory too",
			       swap);
	if (s->memory_swap >= s->memory)
		return 0;
	said(o, "memory", s->memory, BYTES, memory);
	return err_set(err, ERR_USAGE, EINVAL, "%s is less than %s: it is the total of memory and swap. The same value for both means no swap", swap,
		       memory);
}

/* A command cannot get more than all of them together. */
static int check_command(const struct options *o, struct err *err)
{
	const struct spec *s = &o->spec;
	const struct {
		const char *command_name, *name;
		uint64_t command, sandbox; /* 0: no limit */
		enum unit unit;
	} rows[] = {
		{ "command-memory", "memory", s->command.memory, s->memory, BYTES },
		{ "command-cpus", "cpus", s->command.cpu_milli, s->cpu_milli, MILLI },
		{ "command-pids-limit", "pids-limit", s->command.pids, s->pids, COUNT },
	};
	char command[SAID_MAX], sandbox[SAID_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].sandbox == 0 || rows[i].command <= rows[i].sandbox)
			continue;
		said(o, rows[i].command_name, rows[i].command, rows[i].unit, command);
		said(o, rows[i].name, rows[i].sandbox, rows[i].unit, sandbox);
		return err_set(err, ERR_USAGE, EINVAL, "%s is more than %s: one command cannot have more than all together. Lower the one or raise the other",
			       command, sandbox);
	}
	return 0;
}

static int check_cgroup(const struct options *o, struct err *err)
{
	if (o->spec.cgroup != SPEC_CGROUP_NONE || !o->spec.require_limits)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "--require-limits (by: %.180s) asks for control groups, and --cgroup none does without them: leave one of the "
		       "two out", layers_origin(o, "require-limits", NULL, 0));
}

int limits_settle(struct options *o, struct err *err)
{
	int r = check_swap(o, err);

	if (r == 0)
		r = check_command(o, err);
	if (r == 0)
		r = check_cgroup(o, err);
	if (r == 0)
		spec_settle_sizes(&o->spec);
	return r;
}
