/*
 * The plan of a sandbox's root. Rules that every plan keeps are checked on plans of several shapes: order, read-only unless
 * asked, bounded tmpfs, nothing secret of the host. Then what each part of the specification changes.
 */
#include "runtime/kern/mountplan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "runtime/base/str.h"
#include "tests/harness/unit.h"

enum { TREE_FD = 77, WORKSPACE_INODE = 4242, TEXT_MAX = 256 };

/* A specification with what it is planned from and what comes out. */
struct shape {
	const char *name;
	struct spec spec;
	struct mountplan_facts facts;
	struct mountplan plan;
};

static void shape_init(struct shape *s, const char *name)
{
	memset(s, 0, sizeof(*s));
	s->name = name;
	spec_init(&s->spec);
	s->facts.workspace = (struct mountplan_source) {
		.path = "/srv/project", .tree_fd = -EBADF, .device = makedev(8, 1), .inode = WORKSPACE_INODE };
	for (size_t i = 0; i < MOUNTPLAN_BASE_DIRS; i++) /* as Debian 12: lib32 and libx32 are missing */
		if (i != 3 && i != 5) {
			s->facts.base[i].present = s->facts.base[i].is_link = true;
			(void) snprintf(s->facts.base[i].link, sizeof(s->facts.base[i].link), "usr/%s", mountplan_base_names[i]);
		}
}

/* A target of its own for each of many mounts: "/d00", "/d01", ... */
static const char *numbered_target(size_t i)
{
	static char targets[SPEC_MOUNTS_MAX][8];

	ck_assert_uint_lt(i, SPEC_MOUNTS_MAX);
	(void) snprintf(targets[i], sizeof(targets[i]), "/d%02u", (unsigned int) i % 100);
	return targets[i];
}

static void add_mount(struct shape *s, struct spec_mount mount, int tree_fd)
{
	s->facts.mounts[s->spec.mount_count] =
		(struct mountplan_source) { .path = mount.source, .tree_fd = tree_fd, .device = 9, .inode = s->spec.mount_count };
	ck_assert_int_eq(spec_add_mount(&s->spec, &mount, NULL), 0);
}

static void build(struct shape *s)
{
	struct err err = { 0 };
	int r = mountplan_build(&s->plan, &s->spec, &s->facts, &err);

	ck_assert_msg(r == 0, "%s: %d %s", s->name, r, err.text);
	ck_assert_uint_gt(s->plan.count, 0);
}

/* The only operation of this kind on @target; NULL when there is none. */
static const struct mount_op *find(const struct mountplan *plan, enum mount_kind kind, const char *target)
{
	const struct mount_op *found = NULL;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->ops[i].kind != kind || strcmp(plan->ops[i].target, target) != 0)
			continue;
		ck_assert_msg(!found, "'%s' twice", target);
		found = &plan->ops[i];
	}
	return found;
}

/* Every shape that the rules are checked on. Each call plans the next; NULL at the end. */
static const struct shape *next_shape(size_t *at)
{
	static struct shape s;
	static const char *const names[] = { "default", "read-only", "none", "old base", "as root", "mounts", "full" };

	if (*at >= ARRAY_LEN(names))
		return NULL;
	shape_init(&s, names[*at]);
	switch (*at) {
	case 1:
		s.spec.workspace = SPEC_WORKSPACE_PATH;
		s.spec.workspace_read_only = true;
		break;
	case 2:
		s.spec.workspace = SPEC_WORKSPACE_NONE;
		s.spec.tmp_size = s.spec.home_size = s.spec.shm_size = 4096;
		break;
	case 3:
		for (size_t i = 0; i < MOUNTPLAN_BASE_DIRS; i++)
			s.facts.base[i] = (struct mountplan_base) { .present = true };
		break;
	case 4:
		s.facts.workspace.tree_fd = TREE_FD;
		break;
	case 5:
		add_mount(&s, (struct spec_mount) { SPEC_BIND, "/srv/a", "/data", true, true, 0, 0 }, -EBADF);
		add_mount(&s, (struct spec_mount) { SPEC_BIND, "/srv/b", "/workspace/deep/er", false, false, 0, 0 }, TREE_FD);
		add_mount(&s, (struct spec_mount) { SPEC_TMPFS, NULL, "/scratch", false, true, 65536, 0750 }, -EBADF);
		break;
	default:
		for (size_t i = 0; *at == 6 && i < SPEC_MOUNTS_MAX; i++)
			add_mount(&s,
				  (struct spec_mount) { SPEC_TMPFS, NULL, numbered_target(i), false, false,
							UINT64_MAX >> 1, 01777 },
				  -EBADF);
		break;
	}
	++*at;
	build(&s);
	return &s;
}

