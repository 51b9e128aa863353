/*
 * Performs a mount plan: see mountapply.h.
 *
 * Everything works on descriptors and on names relative to the new root. The names of our own operations lead through
 * directories that we have just made in a fresh tmpfs, where no link can wait; targets given by the caller (MOUNT_USER) are
 * walked component by component and never through a link.
 */
#include "runtime/kern/mountapply.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"
#include "runtime/kern/mountentries.h"
#include "runtime/kern/procmask.h"

#define ROOT_TMPFS_OPTIONS "size=8m,nr_inodes=4096,mode=0755"

enum {
	COMPONENT_MAX = 255,
	OWN_MAX = SPEC_MOUNTS_MAX + 8,
	WAIT_MS = 30000, /* for who prepares something: longer than that process itself waits for anything */
};

/* The state of one run: where the root is, and which file systems are ours, so that mount points may be made there. */
struct apply {
	int root_fd;
	dev_t own[OWN_MAX];
	size_t own_count;
	const char *parent; /* the last target of open_parent(), whose folder is open as parent_fd; NULL: none */
	size_t parent_len;
	int parent_fd;
};

uint64_t mountapply_attrs(bool read_only)
{
	return (wall_stands(WALL_NOSUID) ? MOUNT_ATTR_NOSUID : 0) | (wall_stands(WALL_NODEV) ? MOUNT_ATTR_NODEV : 0) |
	       (read_only && wall_stands(WALL_READONLY) ? MOUNT_ATTR_RDONLY : 0);
}

