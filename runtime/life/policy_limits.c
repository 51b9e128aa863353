/*
 * The limits of a policy: see policy_limits.h. Runs in the launcher, which starts nothing then.
 *
 * What holds a limit is read off the prepared launch: the control group that was found for it, and the words for init.
 */
#include "runtime/life/policy_limits.h"

#include <string.h>

#include "runtime/base/str.h"

enum {
	SECONDS_DEFAULT = 60,
	COMMAND_PIDS_PART = 8, /* of the processes, this part is left to other commands: see init/leaf.h */
};

static const char *origin(const struct policy *p, const char *option)
{
	return p->origin(p->userdata, option, NULL, 0);
}

static void add(struct policy *p, struct policy_limit limit)
{
	if (p->limit_count < POLICY_LIMITS_MAX)
		p->limits[p->limit_count++] = limit;
}

/* What systemd will hand down is not known before it was asked; memory and processes it must, or its scope is not used. */
static bool is_open(const struct policy *p)
{
	const struct cgroup_report *r = p->launch ? &p->launch->host.cgroup.report : NULL;

	return r && r->backend != CGROUP_NONE && r->controllers == 0;
}

static bool has(const struct policy *p, enum cgroup_controller controller)
{
	if (is_open(p))
		return controller == CGROUP_MEMORY || controller == CGROUP_PIDS;
	return p->launch && (p->launch->host.cgroup.report.controllers & (unsigned int) controller);
}

/* With the /proc of a container around, init sees too much to add up, and looks at nothing. */
static bool is_blind(const struct policy *p)
{
	return p->spec->weaker & SPEC_WEAKER_PROC;
}

#define NOTHING "nothing: that needs a control group"

/* Who holds a limit of CPU time where the kernel does not, or is not known to; @blind, @other: what stands in for it. */
static const char *cpu_holder(const struct policy *p, const char *exact, const char *blind, const char *other)
{
	if (has(p, CGROUP_CPU))
		return exact;
	if (is_open(p))
		return "the kernel (cpu.max) if systemd hands that controller down, else init";
	return is_blind(p) ? blind : other;
}

/* --- the sandbox ------------------------------------------------------------------------------------------------------- */

static const char *memory_holder(const struct policy *p)
{
	if (has(p, CGROUP_MEMORY))
		return "the kernel, in a control group (memory.max)";
	if (is_blind(p))
		return "the kernel, for each process alone (RLIMIT_DATA)";
	return "init, which adds up what all commands use several times a second and ends the largest";
}

static void collect_memory(struct policy *p)
{
	const struct spec *s = p->spec;
	bool exact = has(p, CGROUP_MEMORY);

	add(p, (struct policy_limit) {
		.name = "memory", .limited = s->memory != 0, .value = s->memory, .unit = POLICY_BYTES, .held_by = memory_holder(p),
		.exact = exact, .origin = origin(p, "memory") });
	add(p, (struct policy_limit) {
		.name = "memory-swap", .limited = s->memory != 0 && s->memory_swap != UINT64_MAX,
		.value = s->memory_swap ? s->memory_swap : s->memory, .unit = POLICY_BYTES,
		.held_by = exact ? "the kernel, in a control group (memory.swap.max); the total of memory and swap"
				: is_blind(p) ? NOTHING : "init, which counts swap as memory",
		.exact = exact, .origin = origin(p, "memory-swap") });
}

static void collect_cpus(struct policy *p)
{
	const struct spec *s = p->spec;
	bool exact = has(p, CGROUP_CPU);

	add(p, (struct policy_limit) {
		.name = "cpus", .limited = s->cpu_milli != 0, .value = s->cpu_milli, .unit = POLICY_CPUS, .exact = exact,
		.held_by = cpu_holder(p, "the kernel, in a control group (cpu.max)", "affinity to as many CPUs, rounded up",
				      "affinity to as many CPUs, rounded up, and init, which stops commands for moments"),
		.origin = origin(p, "cpus") });
	if (s->cpu_shares)
		add(p, (struct policy_limit) {
			.name = "cpu-shares", .limited = true, .value = s->cpu_shares, .unit = POLICY_COUNT, .exact = exact,
			.held_by = exact	? "the kernel, in a control group (cpu.weight)"
				   : is_open(p) ? "the kernel (cpu.weight) if systemd hands that controller down, else nothing"
						: "nothing: that needs a control group with the controller cpu",
			.origin = origin(p, "cpu-shares") });
}

