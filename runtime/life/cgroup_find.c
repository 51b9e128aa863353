/*
 * Where a cgroup for a sandbox could be made: see cgroup_find.h. Runs in the launcher as the invoking user, or as real root before it
 * gives that up.
 */
#include "runtime/life/cgroup_find.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/base/sysx.h"

enum {
	LINE_MAX_BYTES = 2 * SPEC_PATH_MAX,
	MOUNTS_MAX = 100000,
	UNKNOWN_UID = 65534, /* what the kernel shows of owners without a number here */
};

#define REPAIR_UNIFIED \
	"boot with one cgroup hierarchy, version 2 (kernel command line: systemd.unified_cgroup_hierarchy=1, without systemd cgroup_no_v1=all)"
#define REPAIR_DELEGATE "start cloche as a service with Delegate=yes, or name a group that is yours with --cgroup PATH"

int cgroup_miss_set(struct cgroup_miss *miss, int errnum, const char *repair, const char *why, ...)
{
	va_list args;

	if (!miss)
		return -errnum;
	miss->errnum = errnum;
	(void) snprintf(miss->repair, sizeof(miss->repair), "%s", repair);
	va_start(args, why);
	errno = errnum; /* for %m */
	(void) vsnprintf(miss->why, sizeof(miss->why), why, args);
	va_end(args);
	return -errnum;
}

/* --- what the kernel prints -------------------------------------------------------------------------------------------- */

/* Copies a field of mountinfo up to a blank, with its octal escapes undone. False when it is empty or too long. */
static bool copy_field(const char *from, char to[static SPEC_PATH_MAX])
{
	size_t n = 0;

	for (; *from && *from != ' ' && n < SPEC_PATH_MAX - 1; n++) {
		bool is_escape = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' && from[3] >= '0' &&
				 from[3] <= '7';
		to[n] = (char) (is_escape ? ((from[1] - '0') << 6) | ((from[2] - '0') << 3) | (from[3] - '0') : from[0]);
		from += is_escape ? 4 : 1;
	}
	to[n] = '\0';
	return n > 0 && (*from == ' ' || *from == '\0');
}

bool cgroup_parse_mount(const char *line, struct cgroup_view *ret)
{
	enum { FIELD_ROOT = 3, FIELD_POINT = 4 };
	const char *type = strstr(line, " - ");
	const char *fields[FIELD_POINT + 1] = { line };

	if (!type || strncmp(type, " - cgroup2 ", strlen(" - cgroup2 ")) != 0)
		return false;
	for (size_t i = 1; i < ARRAY_LEN(fields); i++) {
		const char *blank = strchr(fields[i - 1], ' ');
		if (!blank || blank >= type)
			return false;
		fields[i] = blank + 1;
	}
	return copy_field(fields[FIELD_ROOT], ret->root) && copy_field(fields[FIELD_POINT], ret->mount) && ret->root[0] == '/' &&
	       ret->mount[0] == '/';
}

int cgroup_parse_own(const char *text, char *ret)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		if (len > 3 && len - 3 < SPEC_PATH_MAX && strncmp(line, "0::/", 4) == 0) {
			memcpy(ret, line + 3, len - 3);
			ret[len - 3] = '\0';
			return 0;
		}
		line += len + (line[len] == '\n');
	}
	return -ENODATA;
}

const char *cgroup_below(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	path += len;
	return strcmp(path, "/") == 0 ? "" : path;
}

int cgroup_join(char ret[static SPEC_PATH_MAX], const char *front, const char *back)
{
	size_t a = strlen(front), b = strlen(back);

	if (a + b >= SPEC_PATH_MAX)
		return -ENAMETOOLONG;
	memmove(ret, front, a);
	memcpy(ret + a, back, b + 1);
	return 0;
}

/* --- the mounted hierarchy --------------------------------------------------------------------------------------------- */

/* The last one that we find ourselves in: a later mount hides an earlier one. */
static bool find_mount(const char *own, struct cgroup_view *v)
{
	struct cgroup_view *candidate = calloc(1, sizeof(*candidate));
	char *line = malloc(LINE_MAX_BYTES);
	FILE *f = fopen("/proc/self/mountinfo", "re");
	bool found = false;

	for (size_t i = 0; f && line && candidate && i < MOUNTS_MAX && fgets(line, LINE_MAX_BYTES, f); i++) {
		if (!cgroup_parse_mount(line, candidate) || !cgroup_below(own, candidate->root))
			continue;
		memcpy(v->mount, candidate->mount, sizeof(v->mount));
		memcpy(v->root, candidate->root, sizeof(v->root));
		found = true;
	}
	if (f)
		(void) fclose(f);
	free(line);
	free(candidate);
	return found;
}

