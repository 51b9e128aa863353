/*
 * Attacks on mounts: changing what is mounted where, with the old calls and the new ones. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/sysx.h"
#include "tests/escape/attack.h"

static long mount_new(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long mount_bind(void)
{
	return mount("/usr", "/tmp", NULL, MS_BIND, NULL);
}

/* A read-only file system that others must not write: the root. */
static long mount_writable(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long unmount_proc(void)
{
	return umount2("/proc", MNT_DETACH);
}

static long new_tree(void)
{
	int tree = sysx_open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return tree < 0 ? tree : sysx_move_mount(tree, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH);
}

static long new_file_system(void)
{
	int fd = (int) syscall(SYS_fsopen, "tmpfs", 1);

	if (fd < 0 || syscall(SYS_fsconfig, fd, 6 /* create */, NULL, NULL, 0) < 0)
		return -1;
	int tree = (int) syscall(SYS_fsmount, fd, 1, 0);
	return tree < 0 ? tree : sysx_move_mount(tree, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH);
}

static long new_attributes(void)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return sysx_mount_setattr(AT_FDCWD, "/", 0, &attr);
}

static long change_root(void)
{
	return chroot("/tmp");
}

static long pivot(void)
{
	if (mount("/tmp", "/tmp", NULL, MS_BIND, NULL) < 0 || chdir("/tmp") < 0)
		return -1;
	return sysx_pivot_root(".", ".");
}

static long control_groups(void)
{
	return mount("cgroup", "/tmp", "cgroup2", 0, NULL);
}

static const struct {
	const char *name;
	long (*way)(void);
} ways[] = {
	{ "tmpfs", mount_new }, { "bind", mount_bind }, { "writable", mount_writable }, { "umount", unmount_proc },
	{ "open_tree", new_tree }, { "fsopen", new_file_system }, { "mount_setattr", new_attributes }, { "chroot", change_root },
	{ "pivot_root", pivot }, { "cgroup2", control_groups },
};

static enum verdict mount_way(char **args)
{
	for (size_t i = 0; i < ARRAY_LEN(ways) && args[0]; i++)
		if (strcmp(ways[i].name, args[0]) == 0)
			return attack_result(ways[i].way(), args[0]);
	return NOT_TRIED;
}

const struct attack mount_attacks[] = {
	{ "mount", "tmpfs|bind|writable|umount|open_tree|fsopen|mount_setattr|chroot|pivot_root|cgroup2", mount_way },
	{ NULL, NULL, NULL },
};
