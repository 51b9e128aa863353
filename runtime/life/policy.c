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
#include "runtime/life/policy_limits.h"

enum { DIGITS_MAX = 20 };

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
	policy_collect_limits(p);
	collect_walls(p);
}