int cgroup_view_open(struct cgroup_view *v, struct cgroup_miss *miss)
{
	char text[LINE_MAX_BYTES], own[SPEC_PATH_MAX];
	unsigned int controllers = 0;
	struct stat st;

	ssize_t n = fd_read_text(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	if (n < 0 || cgroup_parse_own(text, own) < 0)
		return cgroup_miss_set(miss, EOPNOTSUPP, REPAIR_UNIFIED, "this kernel has no cgroup version 2");
	if (!find_mount(own, v))
		return cgroup_miss_set(miss, ENOENT, "mount it: mount -t cgroup2 none /sys/fs/cgroup",
				       "no cgroup2 file system is mounted here that shows the group of this process");
	(void) snprintf(v->own, sizeof(v->own), "%s", cgroup_below(own, v->root));
	v->fd = open(v->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v->fd < 0 || !cgroup_is_dir(v->fd))
		return cgroup_miss_set(miss, v->fd < 0 ? errno : ENOENT, "", "'%s' cannot be opened, or is hidden by another mount", v->mount);
	v->is_systemd = stat("/run/systemd/system", &st) == 0 && S_ISDIR(st.st_mode);
	IGNORE_RESULT(cgroup_read_controllers(v->fd, "cgroup.controllers", &controllers)); /* then there are none */
	if ((controllers & CGROUP_REQUIRED) != CGROUP_REQUIRED)
		return cgroup_miss_set(miss, EOPNOTSUPP, REPAIR_UNIFIED,
				       "'%s' has no memory and pids controllers: cgroup version 1 holds them, or they are not given to this container",
				       v->mount);
	return 0;
}

void cgroup_view_done(struct cgroup_view *v)
{
	v->fd = fd_close(v->fd);
}

int cgroup_view_group(const struct cgroup_view *v, const char *path)
{
	const char *below = cgroup_below(path, v->root);

	if (!below)
		return -ENOENT;
	int fd = sysx_openat2(v->fd, *below ? below + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return fd < 0 ? -errno : fd;
}

/* --- one group --------------------------------------------------------------------------------------------------------- */

/* The root of the whole hierarchy, which may have processes beside groups. It is the only one without this file. */
static bool is_machine_root(int fd)
{
	return faccessat(fd, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT;
}

static bool has_processes(int fd)
{
	char text[32];

	return fd_read_text(fd, "cgroup.procs", text, sizeof(text)) != 0;
}

/* Whether we are the only process in it. */
static bool is_ours_alone(int fd)
{
	char text[32], pid[32];

	(void) snprintf(pid, sizeof(pid), "%d", (int) getpid());
	return fd_read_text(fd, "cgroup.procs", text, sizeof(text)) > 0 && strcmp(text, pid) == 0;
}

/* Makes room for groups beside us: a group with processes cannot hand controllers down. */
static int step_aside(int fd)
{
	if (mkdirat(fd, CGROUP_SUPERVISOR, 0755) < 0 && errno != EEXIST)
		return -errno;
	_cleanup_fd_ int leaf = openat(fd, CGROUP_SUPERVISOR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return leaf < 0 ? -errno : cgroup_write(leaf, "cgroup.procs", "0");
}

static int step_back(int fd, int r)
{
	if (cgroup_write(fd, "cgroup.procs", "0") == 0)
		(void) unlinkat(fd, CGROUP_SUPERVISOR, AT_REMOVEDIR);
	return r;
}

/* What names groups to whoever is to read about them. */
struct group {
	int fd;
	const char *path;
	bool may_step_aside; /* it is our own, and goes away with us */
};

static int may_write(const struct group *g, struct cgroup_miss *miss)
{
	if (faccessat(g->fd, ".", W_OK | X_OK, AT_EACCESS) == 0 && faccessat(g->fd, "cgroup.procs", W_OK, AT_EACCESS) == 0)
		return 0;
	if (errno == EROFS)
		return cgroup_miss_set(miss, EROFS, "give the container a writable one", "'%s' is mounted read-only", g->path);
	return cgroup_miss_set(miss, errno, "", "the group '%s' is not yours to make groups in: %m", g->path);
}

/* Hands the controllers down in @g that are not yet, as far as that is possible. */
static int hand_down(const struct group *g, bool for_real, unsigned int *ret, struct cgroup_miss *miss)
{
	unsigned int here = 0, down = 0;
	bool aside = false;

	IGNORE_RESULT(cgroup_read_controllers(g->fd, "cgroup.controllers", &here)); /* then there are none */
	IGNORE_RESULT(cgroup_read_controllers(g->fd, "cgroup.subtree_control", &down));
	here &= CGROUP_WANTED;
	*ret = down &= CGROUP_WANTED;
	if ((here & CGROUP_REQUIRED) != CGROUP_REQUIRED)
		return cgroup_miss_set(miss, EOPNOTSUPP, "", "the group '%s' has not been given the memory and pids controllers", g->path);
	if (down == here)
		return 0;
	bool is_busy = !is_machine_root(g->fd) && has_processes(g->fd);
	if (is_busy && g->may_step_aside && is_ours_alone(g->fd)) {
		is_busy = false;
		aside = for_real;
	}
	if (!is_busy && !for_real) {
		*ret = here;
		return 0;
	}
	if (!is_busy && (!aside || step_aside(g->fd) == 0))
		*ret |= cgroup_enable(g->fd, here & ~down);
	if ((*ret & CGROUP_REQUIRED) == CGROUP_REQUIRED)
		return 0;
	if (is_busy)
		return cgroup_miss_set(miss, EBUSY, "",
				       "the group '%s' has processes in it, and such a group cannot hand controllers down to others", g->path);
	int r = cgroup_miss_set(miss, EBUSY, "", "the group '%s' does not hand the memory and pids controllers down", g->path);
	return aside ? step_back(g->fd, r) : r;
}

static int take_group(const struct group *g, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss)
{
	int r = may_write(g, miss);

	if (r < 0 || (r = hand_down(g, for_real, &ret->controllers, miss)) < 0)
		return r;
	(void) snprintf(ret->path, sizeof(ret->path), "%s", g->path);
	ret->fd = fcntl(g->fd, F_DUPFD_CLOEXEC, 0);
	return ret->fd < 0 ? cgroup_miss_set(miss, errno, "", "the group '%s' cannot be used: %m", g->path) : 0;
}

/* --- the way up -------------------------------------------------------------------------------------------------------- */

static bool says_delegate(int fd, const char *attribute)
{
	char value = 0;

	return fgetxattr(fd, attribute, &value, sizeof(value)) == 1 && value == '1';
}

/* Whether systemd has given this group away. One that runs a manager of its own (a user's) belongs to that manager. */
static bool is_delegated(int fd)
{
	return says_delegate(fd, "user.delegate") || (geteuid() == 0 && says_delegate(fd, "trusted.delegate"));
}

static bool has_manager(int fd)
{
	return faccessat(fd, "init.scope", F_OK, 0) == 0;
}

/* The groups from our own, @levels[0], up to the root of the mount; descriptors are owned. Their number or -errno. */
static int climb(const struct cgroup_view *v, int levels[static CGROUP_LEVELS_MAX])
{
	char path[SPEC_PATH_MAX];
	int count = 0;

	(void) snprintf(path, sizeof(path), "%s", v->own);
	for (;;) {
		levels[count] = sysx_openat2(v->fd, *path ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0,
					     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
		if (levels[count] < 0)
			return count > 0 ? count : -errno;
		count++;
		char *slash = strrchr(path, '/');
		if (!slash || count == CGROUP_LEVELS_MAX)
			return count;
		*slash = '\0';
	}
}

/* How many of @levels are ours, by the rule that each group has one manager. */
static int count_ours(const struct cgroup_view *v, const int *levels, int count, struct cgroup_miss *miss)
{
	if (!v->is_systemd)
		return count;
	for (int i = 0; i < count; i++) {
		if (!is_delegated(levels[i]))
			continue;
		if (has_manager(levels[i]))
			return cgroup_miss_set(miss, EPERM, REPAIR_DELEGATE, "the group '%s%s' belongs to a unit of systemd that is not delegated",
					       v->mount, v->own);
		return i + 1;
	}
	return cgroup_miss_set(miss, EPERM, REPAIR_DELEGATE, "no group above '%s%s' is delegated by systemd", v->mount, v->own);
}

static int path_of(const struct cgroup_view *v, int level, char ret[static SPEC_PATH_MAX])
{
	int r = cgroup_join(ret, v->mount, v->own);

	for (; r == 0 && level > 0; level--)
		*strrchr(ret, '/') = '\0';
	return r;
}

/*
 * Whether level @i, or one above it, belongs to somebody else but root: he could move processes out of all that is below, whoever made
 * that. An owner who is not known in our user namespace is above us anyway.
 */
static bool is_of_others(const int *levels, int count, int i)
{
	static const char *const names[] = { ".", "cgroup.procs" };
	struct stat st;

	for (; i < count; i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			if (fstatat(levels[i], names[k], &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != 0 && st.st_uid != geteuid() &&
			    st.st_uid != UNKNOWN_UID)
				return true;
	return false;
}

/* The first of the levels that can be used. The nearest refusal that is more than "not yours" is what people are told. */
static int try_levels(const struct cgroup_view *v, const int *levels, int count, int last, bool for_real, struct cgroup_base *ret,
		      struct cgroup_miss *miss)
{
	int r = -ENOENT;

	for (int i = 0; i < last; i++) {
		char path[SPEC_PATH_MAX];
		struct group g = { .fd = levels[i], .path = path, .may_step_aside = i == 0 && (v->is_systemd || count == 1) };
		struct cgroup_miss one = { .errnum = 0 };
		if ((r = path_of(v, i, path)) < 0)
			continue;
		r = is_of_others(levels, count, i) ? cgroup_miss_set(&one, EPERM, "", "the group '%s', or one above it, belongs to another user", path)
						   : take_group(&g, for_real, ret, &one);
		if (r == 0)
			break;
		if (miss->errnum == 0 || miss->errnum == EACCES)
			*miss = one;
	}
	if (r == 0)
		miss->errnum = 0;
	else if (miss->errnum == 0)
		return cgroup_miss_set(miss, ENOENT, "", "there is no group between that of this process and the root of '%s'", v->mount);
	return r == 0 ? 0 : -miss->errnum;
}

int cgroup_find_own(const struct cgroup_view *v, bool with_root, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss)
{
	int levels[CGROUP_LEVELS_MAX];
	int count = climb(v, levels);

	if (count < 0)
		return cgroup_miss_set(miss, -count, "", "our own group '%s%s' cannot be opened: %m", v->mount, v->own);
	int ours = count_ours(v, levels, count, miss);
	int r = ours < 0 ? ours : try_levels(v, levels, count, with_root ? ours : MIN(ours, count - 1), for_real, ret, miss);
	while (count > 0)
		(void) fd_close(levels[--count]);
	return r;
}

int cgroup_find_root(const struct cgroup_view *v, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss)
{
	struct group g = { .fd = v->fd, .path = v->mount, .may_step_aside = v->own[0] == '\0' };
	int r = take_group(&g, for_real, ret, miss);

	if (r == -EBUSY && miss)
		(void) snprintf(miss->repair, sizeof(miss->repair),
				"in a container, move its processes into a group of their own first (mkdir %s/main; echo each pid of %s/cgroup.procs to "
				"%s/main/cgroup.procs)", "/sys/fs/cgroup", "/sys/fs/cgroup", "/sys/fs/cgroup");
	return r;
}

int cgroup_find_path(const char *path, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss)
{
	char self[32], real[SPEC_PATH_MAX];
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return cgroup_miss_set(miss, errno, "make it first, and delegate it (chown it, its cgroup.procs and its cgroup.subtree_control)",
				       "'%s' cannot be opened: %m", path);
	if (!cgroup_is_dir(fd))
		return cgroup_miss_set(miss, EINVAL, "name a directory below the mounted hierarchy, usually /sys/fs/cgroup",
				       "'%s' is no directory of a cgroup2 file system", path);
	(void) snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(self, real, sizeof(real) - 1);
	if (n <= 0 || (size_t) n >= sizeof(real) - 1)
		return cgroup_miss_set(miss, n < 0 ? errno : ENAMETOOLONG, "", "the path of '%s' cannot be found out: %m", path);
	real[n] = '\0';
	struct group g = { .fd = fd, .path = real, .may_step_aside = true };
	return take_group(&g, for_real, ret, miss);
}

int cgroup_find_scope(const struct cgroup_view *v, const char *path, struct cgroup_base *ret, struct cgroup_miss *miss)
{
	const char *below = cgroup_below(path, v->root);
	_cleanup_fd_ int fd = cgroup_view_group(v, path);
	struct group g = { .fd = fd, .path = ret->path };

	int r = fd < 0 ? fd : below ? cgroup_join(ret->path, v->mount, below) : -ENOENT;
	if (r < 0)
		return cgroup_miss_set(miss, -r, "", "the scope '%s' that systemd made cannot be opened: %m", path);
	r = may_write(&g, miss);
	if (r < 0)
		return r;
	ret->controllers = 0;
	IGNORE_RESULT(cgroup_read_controllers(fd, "cgroup.controllers", &ret->controllers));
	ret->controllers &= CGROUP_WANTED;
	if ((ret->controllers & CGROUP_REQUIRED) != CGROUP_REQUIRED)
		return cgroup_miss_set(miss, EOPNOTSUPP,
				       "as root: mkdir -p /etc/systemd/system/user@.service.d; printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' "
				       "> /etc/systemd/system/user@.service.d/delegate.conf; then log in anew",
				       "systemd does not hand the memory and pids controllers to '%s'", ret->path);
	ret->fd = TAKE_FD(fd);
	return 0;
}

void cgroup_base_done(struct cgroup_base *base)
{
	base->fd = fd_close(base->fd);
}