#define FOR_EACH_SHAPE(s) for (size_t at_ = 0; ((s) = next_shape(&at_));)

static bool is_mount_point_of(const struct mount_op *op)
{
	return op->kind == MOUNT_TMPFS || op->kind == MOUNT_PROC || op->kind == MOUNT_DEVPTS;
}

static bool made_before(const struct mountplan *plan, size_t index, const char *dir, size_t len)
{
	for (size_t i = 0; i < index; i++)
		if (plan->ops[i].kind == MOUNT_DIR && strlen(plan->ops[i].target) == len &&
		    strncmp(plan->ops[i].target, dir, len) == 0)
			return true;
	return len == 0;
}

/* A mount point is made before it is mounted on, and a parent before its child. */
START_TEST(test_made_before_use)
{
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		for (size_t i = 0; i < s->plan.count; i++) {
			const struct mount_op *op = &s->plan.ops[i];
			const char *slash = strrchr(op->target, '/');

			if (op->flags & MOUNT_MAKE_TARGET)
				continue; /* with its parents */
			ck_assert_msg(made_before(&s->plan, i, op->target, slash ? (size_t) (slash - op->target) : 0),
				      "%s: the parent of '%s' is missing", s->name, op->target);
			ck_assert_msg(!is_mount_point_of(op) || made_before(&s->plan, i, op->target, strlen(op->target)),
				      "%s: '%s' is mounted on, but not made", s->name, op->target);
		}
	}
}
END_TEST

START_TEST(test_targets_are_plain)
{
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		for (size_t i = 0; i < s->plan.count; i++) {
			const struct mount_op *op = &s->plan.ops[i];
			char absolute[TEXT_MAX];

			ck_assert_ptr_nonnull(op->target);
			(void) snprintf(absolute, sizeof(absolute), "/%s", op->target);
			ck_assert_msg(spec_check_target("target", absolute, NULL) == 0, "%s: '%s'", s->name, op->target);
			/* Nothing of ours is made twice: the second would fail, or hide the first. */
			if (!(op->flags & MOUNT_USER))
				ck_assert_ptr_eq(find(&s->plan, op->kind, op->target), op);
		}
	}
}
END_TEST

/* The root becomes read-only when everything is in it: as the last operation, and only then. */
START_TEST(test_root_is_read_only_at_last)
{
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		const struct mount_op *last = &s->plan.ops[s->plan.count - 1];

		ck_assert_int_eq(last->kind, MOUNT_READ_ONLY);
		ck_assert_str_eq(last->target, "");
		ck_assert_ptr_eq(find(&s->plan, MOUNT_READ_ONLY, ""), last);
	}
}
END_TEST

