/*
 * What a limit did to a command, in words: see limits_text.h. Pure; runs in cloche-mcp and in `cloche run`.
 */
#include "runtime/spec/limits_text.h"

#include <stddef.h>

enum {
	KIB = 1024,
	MIB = 1024 * 1024,
	SMALL = 10 * MIB, /* below it, a size that is no whole number of MiB is told in KiB */

	/* Where nobody counts refusals: what init and the server may have beside the command, and the part of all that a look may miss. */
	PIDS_OTHERS = 8,
	PIDS_OTHERS_PART = 4,
	PIDS_MISSED_PART = 16,

	MEMORY_OTHERS_PART = 16, /* less than this part of all memory is not worth telling */
};

/* --- which limit, and how to get more ----------------------------------------------------------------------------- */

/* What the readers know a limit by. */
struct limit_name {
	const char *argument;   /* of run_bash */
	const char *option;     /* of cloche, for all commands together */
	const char *own_option; /* … for each */
};

static const struct limit_name memory_name = { "memory", "--memory", "--command-memory" };
static const struct limit_name cpus_name = { "cpus", "--cpus", "--command-cpus" };
static const struct limit_name pids_name = { "pids", "--pids-limit", "--command-pids-limit" };

/* One limit of a command: the values of memory, CPUs or processes. */
struct limit {
	const struct limit_name *name;
	uint64_t asked, own, sandbox;
	void (*add_value)(struct buf *text, uint64_t value);
};

void limits_add_size(struct buf *text, uint64_t bytes)
{
	uint64_t mib = bytes / MIB + (bytes % MIB >= MIB / 2);

	if (bytes < SMALL && bytes % MIB != 0)
		buf_addf(text, "%llu KiB", ((unsigned long long) bytes + KIB - 1) / KIB);
	else
		buf_addf(text, "%llu MiB", (unsigned long long) mib);
}

void limits_add_cpus(struct buf *text, uint32_t milli)
{
	unsigned int rest = milli % 1000, digits = 3;

	buf_addf(text, "%u", milli / 1000);
	for (; rest > 0 && rest % 10 == 0; rest /= 10)
		digits--;
	if (rest > 0)
		buf_addf(text, ".%0*u", (int) digits, rest);
}

static void add_cpus(struct buf *text, uint64_t milli)
{
	limits_add_cpus(text, (uint32_t) milli);
}

static void add_count(struct buf *text, uint64_t count)
{
	buf_addf(text, "%llu", (unsigned long long) count);
}

/* Whether this command alone was held to less than the sandbox may use. */
static bool is_own(const struct limit *limit)
{
	return limit->own > 0 && (limit->sandbox == 0 || limit->own < limit->sandbox);
}

static void add_which(struct buf *text, const struct limit *limit)
{
	if (!is_own(limit))
		buf_add_str(text, "the limit of this sandbox");
	else if (limit->asked > 0 && limit->asked == limit->own)
		buf_addf(text, "the limit of this call (its argument %s)", limit->name->argument);
	else
		buf_add_str(text, "the limit of a single command");
}

