/*
 * The sandbox's root as an ordered list of operations: see mountplan.h. Pure; runs in the launcher.
 */
#include "runtime/kern/mountplan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "gen/host_etc.h"

enum {
	TMPFS_BYTES_PER_INODE = 4096, /* one a page: more than any workload needs, and it bounds the kernel's memory */
	TMPFS_INODES_MIN = 64,
	MODE_DIR = 0755,
	MODE_FILE = 0644,
	MODE_SCRATCH = 01777,
	MODE_HOME = 0700,
};

const char *const mountplan_base_names[MOUNTPLAN_BASE_DIRS] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };

struct builder {
	struct mountplan *plan;
	const struct spec *spec;
	int error;
};

/* A formatted string that lives in the plan; "" after an overflow, which is remembered. */
_printf_(2, 3) static const char *text(struct builder *b, const char *fmt, ...)
{
	struct mountplan *plan = b->plan;
	char *to = plan->text + plan->text_len;
	size_t room = sizeof(plan->text) - plan->text_len;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(to, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t) n >= room) {
		b->error = -E2BIG;
		return "";
	}
	plan->text_len += (size_t) n + 1;
	return to;
}

static void add(struct builder *b, struct mount_op op)
{
	if (b->plan->count >= ARRAY_LEN(b->plan->ops)) {
		b->error = -E2BIG;
		return;
	}
	b->plan->ops[b->plan->count++] = op;
}

static void add_dir(struct builder *b, const char *target)
{
	add(b, (struct mount_op) { .kind = MOUNT_DIR, .target = target, .mode = MODE_DIR, .tree_fd = -EBADF });
}

static void add_link(struct builder *b, const char *target, const char *to)
{
	add(b, (struct mount_op) { .kind = MOUNT_SYMLINK, .source = to, .target = target, .tree_fd = -EBADF });
}

static void add_file(struct builder *b, const char *target, const char *content)
{
	add(b, (struct mount_op) {
		.kind = MOUNT_FILE, .target = target, .data = content, .mode = MODE_FILE, .tree_fd = -EBADF });
}

static void add_tmpfs(struct builder *b, const char *target, uint64_t size, uint32_t mode, unsigned int flags)
{
	uint64_t inodes = MAX(size / TMPFS_BYTES_PER_INODE, (uint64_t) TMPFS_INODES_MIN);

	add(b, (struct mount_op) {
		.kind = MOUNT_TMPFS, .flags = flags, .target = target, .mode = mode, .tree_fd = -EBADF,
		.data = text(b, "size=%llu,nr_inodes=%llu,mode=%o", (unsigned long long) size, (unsigned long long) inodes,
			     mode) });
}

/* A read-only view of a part of the host's own system; missing ones are left out. */
static void add_host(struct builder *b, const char *source, const char *target)
{
	add(b, (struct mount_op) {
		.kind = MOUNT_BIND, .flags = MOUNT_OPTIONAL | MOUNT_MAKE_TARGET, .source = source, .target = target,
		.tree_fd = -EBADF });
}

static void add_source(struct builder *b, const struct mountplan_source *source, const char *target, unsigned int flags)
{
	add(b, (struct mount_op) {
		.kind = MOUNT_BIND, .flags = flags | MOUNT_SAME | MOUNT_MAKE_TARGET, .source = source->path,
		.target = target, .tree_fd = source->tree_fd, .device = source->device, .inode = source->inode });
}

static void plan_system(struct builder *b, const struct mountplan_facts *facts)
{
	add(b, (struct mount_op) {
		.kind = MOUNT_BIND, .flags = MOUNT_MAKE_TARGET, .source = "/usr", .target = "usr", .tree_fd = -EBADF });
	for (size_t i = 0; i < MOUNTPLAN_BASE_DIRS; i++) {
		const struct mountplan_base *base = &facts->base[i];
		const char *name = mountplan_base_names[i];

		if (base->present && base->is_link)
			add_link(b, name, base->link);
		else if (base->present)
			add_host(b, text(b, "/%s", name), name);
	}
}