START_TEST(test_binds_are_read_only_unless_asked)
{
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		for (size_t i = 0; i < s->plan.count; i++) {
			const struct mount_op *op = &s->plan.ops[i];
			bool is_workspace = strcmp(op->target, "workspace") == 0;

			if (op->kind != MOUNT_BIND)
				continue;
			if (is_workspace)
				ck_assert_msg(!(op->flags & MOUNT_WRITABLE) == s->spec.workspace_read_only, "%s", s->name);
			else if (!(op->flags & MOUNT_USER))
				ck_assert_msg(!(op->flags & MOUNT_WRITABLE), "%s: '%s' is writable", s->name, op->target);
			/* What the caller named was examined before, and must be the same object. The host's own need not exist. */
			bool named = is_workspace || (op->flags & MOUNT_USER);
			ck_assert_msg(!(op->flags & MOUNT_SAME) == !named, "%s: '%s'", s->name, op->target);
			ck_assert_msg(!(op->flags & MOUNT_OPTIONAL) || !named, "%s: '%s'", s->name, op->target);
		}
	}
}
END_TEST

/* The number behind @key in mount options; at least @min. */
static uint64_t number_after(const char *data, const char *key, uint64_t min)
{
	const char *at = strstr(data, key);
	char digits[24] = "";
	uint64_t number = 0;

	ck_assert_msg(at != NULL, "no %s in '%s'", key, data);
	at += strlen(key);
	for (size_t i = 0; i < sizeof(digits) - 1 && at[i] && at[i] != ','; i++)
		digits[i] = at[i];
	ck_assert_msg(str_to_uint(digits, min, UINT64_MAX, &number) == 0, "%s%s", key, digits);
	return number;
}

static void check_tmpfs_data(const struct mount_op *op)
{
	uint64_t size = number_after(op->data, "size=", 4096), inodes = number_after(op->data, ",nr_inodes=", 64);
	char wanted[TEXT_MAX];

	ck_assert_uint_le(inodes, MAX(size / 4096, (uint64_t) 64));
	(void) snprintf(wanted, sizeof(wanted), "size=%ju,nr_inodes=%ju,mode=%o", (uintmax_t) size, (uintmax_t) inodes, op->mode);
	ck_assert_str_eq(op->data, wanted);
}

START_TEST(test_every_tmpfs_is_bounded)
{
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		size_t count = 0;
		for (size_t i = 0; i < s->plan.count; i++) {
			if (s->plan.ops[i].kind != MOUNT_TMPFS)
				continue;
			check_tmpfs_data(&s->plan.ops[i]);
			count++;
		}
		ck_assert_uint_ge(count, 3); /* /tmp, the home, /dev/shm */
	}
}
END_TEST

/* True when @path is @dir or lies below it. */
static bool is_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* What of the host is bound without being asked for: /usr, the base folders and chosen entries of /etc; no secret among them. */
START_TEST(test_nothing_secret)
{
	static const char *const secrets[] = {
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers",
		"/etc/sudoers.d", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/private", "/etc/ssh", "/etc/krb5.keytab",
		"/etc/wireguard", "/etc/NetworkManager", "/etc/wpa_supplicant", "/etc/netplan", "/etc/docker", "/etc/kubernetes",
		"/etc/machine-id", "/etc/environment", "/etc/fstab", "/etc/crypttab", "/etc/passwd", "/etc/group", "/etc/hosts",
		"/etc/hostname", "/etc/resolv.conf", "/etc/gitconfig", "/etc/letsencrypt", "/etc/ppp", "/etc/apt/auth.conf",
		"/etc/profile.d", "/etc/npmrc", "/etc/pip.conf", "/etc/mysql", "/etc/postgresql",
	};
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		for (size_t i = 0; i < s->plan.count; i++) {
			const struct mount_op *op = &s->plan.ops[i];

			if (op->kind != MOUNT_BIND || op->flags & MOUNT_SAME)
				continue;
			ck_assert_str_eq(op->source + 1, op->target); /* at the same place */
			bool known = strcmp(op->source, "/usr") == 0 || strncmp(op->source, "/etc/", 5) == 0;
			for (size_t b = 0; b < MOUNTPLAN_BASE_DIRS; b++)
				known |= strcmp(op->target, mountplan_base_names[b]) == 0;
			ck_assert_msg(known, "'%s' is bound", op->source);
			for (size_t j = 0; j < ARRAY_LEN(secrets); j++)
				ck_assert_msg(!is_in(secrets[j], op->source) && !is_in(op->source, secrets[j]),
					      "'%s' shows '%s'", op->source, secrets[j]);
		}
	}
}
END_TEST

