/*
 * Identities: see userns.h. userns_apply() runs in the launcher's child; the functions for real root run in the launcher
 * before anything is cloned.
 */
#include "runtime/kern/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"

enum { OVERFLOW_ID = 65534 }; /* /proc/sys/kernel/overflowuid */

void userns_plan(struct userns_map *ret, uid_t inside_uid, gid_t inside_gid, uid_t host_uid, gid_t host_gid)
{
	(void) snprintf(ret->uid, sizeof(ret->uid), "%u %u 1\n", inside_uid, host_uid);
	(void) snprintf(ret->gid, sizeof(ret->gid), "%u %u 1\n", inside_gid, host_gid);
}

int userns_open_proc(void)
{
	struct statfs fs;
	_cleanup_fd_ int fd = open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	return fs.f_type == PROC_SUPER_MAGIC ? TAKE_FD(fd) : -ENOTTY;
}

static int write_proc(int proc_fd, const char *path, const char *text)
{
	/* Nothing may be mounted over the file: RESOLVE_NO_XDEV. */
	_cleanup_fd_ int fd = sysx_openat2(proc_fd, path, O_WRONLY | O_CLOEXEC, 0, RESOLVE_NO_XDEV | RESOLVE_BENEATH);

	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	if (n < 0)
		return -errno;
	return (size_t) n == strlen(text) ? 0 : -EIO;
}

/* The other end knows by the byte that setgroups(2) is denied, and may write the maps; its answer says that they are written. */
static int await_maps(int helper_fd)
{
	char byte = 0;
	int r = fd_write_all(helper_fd, &byte, 1);

	return r < 0 ? r : fd_read_exact(helper_fd, &byte, 1);
}

static int write_maps(int proc_fd, const struct userns_map *map)
{
	int r = write_proc(proc_fd, "self/uid_map", map->uid);

	return r < 0 ? r : write_proc(proc_fd, "self/gid_map", map->gid);
}

int userns_apply(int proc_fd, const struct userns_map *map, int helper_fd)
{
	/* After a change of identity the kernel hides /proc/self from its own process. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	/* Without the right to drop groups, a file that denies a group cannot be read by leaving the group. */
	int r = write_proc(proc_fd, "self/setgroups", "deny");
	if (r < 0)
		return r;
	r = helper_fd >= 0 ? await_maps(helper_fd) : write_maps(proc_fd, map);
	if (r < 0)
		return r;
	/*
	 * Second walls, which may be missing where /proc/sys is read-only. What the sandbox watches counts for its user outside,
	 * who would be left with nothing; and nobody inside makes user namespaces, whatever a filter might miss.
	 */
	if (wall_stands(WALL_UCOUNTS)) {
		(void) write_proc(proc_fd, "sys/user/max_inotify_instances", "64");
		(void) write_proc(proc_fd, "sys/user/max_user_namespaces", "0");
	}
	/* When the machine runs out of memory, the kernel shall take the sandbox's processes before the user's own. */
	(void) write_proc(proc_fd, "self/oom_score_adj", "500");
	/* The rest of the start may take long, and this is still a copy of the launcher, with its memory and its open files. */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* The user namespace of the process @pid, whose maps are written as given. Descriptor or -errno. */
static int mapped_namespace(pid_t pid, const struct userns_map *map)
{
	char path[64];
	_cleanup_fd_ int proc_fd = userns_open_proc();

	if (proc_fd < 0)
		return proc_fd;
	(void) snprintf(path, sizeof(path), "%d/uid_map", pid);
	int r = write_proc(proc_fd, path, map->uid);
	if (r < 0)
		return r;
	(void) snprintf(path, sizeof(path), "%d/gid_map", pid);
	r = write_proc(proc_fd, path, map->gid);
	if (r < 0)
		return r;
	(void) snprintf(path, sizeof(path), "%d/ns/user", pid);
	int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int idmap_namespace(const struct userns_map *map)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	pid_t parent = getpid();
	pid_t pid = sysx_clone3(&args);

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		/* A placeholder that lives until its namespace has been opened, or its parent is dead, perhaps by now. */
		while (proc_die_with_parent(parent) == 0)
			(void) pause();
		_exit(1);
	}
	int fd = mapped_namespace(pid, map);
	(void) kill(pid, SIGKILL);
	(void) proc_wait(pid, NULL);
	return fd;
}

int userns_idmapped_tree(int path_fd, uint64_t attrs, uid_t disk_uid, gid_t disk_gid, uid_t host_uid, gid_t host_gid)
{
	struct userns_map map;

	userns_plan(&map, disk_uid, disk_gid, host_uid, host_gid);
	_cleanup_fd_ int ns = idmap_namespace(&map);
	if (ns < 0)
		return ns;
	_cleanup_fd_ int tree = sysx_open_tree(path_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return -errno;
	struct mount_attr attr = {
		.attr_set = attrs | (uint64_t) MOUNT_ATTR_IDMAP, .propagation = MS_PRIVATE, .userns_fd = (unsigned int) ns,
	};
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) < 0)
		return -errno;
	return TAKE_FD(tree);
}

bool userns_is_host_root(void)
{
	static const char setting[] = "/proc/sys/kernel/core_pattern";
	struct stat st;

	/* The machine's root owns this file, and stat(2) shows the owner by the number that our namespace has for it. */
	if (stat(setting, &st) < 0)
		return geteuid() == 0;
	if (st.st_uid != geteuid())
		return false;
	/* This number stands for all ids that the namespace does not know. Only the owner may write; no capability helps. */
	return st.st_uid != OVERFLOW_ID || faccessat(AT_FDCWD, setting, W_OK, AT_EACCESS) == 0;
}

int userns_become(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* What root's memory holds is not @uid's. (With fs.suid_dumpable=1 the kernel does not see to that itself.) */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}
