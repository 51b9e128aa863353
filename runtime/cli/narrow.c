/*
 * Whether an option takes away: see narrow.h. Pure; runs in the launcher.
 *
 * An agent of an earlier session may have written what is compared here. An option without a row is refused, so that a new one is
 * no hole until somebody has thought about it.
 */
#include "runtime/cli/narrow.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Of two limits where 0 means none. */
static bool more(uint64_t before, uint64_t after)
{
	return before != 0 && (after == 0 || after > before);
}

static bool more_memory(const struct spec *before, const struct spec *after)
{
	return more(before->memory, after->memory);
}

static bool more_cpus(const struct spec *before, const struct spec *after)
{
	return more(before->cpu_milli, after->cpu_milli);
}

static bool more_pids(const struct spec *before, const struct spec *after)
{
	return more(before->pids, after->pids);
}

static bool more_shm(const struct spec *before, const struct spec *after)
{
	return after->shm_size > before->shm_size;
}

/* Folders in memory that exist may become smaller or lose their programs; further ones would be more to write to. */
static bool more_tmpfs(const struct spec *before, const struct spec *after)
{
	return after->mount_count != before->mount_count || after->tmp_size > before->tmp_size ||
	       after->home_size > before->home_size || more_shm(before, after) || after->workspace_size > before->workspace_size ||
	       (before->tmp_no_exec && !after->tmp_no_exec) || (before->home_no_exec && !after->home_no_exec) ||
	       (before->shm_no_exec && !after->shm_no_exec);
}

static bool more_ulimit(const struct spec *before, const struct spec *after)
{
	for (size_t i = 0; i < RLIM_NLIMITS; i++) {
		const struct spec_rlimit *b = &before->rlimits[i], *a = &after->rlimits[i];
		if (b->set && (!a->set || a->soft > b->soft || a->hard > b->hard))
			return true;
	}
	return false;
}

/* Writable, read-only, empty: in this order less. */
static int workspace_rank(const struct spec *s)
{
	return s->workspace_in_memory || s->workspace == SPEC_WORKSPACE_NONE ? 0 : s->workspace_read_only ? 1 : 2;
}

static bool more_workspace(const struct spec *before, const struct spec *after)
{
	return workspace_rank(after) > workspace_rank(before);
}

static bool more_debugging(const struct spec *before, const struct spec *after)
{
	return after->allow_debug && !before->allow_debug;
}

static bool never_more(_unused_ const struct spec *before, _unused_ const struct spec *after)
{
	return false;
}

static const struct {
	const char *option;
	bool (*more)(const struct spec *before, const struct spec *after);
	const char *what; /* completes "it would give ... than holds without it" */
} rows[] = {
	{ "allow-debug", more_debugging, "more system calls" },
	{ "cpus", more_cpus, "more CPUs" },
	{ "memory", more_memory, "more memory" },
	{ "network", never_more, "" }, /* its only value is none */
	{ "pids-limit", more_pids, "more processes" },
	{ "protect", never_more, "" }, /* adds to what is protected */
	{ "shm-size", more_shm, "more memory" },
	{ "tmpfs", more_tmpfs, "more folders in memory, or more in one of them," },
	{ "ulimit", more_ulimit, "a higher limit" },
	{ "workspace-mode", more_workspace, "more of the workspace" },
};

int narrow_check(const char *name, const struct spec *before, const struct spec *after, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].option, name) != 0)
			continue;
		if (!rows[i].more(before, after))
			return 0;
		return err_set(err, ERR_USAGE, EPERM, "it would give %s than holds without it, and may only take away", rows[i].what);
	}
	return err_set(err, ERR_USAGE, EPERM, "only you may say this (on the command line, or in a profile of your own), not a file of the "
		       "workspace");
}