START_TEST(test_devices)
{
	static const struct {
		const char *name;
		unsigned int major, minor;
	} wanted[] = {
		{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
	};
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		size_t count = 0;
		for (size_t i = 0; i < s->plan.count; i++)
			count += s->plan.ops[i].kind == MOUNT_DEVICE;
		ck_assert_uint_eq(count, ARRAY_LEN(wanted));
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
			char target[TEXT_MAX];
			(void) snprintf(target, sizeof(target), "dev/%s", wanted[i].name);
			const struct mount_op *op = find(&s->plan, MOUNT_DEVICE, target);
			ck_assert_ptr_nonnull(op);
			ck_assert_str_eq(op->source + 1, target);
			ck_assert(op->device == makedev(wanted[i].major, wanted[i].minor));
		}
	}
}
END_TEST

START_TEST(test_kernel_file_systems)
{
	const struct shape *s;

	FOR_EACH_SHAPE(s) {
		const struct mount_op *proc = find(&s->plan, MOUNT_PROC, "proc");
		const struct mount_op *pts = find(&s->plan, MOUNT_DEVPTS, "dev/pts");

		ck_assert(proc && pts);
		ck_assert_str_eq(proc->data, "hidepid=2");
		ck_assert_ptr_nonnull(strstr(pts->data, "newinstance"));
	}
}
END_TEST

/* Where no procfs can be mounted, and that was accepted: the host's, with nothing about it writable or executable. */
START_TEST(test_weaker_proc)
{
	static struct shape s;
	size_t found = 0;

	shape_init(&s, "weaker proc");
	s.spec.weaker = SPEC_WEAKER_PROC;
	build(&s);
	for (size_t i = 0; i < s.plan.count; i++) {
		const struct mount_op *op = &s.plan.ops[i];
		if (strcmp(op->target, "proc") != 0 || op->kind == MOUNT_DIR)
			continue;
		ck_assert(op->kind == MOUNT_PROC && op->flags == (MOUNT_NOEXEC | MOUNT_MAKE_TARGET) && op->tree_fd < 0);
		ck_assert_str_eq(op->source, "/proc");
		found++;
	}
	ck_assert_uint_eq(found, 1);
}
END_TEST

START_TEST(test_base_folders)
{
	static struct shape s;

	shape_init(&s, "base");
	s.facts.base[0] = (struct mountplan_base) { .present = true, .is_link = true, .link = "usr/bin" };
	s.facts.base[1] = (struct mountplan_base) { .present = true };
	s.facts.base[2] = (struct mountplan_base) { .present = false };
	build(&s);
	ck_assert_str_eq(find(&s.plan, MOUNT_SYMLINK, "bin")->source, "usr/bin");
	ck_assert_ptr_null(find(&s.plan, MOUNT_BIND, "bin"));
	ck_assert_str_eq(find(&s.plan, MOUNT_BIND, "sbin")->source, "/sbin");
	ck_assert(!find(&s.plan, MOUNT_BIND, "lib") && !find(&s.plan, MOUNT_SYMLINK, "lib"));
	/* Without /usr nothing runs: unlike the others it must be there. */
	ck_assert(!(find(&s.plan, MOUNT_BIND, "usr")->flags & MOUNT_OPTIONAL));
}
END_TEST