/* What the reader can do: @instead, or get more. */
static void add_more(struct buf *text, const struct limit *limit, bool for_agent, const char *instead)
{
	const struct limit_name *name = limit->name;

	buf_addf(text, ". %s, or ", instead);
	if (!for_agent) {
		buf_addf(text, "allow more with %s%s%s.", name->option, is_own(limit) ? " or " : "", is_own(limit) ? name->own_option : "");
		return;
	}
	if (is_own(limit))
		buf_addf(text, "ask for more with the argument %s", name->argument);
	if (is_own(limit) && limit->sandbox > 0) {
		buf_add_str(text, ", at most ");
		limit->add_value(text, limit->sandbox);
	}
	buf_addf(text, "%s (option %s of cloche).", is_own(limit) ? "; the user can allow more" : "ask the user to allow more", name->option);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

bool limits_out_of_memory(const struct limits_told *told)
{
	return told->killed == INITMSG_KILLED_MEMORY || told->killed == INITMSG_KILLED_MEMORY_ALL;
}

/* Whether the others hardly mattered when all commands together had used too much. */
static bool used_all_alone(const struct limits_told *told)
{
	uint64_t all = told->sandbox->memory;

	return told->metrics->memory_peak >= all - all / MEMORY_OTHERS_PART;
}

static void add_together(struct buf *text, const struct limits_told *told, const char *about)
{
	buf_add_str(text, told->for_agent ? "killed: all commands together used all of " : "killed: used all of ");
	limits_add_size(text, told->sandbox->memory);
	buf_add_str(text, " of memory");
	if (!told->for_agent)
		buf_add_str(text, " together with files in /tmp and other folders in memory");
	if (told->metrics->memory_peak > 0) {
		buf_addf(text, ", %s itself %s", told->for_agent ? "and this one" : "and", about);
		limits_add_size(text, told->metrics->memory_peak);
	}
	if (told->for_agent)
		buf_add_str(text, ". Files in /tmp and other folders in memory count too: remove what is not needed there");
}

static void add_alone(struct buf *text, const struct limits_told *told, const struct limit *limit, const char *about)
{
	uint64_t most = limit->own ? limit->own : limit->sandbox;

	buf_add_str(text, "killed: used ");
	if (told->metrics->memory_peak > 0) {
		buf_add_str(text, about);
		limits_add_size(text, told->metrics->memory_peak);
		buf_add_str(text, " of ");
	} else {
		buf_add_str(text, "all of ");
	}
	limits_add_size(text, most);
	buf_add_str(text, " of memory, ");
	add_which(text, limit);
}

void limits_add_memory(struct buf *text, const struct limits_told *told)
{
	const struct limit limit = { &memory_name, told->asked.memory, told->limits->memory, told->sandbox->memory, limits_add_size };
	const struct limit together = { &memory_name, 0, 0, told->sandbox->memory, limits_add_size };
	const char *about = told->metrics->measured == INITMSG_EXACT ? "" : "about ";
	bool all = told->killed == INITMSG_KILLED_MEMORY_ALL;

	if (all && !used_all_alone(told))
		add_together(text, told, about);
	else
		add_alone(text, told, all ? &together : &limit, about);
	add_more(text, all ? &together : &limit, told->for_agent, "Work in smaller parts or with fewer processes at once");
}

/* Some of its processes were killed and the command itself went on. */
static void add_lost_processes(struct buf *text, const struct limits_told *told)
{
	buf_addf(text, "%u of its processes lost to want of memory; ", told->metrics->oom_kills);
	limits_add_memory(text, told);
}

/* --- processes and CPU time --------------------------------------------------------------------------------------- */

static uint64_t pids_limit(const struct limits_told *told)
{
	return told->limits->pids ? told->limits->pids : told->sandbox->pids;
}

/* Whether it was seen with so many that it, and what else is in the sandbox, may well have been at the limit between two looks. */
static bool is_next_to(uint64_t seen, uint64_t limit)
{
	return seen > 0 && limit > 0 && seen + limit / PIDS_MISSED_PART + MIN(limit / PIDS_OTHERS_PART, (uint64_t) PIDS_OTHERS) >= limit;
}

bool limits_out_of_pids(const struct limits_told *told)
{
	const struct initmsg_metrics *m = told->metrics;

	if (m->pids_refused > 0)
		return true;
	return m->measured == INITMSG_APPROXIMATE && (told->failed || told->fork_failed) && is_next_to(m->processes_peak, pids_limit(told));
}

static void add_pids(struct buf *text, const struct limits_told *told)
{
	const struct limit limit = { &pids_name, told->asked.pids, told->limits->pids, told->sandbox->pids, add_count };
	uint32_t times = told->metrics->pids_refused;

	if (times == 1)
		buf_add_str(text, "a new process or thread was refused");
	else if (times > 1)
		buf_addf(text, "new processes or threads were refused %u times", times);
	else if (limits_out_of_pids(told))
		buf_addf(text, "new processes or threads were probably refused, since it was seen with about %u", told->metrics->processes_peak);
	else
		buf_add_str(text, "a process or thread could not be started");
	if (pids_limit(told) > 0) {
		buf_addf(text, ": there may be %llu at once, ", (unsigned long long) pids_limit(told));
		add_which(text, &limit);
	}
	add_more(text, &limit, told->for_agent, "Start fewer at once (as in make -j2)");
}

bool limits_held_back(const struct limits_told *told)
{
	const struct initmsg_metrics *m = told->metrics;

	return told->limits->cpu_milli > 0 && m->throttled_us != INITMSG_UNKNOWN && m->wall_us >= LIMITS_THROTTLED_LEAST_US &&
	       m->throttled_us > m->wall_us / 2;
}

/*
 * Whether it used next to all CPU time that it may have, and was more than could use it at once. Then it may well have waited, without
 * anybody counting: bound to a CPU, its processes wait for each other.
 */
static bool used_all_cpu_time(const struct limits_told *told)
{
	const struct initmsg_metrics *m = told->metrics;
	uint32_t milli = told->limits->cpu_milli;
	double had = (double) m->wall_us * milli / 1000;

	if (m->cpu_user_us == INITMSG_UNKNOWN)
		return false;
	return milli > 0 && m->wall_us >= LIMITS_CPU_TIME_LEAST_US && (uint64_t) m->processes_peak * 1000 > milli &&
	       (double) m->cpu_user_us + (double) m->cpu_system_us >= had * 0.9;
}

static void add_cpu_time(struct buf *text, const struct limits_told *told)
{
	const struct limit limit = { &cpus_name, told->asked.cpu_milli, told->limits->cpu_milli, told->sandbox->cpu_milli, add_cpus };

	buf_add_str(text, limits_held_back(told) ? "held back for most of its time, because it wanted more than the CPU time of " :
						   "perhaps held back: it used all of the CPU time that it may have, that of ");
	limits_add_cpus(text, told->limits->cpu_milli);
	buf_add_str(text, told->limits->cpu_milli == 1000 ? " CPU, " : " CPUs, ");
	add_which(text, &limit);
	add_more(text, &limit, told->for_agent, "Give it more time or less work at once");
}

unsigned int limits_add_others(struct buf *text, const struct limits_told *told, const char *before, const char *after)
{
	unsigned int lines = 0;

	if (told->metrics->oom_kills > 0 && !limits_out_of_memory(told)) {
		buf_add_str(text, before);
		add_lost_processes(text, told);
		buf_add_str(text, after);
		lines++;
	}
	if (limits_out_of_pids(told) || (told->failed && told->fork_failed)) {
		buf_add_str(text, before);
		add_pids(text, told);
		buf_add_str(text, after);
		lines++;
	}
	if (told->for_agent && (limits_held_back(told) || used_all_cpu_time(told))) {
		buf_add_str(text, before);
		add_cpu_time(text, told);
		buf_add_str(text, after);
		lines++;
	}
	return lines;
}