/* Identities and names that the host's own files would tell wrongly or tell too much about. */
static void plan_made_up_etc(struct builder *b)
{
	const struct spec *s = b->spec;
	bool is_root = s->uid == 0, is_root_group = s->gid == 0;

	add_file(b, "etc/passwd",
		 text(b, "%s" SPEC_USER ":x:%u:%u:Agent:" SPEC_HOME ":/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		      is_root ? "" : "root:x:0:0:root:/:/usr/sbin/nologin\n", s->uid, s->gid));
	add_file(b, "etc/group", text(b, "%s" SPEC_USER ":x:%u:\nnogroup:x:65534:\n", is_root_group ? "" : "root:x:0:\n", s->gid));
	add_file(b, "etc/hosts",
		 text(b, "127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n", s->hostname));
	add_file(b, "etc/hostname", text(b, "%s\n", s->hostname));
	add_file(b, "etc/nsswitch.conf",
		 "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n");
	add_file(b, "etc/resolv.conf", "# no name server: the sandbox has no network\n");
	add_file(b, "etc/gitconfig",
		 "[safe]\n\tdirectory = *\n[user]\n\tname = agent\n\temail = agent@localhost\n[init]\n\tdefaultBranch = main\n"
		 /* Working trees elsewhere on the host are not visible here, and must not be taken for lost ones. */
		 "[gc]\n\tworktreePruneExpire = never\n");
	add_link(b, "etc/mtab", "/proc/self/mounts");
}

static void plan_etc(struct builder *b)
{
	add_dir(b, "etc");
	for (size_t i = 0; i < ARRAY_LEN(host_etc); i++)
		add_host(b, text(b, "/etc/%s", host_etc[i]), text(b, "etc/%s", host_etc[i]));
	plan_made_up_etc(b);
}

static void plan_dev(struct builder *b)
{
	static const struct {
		const char *name;
		unsigned int major, minor;
	} nodes[] = {
		{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
	};

	if (!wall_stands(WALL_DEV)) {
		add_host(b, "/dev", "dev");
		return;
	}
	add_dir(b, "dev");
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		add(b, (struct mount_op) {
			.kind = MOUNT_DEVICE, .source = text(b, "/dev/%s", nodes[i].name), .target = text(b, "dev/%s", nodes[i].name),
			.device = makedev(nodes[i].major, nodes[i].minor), .tree_fd = -EBADF });
	add_link(b, "dev/fd", "/proc/self/fd");
	add_link(b, "dev/stdin", "/proc/self/fd/0");
	add_link(b, "dev/stdout", "/proc/self/fd/1");
	add_link(b, "dev/stderr", "/proc/self/fd/2");
	add_link(b, "dev/ptmx", "pts/ptmx");
	add_dir(b, "dev/pts");
	add(b, (struct mount_op) {
		.kind = MOUNT_DEVPTS, .target = "dev/pts", .data = "newinstance,ptmxmode=0666,mode=0620", .tree_fd = -EBADF });
	add_dir(b, "dev/shm");
	add_tmpfs(b, "dev/shm", b->spec->shm_size, MODE_SCRATCH, b->spec->shm_no_exec ? MOUNT_NOEXEC : 0);
}

static void plan_scratch(struct builder *b)
{
	add_dir(b, "tmp");
	add_tmpfs(b, "tmp", b->spec->tmp_size, MODE_SCRATCH, b->spec->tmp_no_exec ? MOUNT_NOEXEC : 0);
	add_dir(b, "var");
	add_dir(b, "var/cache");
	add_dir(b, "var/lib");
	add_dir(b, "var/log");
	add_link(b, "var/tmp", "/tmp");
	add_dir(b, "home");
	add_dir(b, SPEC_HOME + 1);
	add_tmpfs(b, SPEC_HOME + 1, b->spec->home_size, MODE_HOME, b->spec->home_no_exec ? MOUNT_NOEXEC : 0);
}

static void plan_workspace(struct builder *b, const struct mountplan_facts *facts)
{
	add_dir(b, SPEC_WORKSPACE + 1);
	if (b->spec->workspace == SPEC_WORKSPACE_NONE)
		add_tmpfs(b, SPEC_WORKSPACE + 1, b->spec->workspace_size, MODE_DIR, 0);
	else
		add_source(b, &facts->workspace, SPEC_WORKSPACE + 1, b->spec->workspace_read_only ? 0 : MOUNT_WRITABLE);
}

/*
 * Whether the workspace itself is a tmpfs of ours that must become read-only once everything is mounted in it: an empty one, or one
 * that shows a folder's entries, since a read-only folder of the host can get no new name to mount something at.
 */
static bool workspace_is_closed_late(const struct builder *b, const struct mountplan_facts *facts)
{
	return b->spec->workspace_read_only && (b->spec->workspace == SPEC_WORKSPACE_NONE || facts->workspace_lacks_target);
}

static void plan_workspace_entries(struct builder *b, const struct mountplan_facts *facts)
{
	if (b->spec->workspace != SPEC_WORKSPACE_NONE && workspace_is_closed_late(b, facts))
		add(b, (struct mount_op) {
			.kind = MOUNT_ENTRIES, .target = SPEC_WORKSPACE + 1, .tree_fd = -EBADF,
			.data = text(b, "size=1m,nr_inodes=%d,mode=%o", 2 * MOUNTPLAN_ENTRIES_MAX, MODE_DIR) });
}

/* The folders that lead to @path (absolute), which lies where the root is a tmpfs of ours. */
static void add_parents(struct builder *b, const char *path)
{
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
		add_dir(b, text(b, "%.*s", (int) (slash - path - 1), path + 1));
}

/*
 * What a linked working tree needs: the repository at its own path, which the tree names, and the path by which the repository names
 * the tree.
 */
static void plan_repository(struct builder *b, const struct mountplan_facts *facts)
{
	if (facts->shows_repository)
		add_source(b, &facts->repository, facts->repository.path + 1, b->spec->workspace_read_only ? 0 : MOUNT_WRITABLE);
	if (facts->links_workspace) {
		add_parents(b, facts->workspace.path);
		add_link(b, facts->workspace.path + 1, SPEC_WORKSPACE);
	}
}

/* See runtime/init/reprotect.h. */
static void add_view(struct builder *b, const char *target, int *keep)
{
	add(b, (struct mount_op) { .kind = MOUNT_VIEW, .target = target, .keep = keep, .tree_fd = -EBADF });
}

/* Before the volumes: what a caller shows on purpose lies over what is protected. */
static void plan_protected(struct builder *b, const struct mountplan_facts *facts)
{
	if (facts->views && facts->protected_count > 0) {
		add_view(b, SPEC_WORKSPACE + 1, &facts->views[0]);
		if (facts->shows_repository)
			add_view(b, facts->repository.path + 1, &facts->views[1]);
	}
	if (facts->ready)
		add(b, (struct mount_op) {
			.kind = MOUNT_WAIT, .target = SPEC_WORKSPACE + 1, .tree_fd = facts->ready_fd, .result = facts->ready });
	for (size_t i = 0; i < facts->protected_count; i++)
		add(b, (struct mount_op) {
			.kind = MOUNT_PROTECT, .target = facts->protected[i].target, .absent = facts->protected[i].absent,
			.tree_fd = -EBADF });
}

static void plan_user_mount(struct builder *b, const struct spec_mount *m, const struct mountplan_source *source)
{
	unsigned int flags = MOUNT_USER;

	if (m->no_exec)
		flags |= MOUNT_NOEXEC;
	if (m->kind == SPEC_TMPFS) {
		add_tmpfs(b, m->target + 1, m->size, m->mode, flags | MOUNT_MAKE_TARGET);
		return;
	}
	if (!m->read_only)
		flags |= MOUNT_WRITABLE;
	add_source(b, source, m->target + 1, flags);
}

static size_t depth(const char *path)
{
	size_t slashes = 0;

	for (; *path; path++)
		slashes += *path == '/';
	return slashes;
}

/* Outer folders first, so that none hides a mount inside it, whatever the order on the command line. */
static void plan_user_mounts(struct builder *b, const struct mountplan_facts *facts)
{
	const struct spec *s = b->spec;
	size_t deepest = 0;

	for (size_t i = 0; i < s->mount_count; i++)
		deepest = MAX(deepest, depth(s->mounts[i].target));
	for (size_t level = 1; level <= deepest; level++)
		for (size_t i = 0; i < s->mount_count; i++)
			if (depth(s->mounts[i].target) == level)
				plan_user_mount(b, &s->mounts[i], &facts->mounts[i]);
}

int mountplan_build(struct mountplan *plan, const struct spec *spec, const struct mountplan_facts *facts, struct err *err)
{
	struct builder b = { .plan = plan, .spec = spec };

	plan->count = 0;
	plan->text_len = 0;
	plan_system(&b, facts);
	plan_etc(&b);
	plan_dev(&b);
	add_dir(&b, "proc");
	if (spec->weaker & SPEC_WEAKER_PROC)
		add(&b, (struct mount_op) {
			.kind = MOUNT_PROC, .flags = MOUNT_NOEXEC | MOUNT_MAKE_TARGET, .source = "/proc", .target = "proc", .tree_fd = -EBADF });
	else if (!wall_stands(WALL_FRESH_PROC))
		add_host(&b, "/proc", "proc");
	else
		add(&b, (struct mount_op) { .kind = MOUNT_PROC, .target = "proc", .data = MOUNTPLAN_PROC_OPTIONS, .tree_fd = -EBADF });
	add_dir(&b, "sys");
	add_dir(&b, "sys/fs");
	add_dir(&b, MOUNTPLAN_CGROUP);
	plan_scratch(&b);
	plan_workspace(&b, facts);
	plan_workspace_entries(&b, facts);
	plan_repository(&b, facts);
	plan_protected(&b, facts);
	plan_user_mounts(&b, facts);
	if (workspace_is_closed_late(&b, facts))
		add(&b, (struct mount_op) { .kind = MOUNT_READ_ONLY, .target = SPEC_WORKSPACE + 1, .tree_fd = -EBADF });
	add(&b, (struct mount_op) { .kind = MOUNT_READ_ONLY, .target = "", .tree_fd = -EBADF });
	if (b.error)
		return err_set(err, ERR_USAGE, -b.error, "too many mounts for one sandbox: give fewer -v, --mount and --tmpfs");
	return 0;
}

void mountplan_describe(const struct mount_op *op, char *ret, size_t cap)
{
	static const char *const verbs[] = {
		[MOUNT_DIR] = "make directory", [MOUNT_FILE] = "write file", [MOUNT_SYMLINK] = "make link",
		[MOUNT_TMPFS] = "mount tmpfs on", [MOUNT_BIND] = "bind", [MOUNT_DEVICE] = "bind device",
		[MOUNT_ENTRIES] = "show read-only each entry of", [MOUNT_PROC] = "mount proc on",
		[MOUNT_DEVPTS] = "mount devpts on", [MOUNT_READ_ONLY] = "make read-only",
		[MOUNT_VIEW] = "keep a read-only view of", [MOUNT_WAIT] = "occupy protected names in", [MOUNT_PROTECT] = "keep read-only",
	};

	if (op->source)
		(void) snprintf(ret, cap, "%s '%s' at '/%s'", verbs[op->kind], op->source, op->target);
	else
		(void) snprintf(ret, cap, "%s '/%s'", verbs[op->kind], op->target);
}