START_TEST(test_workspace_modes)
{
	static const struct {
		enum spec_workspace workspace;
		bool read_only;
		int tree_fd;
	} cases[] = {
		{ SPEC_WORKSPACE_CWD, false, -EBADF }, { SPEC_WORKSPACE_PATH, false, TREE_FD }, { SPEC_WORKSPACE_PATH, true, -EBADF },
	};
	static struct shape s;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		shape_init(&s, "workspace");
		s.spec.workspace = cases[i].workspace;
		s.spec.workspace_read_only = cases[i].read_only;
		s.facts.workspace.tree_fd = cases[i].tree_fd;
		build(&s);
		const struct mount_op *op = find(&s.plan, MOUNT_BIND, "workspace");
		ck_assert_ptr_nonnull(op);
		ck_assert_str_eq(op->source, "/srv/project");
		ck_assert_int_eq(op->tree_fd, cases[i].tree_fd);
		ck_assert(op->device == makedev(8, 1) && op->inode == WORKSPACE_INODE);
		ck_assert(!(op->flags & MOUNT_WRITABLE) == cases[i].read_only);
		ck_assert_ptr_null(find(&s.plan, MOUNT_TMPFS, "workspace"));
	}
	shape_init(&s, "no workspace");
	s.spec.workspace = SPEC_WORKSPACE_NONE;
	build(&s);
	ck_assert_ptr_nonnull(find(&s.plan, MOUNT_TMPFS, "workspace"));
	ck_assert_ptr_null(find(&s.plan, MOUNT_BIND, "workspace"));
}
END_TEST

/* The operation @kind at @target that comes last; its index, or -1. */
static int last_index(const struct mountplan *plan, enum mount_kind kind, const char *target)
{
	int found = -1;

	for (size_t i = 0; i < plan->count; i++)
		if (plan->ops[i].kind == kind && strcmp(plan->ops[i].target, target) == 0)
			found = (int) i;
	return found;
}

/*
 * A mount at a name that a read-only workspace does not have: the workspace becomes a tmpfs with its entries, which is closed behind the
 * mounts in it. In a writable workspace, and for a name that is there, it stays the folder.
 */
START_TEST(test_workspace_by_entry)
{
	static const struct {
		bool read_only, lacks, none;
		bool entries, closed;
	} cases[] = {
		{ true, true, false, true, true },    { true, false, false, false, false }, { false, true, false, false, false },
		{ true, false, true, false, true },   { false, false, true, false, false },
	};
	static struct shape s;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		shape_init(&s, "by entry");
		s.spec.workspace = cases[i].none ? SPEC_WORKSPACE_NONE : SPEC_WORKSPACE_PATH;
		s.spec.workspace_read_only = cases[i].read_only;
		s.facts.workspace_lacks_target = cases[i].lacks;
		add_mount(&s, (struct spec_mount) { SPEC_TMPFS, NULL, "/workspace/build", false, false, 1 << 20, 01777 }, -EBADF);
		build(&s);
		int entries = last_index(&s.plan, MOUNT_ENTRIES, "workspace"), build_at = last_index(&s.plan, MOUNT_TMPFS, "workspace/build");
		int closed = last_index(&s.plan, MOUNT_READ_ONLY, "workspace");
		ck_assert_msg((entries >= 0) == cases[i].entries && (closed >= 0) == cases[i].closed, "case %zu", i);
		ck_assert_int_gt(build_at, entries);
		ck_assert(closed < 0 || closed > build_at);
		ck_assert(entries < 0 || entries > last_index(&s.plan, MOUNT_BIND, "workspace"));
		ck_assert_int_gt(last_index(&s.plan, MOUNT_READ_ONLY, ""), closed);
	}
}
END_TEST

