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

enum { SHARES_USUAL = 1024 };

/* Of two limits where 0 means none. */
static bool more(uint64_t before, uint64_t after)
{
	return before != 0 && (after == 0 || after > before);
}

static bool more_memory(const struct spec *before, const struct spec *after)
{
	return more(before->memory, after->memory);
}

/* Memory and swap together, 0 for no limit. */
static uint64_t total(const struct spec *s)
{
	uint64_t swap = s->memory_swap ? s->memory_swap : s->memory;

	return s->memory == 0 || swap == UINT64_MAX ? 0 : swap;
}

static bool more_swap(const struct spec *before, const struct spec *after)
{
	bool had_none = before->memory_swap == 0 || before->memory_swap == before->memory;
	bool has_none = after->memory_swap == 0 || after->memory_swap == after->memory;

	return more(total(before), total(after)) || (had_none && !has_none);
}

static bool more_command_memory(const struct spec *before, const struct spec *after)
{
	return more(before->command.memory, after->command.memory);
}

static bool more_command_cpus(const struct spec *before, const struct spec *after)
{
	return more(before->command.cpu_milli, after->command.cpu_milli);
}

static bool more_command_pids(const struct spec *before, const struct spec *after)
{
	return more(before->command.pids, after->command.pids);
}

/* Unsaid is the usual weight. */
static bool more_shares(const struct spec *before, const struct spec *after)
{
	uint64_t b = before->cpu_shares ? before->cpu_shares : SHARES_USUAL;

	return (after->cpu_shares ? after->cpu_shares : SHARES_USUAL) > b;
}

static bool less_required(const struct spec *before, const struct spec *after)
{
	return before->require_limits && !after->require_limits;
}

static bool more_cpus(const struct spec *before, const struct spec *after)
{
	return more(before->cpu_milli, after->cpu_milli);
}

static bool more_pids(const struct spec *before, const struct spec *after)
{
	return more(before->pids, after->pids);
}

/* What nobody gave a size follows the memory limit: compare what would really be there. */
static struct spec settled(const struct spec *s)
{
	struct spec copy = *s;

	spec_settle_sizes(&copy);
	return copy;
}

static bool more_shm(const struct spec *before, const struct spec *after)
{
	return settled(after).shm_size > settled(before).shm_size;
}

static bool same_mounts(const struct spec *before, const struct spec *after)
{
	bool same = before->mount_count == after->mount_count;

	for (size_t i = 0; same && i < before->mount_count; i++) {
		const struct spec_mount *b = &before->mounts[i], *a = &after->mounts[i];
		same = b->kind == a->kind && b->source == a->source && b->target == a->target && b->read_only == a->read_only &&
		       b->no_exec == a->no_exec && b->size == a->size && b->mode == a->mode;
	}
	return same;
}

/* Folders in memory that every sandbox has may become smaller or lose their programs; further ones would be more to write to. */
static bool more_tmpfs(const struct spec *before, const struct spec *after)
{
	struct spec b = settled(before), a = settled(after);

	return !same_mounts(before, after) || a.tmp_size > b.tmp_size || a.home_size > b.home_size || a.shm_size > b.shm_size ||
	       a.workspace_size > b.workspace_size || (b.tmp_no_exec && !a.tmp_no_exec) || (b.home_no_exec && !a.home_no_exec) ||
	       (b.shm_no_exec && !a.shm_no_exec);
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
	{ "command-cpus", more_command_cpus, "more CPUs" },
	{ "command-memory", more_command_memory, "more memory" },
	{ "command-pids-limit", more_command_pids, "more processes" },
	{ "cpu-shares", more_shares, "more weight" },
	{ "cpus", more_cpus, "more CPUs" },
	{ "memory", more_memory, "more memory" },
	{ "memory-swap", more_swap, "more swap" },
	{ "network", never_more, "" }, /* its only value is none */
	{ "pids-limit", more_pids, "more processes" },
	{ "protect", never_more, "" }, /* adds to what is protected */
	{ "require-limits", less_required, "a start with less" },
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