int mountapply_isolate(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

int mountapply_new_root(void)
{
	/*
	 * Mounted over "/", the tmpfs is not yet what "/" means: this process's root stays the host's, so that sources can
	 * be opened by their names, until pivot_root(2).
	 */
	if (mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, ROOT_TMPFS_OPTIONS) < 0)
		return -errno;
	/* ".." of a root stays there, but a lookup of "/.." steps onto what is mounted over it. */
	_cleanup_fd_ int fd = open("/..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fchdir(fd) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int remember_own(struct apply *a, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (a->own_count >= OWN_MAX)
		return -E2BIG;
	a->own[a->own_count++] = st.st_dev;
	return 0;
}

static bool is_own(const struct apply *a, dev_t device)
{
	for (size_t i = 0; i < a->own_count; i++)
		if (a->own[i] == device)
			return true;
	return false;
}

static int opened_or_made(const struct apply *a, int dirfd, const char *name, bool directory)
{
	struct stat st;
	int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOTDIR && fstat(dirfd, &st) == 0 && S_ISLNK(st.st_mode))
		return -ELOOP; /* what was opened before is a link: it was not followed */
	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : -errno;
	/* Only a tmpfs of ours gets new names: nothing is ever created in a directory of the host. */
	if (fstat(dirfd, &st) < 0)
		return -errno;
	if (!is_own(a, st.st_dev))
		return -EROFS;
	if (directory) {
		if (mkdirat(dirfd, name, 0755) < 0)
			return -errno;
	} else {
		_cleanup_fd_ int made = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (made < 0)
			return -errno;
	}
	fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Makes the directory @name, open as *@at, a mount point of its own, showing what it shows. A folder with a mount point below it
 * can be renamed, and a new one put in its place; a mount point cannot.
 */
static int pin(int parent, const char *name, int *at)
{
	/* Is it one already, as a volume or from another pin? */
	_cleanup_fd_ int same = sysx_openat2(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, RESOLVE_NO_XDEV);
	if (same < 0)
		return errno == EXDEV ? 0 : -errno;
	_cleanup_fd_ int tree =
		sysx_open_tree(*at, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || sysx_move_mount(tree, "", *at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	(void) fd_close(*at);
	*at = TAKE_FD(tree);
	return 0;
}

/* One step down from *@at to @name, which is the last one of the target or a folder on the way to it. */
static int step_down(const struct apply *a, int *at, const char *name, bool directory, bool pinned)
{
	struct stat st;
	int next = opened_or_made(a, *at, name, directory);

	if (next < 0)
		return next;
	int r = 0;
	if (pinned && fstat(next, &st) == 0 && S_ISDIR(st.st_mode) && !is_own(a, st.st_dev))
		r = pin(*at, name, &next);
	(void) fd_close(*at);
	*at = next;
	return r;
}

/*
 * Opens the mount point @target, making what is missing. The last component is a directory or, else, an empty file. With
 * @pinned, no folder of the host that leads there can be renamed from inside.
 */
static int open_target(const struct apply *a, const char *target, bool directory, bool pinned)
{
	struct stat st;
	_cleanup_fd_ int at = openat(a->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return -errno;
	while (*target) {
		char name[COMPONENT_MAX + 1];
		size_t len = strcspn(target, "/");
		bool last = target[len] == '\0' || target[len + 1] == '\0';

		if (len == 0 || len > COMPONENT_MAX)
			return -ENAMETOOLONG;
		memcpy(name, target, len);
		name[len] = '\0';
		int r = step_down(a, &at, name, directory || !last, pinned && !last);
		if (r < 0)
			return r;
		target += len + (target[len] == '/');
	}
	if (fstat(at, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	return S_ISDIR(st.st_mode) == directory ? TAKE_FD(at) : directory ? -ENOTDIR : -EISDIR;
}

/* Puts the detached mount @tree at the target of @op, making the mount point. */
static int attach(const struct apply *a, int tree, const struct mount_op *op, bool directory)
{
	/* What is read-only shall stay where programs of the host look for it. */
	bool pinned = (op->flags & MOUNT_USER) && !(op->flags & MOUNT_WRITABLE) && wall_stands(WALL_PIN);
	_cleanup_fd_ int at = open_target(a, op->target, directory, pinned);

	if (at < 0)
		return at;
	return sysx_move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

static int apply_file(const struct mount_op *op, struct apply *a)
{
	/* A link of the host's /etc may have been bound here as what it points to; ours replaces nothing. */
	_cleanup_fd_ int fd = openat(a->root_fd, op->target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, op->mode);

	if (fd < 0)
		return -errno;
	return fd_write_all(fd, op->data, strlen(op->data));
}

static int apply_tmpfs(const struct mount_op *op, struct apply *a)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | (op->flags & MOUNT_NOEXEC ? MS_NOEXEC : 0);
	_cleanup_fd_ int target = open_target(a, op->target, true, false);

	if (target < 0)
		return target;
	/* Mounted on "." of the target, since mount(2) takes no descriptor. */
	if (fchdir(target) < 0)
		return -errno;
	int r = mount("tmpfs", ".", "tmpfs", flags, op->data) < 0 ? -errno : 0;
	if (fchdir(a->root_fd) < 0)
		return -errno;
	if (r < 0)
		return r;
	/* By its name again, through no link: one swapped in meanwhile could make a file system of the host pass for ours. */
	_cleanup_fd_ int mounted =
		sysx_openat2(a->root_fd, op->target, O_PATH | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return mounted < 0 ? -errno : remember_own(a, mounted);
}

/* The folder stays mounted below the tmpfs that hides it: its entries are taken from there, as they are mounted there. */
static int apply_entries(const struct mount_op *op, struct apply *a)
{
	_cleanup_fd_ int folder = sysx_openat2(a->root_fd, op->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0,
					       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	if (folder < 0)
		return -errno;
	int r = apply_tmpfs(op, a);
	if (r < 0)
		return r;
	_cleanup_fd_ int at = open_target(a, op->target, true, false);
	return at < 0 ? at : mountentries_show(folder, at);
}

/* Opens the source of a bind as a detached tree with its final attributes. */
static int open_source(const struct mount_op *op)
{
	struct mount_attr attr = {
		.attr_set = mountapply_attrs(!(op->flags & MOUNT_WRITABLE)) |
			    (op->flags & MOUNT_NOEXEC ? MOUNT_ATTR_NOEXEC : 0),
		.propagation = MS_PRIVATE,
	};
	struct stat st;
	_cleanup_fd_ int tree =
		sysx_open_tree(AT_FDCWD, op->source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_NO_AUTOMOUNT);

	if (tree < 0)
		return -errno;
	if (op->flags & MOUNT_SAME) {
		if (fstat(tree, &st) < 0)
			return -errno;
		if (st.st_dev != op->device || st.st_ino != op->inode)
			return -ESTALE;
	}
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return -errno;
	return TAKE_FD(tree);
}

static int apply_bind(const struct mount_op *op, struct apply *a)
{
	_cleanup_fd_ int opened = op->tree_fd >= 0 ? -EBADF : open_source(op);
	int tree = op->tree_fd >= 0 ? op->tree_fd : opened;
	struct stat st;

	if (tree < 0)
		return tree == -ENOENT && (op->flags & MOUNT_OPTIONAL) ? 0 : tree;
	if (fstat(tree, &st) < 0)
		return -errno;
	return attach(a, tree, op, S_ISDIR(st.st_mode));
}

/*
 * Opens the folder that holds @target, every folder of the host on the way pinned; *@ret_name is the last component. The same folder
 * is kept open for the next one, since protected paths come in bunches.
 */
static int open_parent(struct apply *a, const char *target, const char **ret_name)
{
	const char *slash = strrchr(target, '/');
	size_t len = slash ? (size_t) (slash - target) : 0;

	*ret_name = slash ? slash + 1 : target;
	if (a->parent && len == a->parent_len && strncmp(target, a->parent, len) == 0)
		return 0;
	a->parent = NULL;
	(void) fd_close(a->parent_fd);
	a->parent_fd = openat(a->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (a->parent_fd < 0)
		return -errno;
	for (size_t at = 0; at < len;) {
		char name[COMPONENT_MAX + 1];
		size_t part = strcspn(target + at, "/");

		if (part == 0 || part > COMPONENT_MAX)
			return -ENAMETOOLONG;
		memcpy(name, target + at, part);
		name[part] = '\0';
		int r = step_down(a, &a->parent_fd, name, true, wall_stands(WALL_PIN));
		if (r < 0)
			return r;
		at += part + 1;
	}
	a->parent = target;
	a->parent_len = len;
	return 0;
}

/* What is mounted there, its read-only view, and a copy of the first, one on the other: of the second nobody but us has a name. */
static int apply_view(const struct mount_op *op, struct apply *a)
{
	const unsigned int clone = AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	const unsigned int place = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
	struct mount_attr attr = { .attr_set = mountapply_attrs(true) | MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE };
	_cleanup_fd_ int at = open_target(a, op->target, true, false);

	if (at < 0)
		return at;
	_cleanup_fd_ int view = sysx_open_tree(at, "", clone);
	_cleanup_fd_ int copy = sysx_open_tree(at, "", clone);
	if (view < 0 || copy < 0 || sysx_mount_setattr(view, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0 ||
	    sysx_move_mount(view, "", at, "", place) < 0 || sysx_move_mount(copy, "", view, "", place) < 0)
		return -errno;
	*op->keep = TAKE_FD(view);
	return 0;
}

static int apply_wait(const struct mount_op *op, _unused_ struct apply *a)
{
	struct pollfd ready = { .fd = op->tree_fd, .events = POLLIN };
	char byte;
	ssize_t n;

	do
		n = poll(&ready, 1, WAIT_MS) == 0 ? (errno = ETIMEDOUT, -1) : read(op->tree_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : op->result ? *op->result : 0;
}

/*
 * What is at the target, whatever it is now, is mounted over itself: it cannot be written, and as a mount point it can be neither
 * removed nor replaced. A link becomes one as well, and goes on leading where it leads.
 */
static int apply_protect(const struct mount_op *op, struct apply *a)
{
	struct mount_attr attr = { .attr_set = mountapply_attrs(true) | MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE };
	const char *name;

	if (!wall_stands(WALL_PROTECT))
		return 0;
	int r = open_parent(a, op->target, &name);
	if (r < 0) /* the folder that was seen there is no longer there */
		return r == -EROFS || r == -ENOENT || r == -ELOOP || r == -ENOTDIR ? -ESTALE : r;
	_cleanup_fd_ int at = openat(a->parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return errno != ENOENT ? -errno : op->absent && *op->absent ? 0 : -ESTALE;
	_cleanup_fd_ int tree = sysx_open_tree(at, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return -errno;
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return -errno;
	return sysx_move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

static int apply_device(const struct mount_op *op, struct apply *a)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, .propagation = MS_PRIVATE };
	struct stat st;
	_cleanup_fd_ int tree = sysx_open_tree(AT_FDCWD, op->source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return -errno;
	if (fstat(tree, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != op->device)
		return -ENODEV;
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) < 0)
		return -errno;
	return attach(a, tree, op, false);
}

static int apply_dir(const struct mount_op *op, struct apply *a)
{
	return mkdirat(a->root_fd, op->target, op->mode) < 0 && errno != EEXIST ? -errno : 0;
}

static int apply_symlink(const struct mount_op *op, struct apply *a)
{
	return symlinkat(op->source, a->root_fd, op->target) < 0 ? -errno : 0;
}

static int apply_proc(const struct mount_op *op, struct apply *a)
{
	int r = 0;

	if (op->source)
		r = apply_bind(op, a);
	else if (mount("proc", op->target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, op->data) < 0)
		r = -errno;
	return r < 0 ? r : procmask_apply(a->root_fd);
}

static int apply_devpts(const struct mount_op *op, _unused_ struct apply *a)
{
	return mount("devpts", op->target, "devpts", MS_NOSUID | MS_NOEXEC, op->data) < 0 ? -errno : 0;
}

static int apply_read_only(const struct mount_op *op, struct apply *a)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (!wall_stands(WALL_ROOT_READONLY))
		return 0;
	return sysx_mount_setattr(a->root_fd, op->target, AT_EMPTY_PATH, &attr) < 0 ? -errno : 0;
}

int mountapply_run(const struct mountplan *plan, int root_fd, size_t *ret_failed)
{
	static int (*const apply[])(const struct mount_op *op, struct apply *a) = {
		[MOUNT_DIR] = apply_dir,	 [MOUNT_FILE] = apply_file,	[MOUNT_SYMLINK] = apply_symlink,
		[MOUNT_ENTRIES] = apply_entries, [MOUNT_VIEW] = apply_view,	[MOUNT_WAIT] = apply_wait,
		[MOUNT_PROTECT] = apply_protect,
		[MOUNT_TMPFS] = apply_tmpfs,	 [MOUNT_BIND] = apply_bind,	[MOUNT_DEVICE] = apply_device,
		[MOUNT_PROC] = apply_proc,	 [MOUNT_DEVPTS] = apply_devpts, [MOUNT_READ_ONLY] = apply_read_only,
	};

	struct apply a = { .root_fd = root_fd, .parent_fd = -EBADF };
	int r = remember_own(&a, root_fd);

	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->count; i++) {
		r = apply[plan->ops[i].kind](&plan->ops[i], &a);
		if (r < 0) {
			*ret_failed = i;
			return r;
		}
	}
	(void) fd_close(a.parent_fd);
	return 0;
}

int mountapply_enter(void)
{
	/* The new root is mounted on the old one, so both names of pivot_root(2) can be "." (see its NOTES). */
	if (sysx_pivot_root(".", ".") < 0)
		return -errno;
	if (wall_stands(WALL_OLD_ROOT) && umount2(".", MNT_DETACH) < 0)
		return -errno;
	return chdir("/") < 0 ? -errno : 0;
}

int mountapply_enter_chroot(void)
{
	return chroot(".") < 0 || chdir("/") < 0 ? -errno : 0;
}

int mountapply_program(const char *path)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE };

	if (!wall_stands(WALL_PROGRAM_READONLY)) {
		int plain = open(path, O_PATH | O_CLOEXEC);
		return plain < 0 ? -errno : plain;
	}
	_cleanup_fd_ int tree = sysx_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return -errno;
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) < 0)
		return -errno;
	return TAKE_FD(tree);
}