START_TEST(test_sizes_reach_their_folder)
{
	static struct shape s;

	shape_init(&s, "sizes");
	s.spec.tmp_size = 1 << 20;
	s.spec.home_size = 2 << 20;
	s.spec.shm_size = 8192;
	build(&s);
	ck_assert_str_eq(find(&s.plan, MOUNT_TMPFS, "tmp")->data, "size=1048576,nr_inodes=256,mode=1777");
	ck_assert_str_eq(find(&s.plan, MOUNT_TMPFS, "home/agent")->data, "size=2097152,nr_inodes=512,mode=700");
	ck_assert_str_eq(find(&s.plan, MOUNT_TMPFS, "dev/shm")->data, "size=8192,nr_inodes=64,mode=1777");
	ck_assert(!(find(&s.plan, MOUNT_TMPFS, "tmp")->flags & MOUNT_NOEXEC));
	s.spec.tmp_no_exec = s.spec.home_no_exec = s.spec.shm_no_exec = true;
	s.spec.workspace = SPEC_WORKSPACE_NONE;
	s.spec.workspace_size = 4 << 20;
	build(&s);
	ck_assert(find(&s.plan, MOUNT_TMPFS, "tmp")->flags & find(&s.plan, MOUNT_TMPFS, "home/agent")->flags &
		  find(&s.plan, MOUNT_TMPFS, "dev/shm")->flags & MOUNT_NOEXEC);
	ck_assert_str_eq(find(&s.plan, MOUNT_TMPFS, "workspace")->data, "size=4194304,nr_inodes=1024,mode=755");
}
END_TEST