static void collect_pids(struct policy *p)
{
	const struct spec *s = p->spec;

	add(p, (struct policy_limit) {
		.name = "pids-limit", .limited = s->pids != 0, .value = s->pids, .unit = POLICY_COUNT, .exact = true,
		.held_by = has(p, CGROUP_PIDS) ? "the kernel, in a control group (pids.max)"
					       : "the kernel, for all commands of the sandbox together (RLIMIT_NPROC in its user namespace)",
		.origin = origin(p, "pids-limit") });
}

/* --- one command ------------------------------------------------------------------------------------------------------- */

static void collect_command(struct policy *p)
{
	const struct spec_command_limits *c = &p->spec->command;
	uint64_t pids = p->spec->pids, most = pids - pids / COMMAND_PIDS_PART;

	if (c->memory)
		add(p, (struct policy_limit) {
			.name = "command-memory", .limited = true, .value = c->memory, .unit = POLICY_BYTES, .exact = has(p, CGROUP_MEMORY),
			.held_by = has(p, CGROUP_MEMORY) ? "the kernel, in each command's own control group (memory.max)"
							 : is_blind(p) ? NOTHING : "init, which ends the command",
			.origin = origin(p, "command-memory") });
	if (c->cpu_milli)
		add(p, (struct policy_limit) {
			.name = "command-cpus", .limited = true, .value = c->cpu_milli, .unit = POLICY_CPUS, .exact = has(p, CGROUP_CPU),
			.held_by = cpu_holder(p, "the kernel, in each command's own control group (cpu.max)", NOTHING,
					      "init, which stops the command for moments"),
			.origin = origin(p, "command-cpus") });
	if (c->pids || pids)
		add(p, (struct policy_limit) {
			.name = "command-pids-limit", .limited = true, .value = c->pids ? c->pids : most, .unit = POLICY_COUNT,
			.exact = has(p, CGROUP_PIDS),
			.held_by = has(p, CGROUP_PIDS) ? "the kernel, in each command's own control group (pids.max)"
						       : "the kernel, beside what others run when the command begins (RLIMIT_NPROC)",
			.origin = origin(p, "command-pids-limit") });
}

/* The time a command may take, from the words for the server. */
static uint64_t command_seconds(const struct spec *spec)
{
	uint64_t seconds = SECONDS_DEFAULT;

	for (size_t i = 0; i + 1 < spec->server_arg_count; i++)
		if (strcmp(spec->server_args[i], "--command-timeout") == 0)
			IGNORE_RESULT(str_to_uint(spec->server_args[i + 1], 1, SPEC_COMMAND_TIMEOUT_MAX, &seconds));
	return seconds;
}

static void collect_time(struct policy *p)
{
	uint64_t seconds = command_seconds(p->spec);

	add(p, (struct policy_limit) {
		.name = "command-timeout", .limited = true, .value = seconds, .unit = POLICY_SECONDS, .exact = true,
		.held_by = "the server, for a call that names no time of its own (mcp only)",
		.origin = seconds == SECONDS_DEFAULT ? "default" : "COMMAND_TIMEOUT" });
}

/* --- one process ------------------------------------------------------------------------------------------------------- */

static void collect_rlimits(struct policy *p)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		const struct spec_rlimit *limit = &p->spec->rlimits[i];
		if (!limit->set || !spec_limit_name(i))
			continue;
		add(p, (struct policy_limit) {
			.name = spec_limit_name(i), .limited = limit->soft != RLIM_INFINITY, .value = limit->soft, .unit = POLICY_COUNT,
			.held_by = "the kernel, for each process (RLIMIT)", .exact = true,
			.origin = p->origin(p->userdata, "ulimit", limit, sizeof(*limit)) });
	}
}

void policy_collect_limits(struct policy *p)
{
	collect_memory(p);
	collect_cpus(p);
	collect_pids(p);
	collect_command(p);
	collect_time(p);
	collect_rlimits(p);
}
