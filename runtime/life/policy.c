/*
 * The policy of a sandbox as lists: see policy.h. Runs in the launcher, which starts nothing then.
 */
#include "runtime/life/policy.h"

#include <sched.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"
#include "runtime/kern/landlock.h"
#include "runtime/life/graded.h"

enum { DIGITS_MAX = 20, SECONDS_DEFAULT = 60 };

static const char *origin(const struct policy *p, const char *option, const void *field, size_t size)
{
	return p->origin(p->userdata, option, field, size);
}

#define ORIGIN_OF(p, option, member) origin(p, option, &(p)->spec->member, sizeof((p)->spec->member))

/* --- places ------------------------------------------------------------------------------------------------------------ */

/* The size in the options of a tmpfs, "size=N,...". */
static uint64_t tmpfs_size(const char *data)
{
	char digits[DIGITS_MAX + 1] = "";
	uint64_t size = 0;
	const char *at = data ? strstr(data, "size=") : NULL;
	size_t len = at ? strcspn(at + 5, ",") : 0;

	if (len < sizeof(digits) && at)
		memcpy(digits, at + 5, len);
	return str_to_uint(digits, 0, UINT64_MAX, &size) < 0 ? 0 : size;
}

static const char *mount_origin(const struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->spec->mount_count; i++)
		if (strcmp(p->spec->mounts[i].target + 1, path) == 0)
			return ORIGIN_OF(p, "volume", mounts[i]);
	return "always";
}

static const char *place_origin(const struct policy *p, const struct mount_op *op)
{
	if (op->flags & MOUNT_USER)
		return mount_origin(p, op->target);
	if (strcmp(op->target, "tmp") == 0)
		return ORIGIN_OF(p, "tmpfs", tmp_size);
	if (strcmp(op->target, SPEC_HOME + 1) == 0)
		return ORIGIN_OF(p, "tmpfs", home_size);
	if (strcmp(op->target, "dev/shm") == 0)
		return ORIGIN_OF(p, "shm-size", shm_size);
	if (strcmp(op->target, SPEC_WORKSPACE + 1) == 0)
		return origin(p, "workspace-mode", NULL, 0);
	return "always";
}

/* A later mount at the same place hides an earlier one. */
static struct policy_place *place_at(struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->place_count; i++)
		if (strcmp(p->places[i].path, path) == 0)
			return &p->places[i];
	p->places[p->place_count].path = path;
	return &p->places[p->place_count++];
}

/* What every sandbox has of the host: /usr and its like, entries of /etc. */
static bool is_system(const struct mount_op *op)
{
	if (op->kind != MOUNT_BIND || op->flags & (MOUNT_USER | MOUNT_WRITABLE))
		return false;
	for (size_t i = 0; i < MOUNTPLAN_BASE_DIRS; i++)
		if (strcmp(op->target, mountplan_base_names[i]) == 0)
			return true;
	return strcmp(op->target, "usr") == 0 || strncmp(op->target, "etc/", 4) == 0;
}

static void collect_places(struct policy *p)
{
	const struct mountplan *plan = &p->launch->plan;

	for (size_t i = 0; i < plan->count; i++) {
		const struct mount_op *op = &plan->ops[i];
		bool memory = op->kind == MOUNT_TMPFS;

		if (op->kind == MOUNT_ENTRIES)
			place_at(p, op->target)->by_entry = true;
		if (!memory && op->kind != MOUNT_BIND)
			continue;
		struct policy_place *place = place_at(p, op->target);
		place->source = memory ? NULL : op->source;
		place->access = memory ? POLICY_MEMORY : op->flags & MOUNT_WRITABLE ? POLICY_WRITE : POLICY_READ;
		place->system = is_system(op);
		place->optional = op->flags & MOUNT_OPTIONAL;
		place->no_exec = op->flags & MOUNT_NOEXEC;
		place->size = memory ? tmpfs_size(op->data) : 0;
		place->origin = place_origin(p, op);
	}
}

/* --- limits ------------------------------------------------------------------------------------------------------------ */

static void add_limit(struct policy *p, struct policy_limit limit)
{
	if (p->limit_count < POLICY_LIMITS_MAX)
		p->limits[p->limit_count++] = limit;
}

/* Whether init gets this word when it is started: what nobody is told to hold is not held. */
static bool init_is_told(const struct policy *p, const char *word)
{
	for (size_t i = 0; p->launch && i < p->launch->init_argc; i++)
		if (strcmp(p->launch->init_argv[i], word) == 0)
			return true;
	return false;
}

static void collect_rlimits(struct policy *p)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		const struct spec_rlimit *limit = &p->spec->rlimits[i];
		if (!limit->set || !spec_limit_name(i))
			continue;
		add_limit(p, (struct policy_limit) {
			.name = spec_limit_name(i), .limited = limit->soft != RLIM_INFINITY, .value = limit->soft, .unit = POLICY_COUNT,
			.held_by = "the kernel, for each process (RLIMIT)", .exact = true,
			.origin = origin(p, "ulimit", limit, sizeof(*limit)) });
	}
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