/* The caller's mounts come in their order, behind the workspace and everything of ours, since they may lie in it. */
START_TEST(test_user_mounts)
{
	static struct shape s;

	shape_init(&s, "user mounts");
	add_mount(&s, (struct spec_mount) { SPEC_TMPFS, NULL, "/workspace/a/b", false, true, 1 << 20, 0711 }, -EBADF);
	add_mount(&s, (struct spec_mount) { SPEC_BIND, "/srv/a", "/workspace/a", false, false, 0, 0 }, TREE_FD);
	add_mount(&s, (struct spec_mount) { SPEC_BIND, "/srv/c", "/c", true, true, 0, 0 }, -EBADF);
	add_mount(&s, (struct spec_mount) { SPEC_TMPFS, NULL, "/d", false, false, 1 << 20, 01777 }, -EBADF);
	build(&s);

	const struct mount_op *ops = s.plan.ops + s.plan.count - 1 - s.spec.mount_count;
	/* Outer folders come first, whatever was given first. */
	static const struct mount_op wanted[] = {
		{ MOUNT_BIND, MOUNT_USER | MOUNT_MAKE_TARGET | MOUNT_SAME | MOUNT_NOEXEC, "/srv/c", "c", NULL, 0, -EBADF, 9, 2, NULL, NULL, NULL },
		{ MOUNT_TMPFS, MOUNT_USER | MOUNT_MAKE_TARGET, NULL, "d", "size=1048576,nr_inodes=256,mode=1777", 01777, -EBADF, 0, 0, NULL, NULL, NULL },
		{ MOUNT_BIND, MOUNT_USER | MOUNT_MAKE_TARGET | MOUNT_SAME | MOUNT_WRITABLE, "/srv/a", "workspace/a", NULL, 0, TREE_FD, 9, 1, NULL, NULL, NULL },
		{ MOUNT_TMPFS, MOUNT_USER | MOUNT_MAKE_TARGET | MOUNT_NOEXEC, NULL, "workspace/a/b",
		  "size=1048576,nr_inodes=256,mode=711", 0711, -EBADF, 0, 0, NULL, NULL, NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		ck_assert_int_eq(ops[i].kind, wanted[i].kind);
		ck_assert_uint_eq(ops[i].flags, wanted[i].flags);
		ck_assert_str_eq(ops[i].target, wanted[i].target);
		ck_assert_int_eq(ops[i].tree_fd, wanted[i].tree_fd);
		ck_assert(ops[i].device == wanted[i].device && ops[i].inode == wanted[i].inode);
		ck_assert_pstr_eq(ops[i].source, wanted[i].source);
		ck_assert_pstr_eq(ops[i].data, wanted[i].data);
	}
	for (const struct mount_op *op = s.plan.ops; op < ops; op++)
		ck_assert_msg(!(op->flags & MOUNT_USER), "'%s'", op->target);
}
END_TEST

START_TEST(test_made_up_etc)
{
	static struct shape s;

	shape_init(&s, "etc");
	s.spec.uid = 1234;
	s.spec.gid = 4321;
	s.spec.hostname = "bell";
	build(&s);
	ck_assert_str_eq(find(&s.plan, MOUNT_FILE, "etc/passwd")->data,
			 "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1234:4321:Agent:/home/agent:/bin/bash\n"
			 "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n");
	ck_assert_str_eq(find(&s.plan, MOUNT_FILE, "etc/group")->data, "root:x:0:\nagent:x:4321:\nnogroup:x:65534:\n");
	ck_assert_str_eq(find(&s.plan, MOUNT_FILE, "etc/hostname")->data, "bell\n");
	ck_assert_ptr_nonnull(strstr(find(&s.plan, MOUNT_FILE, "etc/hosts")->data, "127.0.0.1 localhost bell\n"));
	ck_assert_str_eq(find(&s.plan, MOUNT_SYMLINK, "etc/mtab")->source, "/proc/self/mounts");
}
END_TEST

/* What does not fit is an error, never a shorter plan; and the next plan in the same memory is a whole one. */
START_TEST(test_overflow)
{
	static struct shape s;
	static char endless[MOUNTPLAN_TEXT_MAX];
	struct err err = { 0 };

	shape_init(&s, "overflow");
	build(&s);
	size_t count = s.plan.count, text_len = s.plan.text_len;
	memset(endless, 'x', sizeof(endless) - 1);
	s.spec.hostname = endless;
	ck_assert_int_eq(mountplan_build(&s.plan, &s.spec, &s.facts, &err), -E2BIG);
	ck_assert_int_eq(err.code, ERR_USAGE);
	ck_assert_uint_le(s.plan.text_len, sizeof(s.plan.text));
	s.spec.hostname = "cloche";
	build(&s);
	ck_assert_uint_eq(s.plan.count, count);
	ck_assert_uint_eq(s.plan.text_len, text_len);

	/* As many mounts as a specification holds always fit. */
	for (size_t i = 0; i < SPEC_MOUNTS_MAX; i++)
		add_mount(&s, (struct spec_mount) { SPEC_TMPFS, NULL, numbered_target(i), false, false, 1 << 20, 01777 }, -EBADF);
	build(&s);
	ck_assert_uint_eq(s.plan.count, count + SPEC_MOUNTS_MAX);
}
END_TEST

/* Protected paths come behind what holds them and before the volumes, and behind who has to make them ready, if anybody has. */
START_TEST(test_protected)
{
	static const bool absent = true;
	static const int ready = 0;
	static int views[2];
	static struct shape s;

	for (int waits = 0; waits < 2; waits++) {
		shape_init(&s, "protected");
		s.facts.protected[0] = (struct mountplan_protected) { .target = "workspace/.git/hooks" };
		s.facts.protected[1] = (struct mountplan_protected) { .target = "srv/main/.git/config", .absent = &absent };
		s.facts.protected_count = 2;
		s.facts.ready_fd = 5;
		s.facts.ready = waits ? &ready : NULL;
		s.facts.views = waits ? views : NULL;
		s.facts.shows_repository = s.facts.links_workspace = true;
		s.facts.repository = (struct mountplan_source) { .path = "/srv/main/.git", .tree_fd = -EBADF, .device = 8, .inode = 7 };
		add_mount(&s, (struct spec_mount) { SPEC_BIND, "/srv/a", "/workspace/.git/hooks", true, false, 0, 0 }, -EBADF);
		build(&s);
		int hooks = last_index(&s.plan, MOUNT_PROTECT, "workspace/.git/hooks");
		int repository = last_index(&s.plan, MOUNT_BIND, "srv/main/.git");
		ck_assert_int_gt(hooks, last_index(&s.plan, MOUNT_BIND, "workspace"));
		ck_assert_int_gt(hooks, repository);
		ck_assert_int_lt(hooks, last_index(&s.plan, MOUNT_BIND, "workspace/.git/hooks"));
		ck_assert_int_eq(s.plan.ops[hooks - 1].kind == MOUNT_WAIT, waits);
		ck_assert(s.plan.ops[repository].flags == (MOUNT_WRITABLE | MOUNT_SAME | MOUNT_MAKE_TARGET));
		ck_assert_ptr_eq(s.plan.ops[last_index(&s.plan, MOUNT_PROTECT, "srv/main/.git/config")].absent, &absent);
		int view = last_index(&s.plan, MOUNT_VIEW, "srv/main/.git");
		ck_assert(waits ? view > repository && view < hooks && s.plan.ops[view].keep == &views[1] : view == -1);
		/* The path by which the repository knows the workspace: its folders, then a link. */
		int link = last_index(&s.plan, MOUNT_SYMLINK, "srv/project");
		ck_assert_int_gt(link, last_index(&s.plan, MOUNT_DIR, "srv"));
		ck_assert_str_eq(s.plan.ops[link].source, SPEC_WORKSPACE);
	}
}
END_TEST

START_TEST(test_describe)
{
	static const struct {
		struct mount_op op;
		const char *text;
	} cases[] = {
		{ { .kind = MOUNT_DIR, .target = "etc" }, "make directory '/etc'" },
		{ { .kind = MOUNT_FILE, .target = "etc/hosts", .data = "secret" }, "write file '/etc/hosts'" },
		{ { .kind = MOUNT_SYMLINK, .source = "usr/bin", .target = "bin" }, "make link 'usr/bin' at '/bin'" },
		{ { .kind = MOUNT_TMPFS, .target = "tmp" }, "mount tmpfs on '/tmp'" },
		{ { .kind = MOUNT_ENTRIES, .target = "workspace" }, "show read-only each entry of '/workspace'" },
		{ { .kind = MOUNT_VIEW, .target = "workspace" }, "keep a read-only view of '/workspace'" },
		{ { .kind = MOUNT_WAIT, .target = "workspace" }, "occupy protected names in '/workspace'" },
		{ { .kind = MOUNT_PROTECT, .target = "workspace/.git/hooks" }, "keep read-only '/workspace/.git/hooks'" },
		{ { .kind = MOUNT_BIND, .source = "/srv/a", .target = "data" }, "bind '/srv/a' at '/data'" },
		{ { .kind = MOUNT_DEVICE, .source = "/dev/null", .target = "dev/null" }, "bind device '/dev/null' at '/dev/null'" },
		{ { .kind = MOUNT_PROC, .target = "proc" }, "mount proc on '/proc'" },
		{ { .kind = MOUNT_DEVPTS, .target = "dev/pts" }, "mount devpts on '/dev/pts'" },
		{ { .kind = MOUNT_READ_ONLY, .target = "" }, "make read-only '/'" },
	};
	char text[TEXT_MAX], cut[8];

	ck_assert_uint_eq(ARRAY_LEN(cases), MOUNT_READ_ONLY + 1); /* a new kind needs a row */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ck_assert_uint_eq(cases[i].op.kind, i);
		mountplan_describe(&cases[i].op, text, sizeof(text));
		ck_assert_str_eq(text, cases[i].text);
		memset(cut, '!', sizeof(cut));
		mountplan_describe(&cases[i].op, cut, sizeof(cut) - 1);
		ck_assert_int_eq(strncmp(cut, cases[i].text, sizeof(cut) - 2), 0);
		ck_assert(cut[6] == '\0' && cut[7] == '!');
	}
}
END_TEST

UNIT_MAIN("runtime/kern/mountplan", test_made_before_use, test_targets_are_plain, test_root_is_read_only_at_last,
	  test_binds_are_read_only_unless_asked, test_every_tmpfs_is_bounded, test_nothing_secret, test_devices,
	  test_kernel_file_systems, test_weaker_proc, test_base_folders, test_workspace_modes, test_workspace_by_entry,
	  test_sizes_reach_their_folder, test_user_mounts,
	  test_protected, test_made_up_etc, test_overflow, test_describe)