static void collect_limits(struct policy *p)
{
	const struct spec *s = p->spec;
	bool whole = s->cpu_milli % 1000 == 0;

	add_limit(p, (struct policy_limit) {
		.name = "memory", .limited = s->memory != 0, .value = s->memory, .unit = POLICY_BYTES,
		.held_by = init_is_told(p, "--memory") || !p->launch
				   ? "init, which adds up what all commands use several times a second and ends the largest"
				   : "nothing",
		.origin = origin(p, "memory", NULL, 0) });
	add_limit(p, (struct policy_limit) {
		.name = "cpus", .limited = s->cpu_milli != 0, .value = s->cpu_milli, .unit = POLICY_CPUS, .exact = false,
		.held_by = whole ? "affinity, for programs that keep to it" : "affinity, rounded up to a whole CPU, for programs that keep to it",
		.origin = origin(p, "cpus", NULL, 0) });
	add_limit(p, (struct policy_limit) {
		.name = "pids-limit", .limited = s->pids != 0, .value = s->pids, .unit = POLICY_COUNT, .exact = true,
		.held_by = "the kernel, for all commands of the sandbox together (RLIMIT_NPROC in its user namespace)",
		.origin = origin(p, "pids-limit", NULL, 0) });
	add_limit(p, (struct policy_limit) {
		.name = "command-timeout", .limited = true, .value = command_seconds(s), .unit = POLICY_SECONDS, .exact = true,
		.held_by = "the server, for a call that names no time of its own (mcp only)",
		.origin = command_seconds(s) == SECONDS_DEFAULT ? "default" : "COMMAND_TIMEOUT" });
	collect_rlimits(p);
}

/* --- walls ------------------------------------------------------------------------------------------------------------- */

static void add_wall(struct policy *p, bool stands, const char *name, const char *what)
{
	if (p->wall_count < POLICY_WALLS_MAX)
		p->walls[p->wall_count++] = (struct policy_wall) { .name = name, .what = what, .stands = stands };
}

static void collect_namespaces(struct policy *p)
{
	static const struct {
		uint64_t flag;
		const char *name, *what;
	} rows[] = {
		{ CLONE_NEWUSER, "user namespace", "rights inside are worth nothing on the host" },
		{ CLONE_NEWPID, "PID namespace", "processes of the host cannot be seen or signalled; each command of mcp has one more" },
		{ CLONE_NEWNS, "mount namespace", "a file tree of its own, in which the host's root is not" },
		{ CLONE_NEWNET, "network namespace", "no interface but a loopback of its own" },
		{ CLONE_NEWIPC, "IPC namespace", "shared memory and message queues of its own" },
		{ CLONE_NEWUTS, "UTS namespace", "a host name of its own" },
		{ CLONE_NEWCGROUP, "cgroup namespace", "control groups of the host cannot be seen" },
	};
	uint64_t flags = launch_namespaces();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		add_wall(p, flags & rows[i].flag, rows[i].name, rows[i].what);
}

static void collect_walls(struct policy *p)
{
	collect_namespaces(p);
	add_wall(p, wall_stands(WALL_ROOT_READONLY), "read-only root", "everything but the places named above; no set-user-ID, no devices");
	add_wall(p, wall_stands(WALL_CAPS), "capabilities", "commands and the server have none and can get none");
	add_wall(p, wall_stands(WALL_NO_NEW_PRIVS), "no_new_privs", "no program gives rights to whom executes it");
	add_wall(p, wall_stands(WALL_SECCOMP), "system-call filter",
		 p->spec->filter_path   ? "a filter of your own, and what undoes other walls is refused whatever it says"
		 : p->spec->allow_debug ? "only calls that programs need, and those of debuggers (--allow-debug)"
					: "only calls that programs need (docs/seccomp.md)");
	const struct buf *notes = p->launch ? &p->launch->filter_notes : NULL;
	for (size_t at = 0; notes && at < notes->len; at += strlen(notes->p + at) + 1)
		add_wall(p, true, "your filter", notes->p + at);
	add_wall(p, landlock_abi() > 0 && wall_stands(WALL_LANDLOCK), "Landlock",
		 landlock_abi() > 0 ? "a second wall around files, signals and sockets" : "this kernel has none; it is a second wall only");
	add_wall(p, wall_stands(WALL_ENV), "environment", "made up anew; nothing of yours but what is named with -e");
	add_wall(p, wall_stands(WALL_CLOSE_FDS), "open files", "all of yours but the three standard streams are closed");
	for (unsigned int left = p->spec->weaker; left; left &= left - 1)
		add_wall(p, false, "weaker", graded_describe((enum spec_weaker) (left & -left)));
}

void policy_collect(struct policy *p)
{
	if (p->launch)
		collect_places(p);
	collect_limits(p);
	collect_walls(p);
}
