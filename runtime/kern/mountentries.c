/*
 * A folder of the host shown entry by entry: see mountentries.h. Runs in the launcher's child, in its own mount namespace.
 *
 * The folder may be written by others meanwhile. So each entry is opened once, without following a link, and what was opened
 * decides how it is shown; one that is gone by then is left out.
 */
#include "runtime/kern/mountentries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/mountapply.h"
#include "runtime/kern/mountplan.h"

enum { LISTING_SIZE = 8192, MODE_MOUNT_POINT_DIR = 0755, MODE_MOUNT_POINT_FILE = 0644 };

/* A link cannot be a mount point. Its text is shown as it is, and means inside what it means for every other link there. */
static int copy_link(int link_fd, int at_fd, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return symlinkat(text, at_fd, name) < 0 ? -errno : 0;
}

static int make_mount_point(int at_fd, const char *name, bool directory)
{
	if (directory)
		return mkdirat(at_fd, name, MODE_MOUNT_POINT_DIR) < 0 ? -errno : 0;
	_cleanup_fd_ int made = openat(at_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE_MOUNT_POINT_FILE);
	return made < 0 ? -errno : 0;
}

static int show_entry(int folder_fd, int at_fd, const char *name)
{
	struct mount_attr attr = { .attr_set = mountapply_attrs(true), .propagation = MS_PRIVATE };
	struct stat st;
	_cleanup_fd_ int fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return copy_link(fd, at_fd, name);
	_cleanup_fd_ int tree = sysx_open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return -errno;
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return -errno;
	int r = make_mount_point(at_fd, name, S_ISDIR(st.st_mode));
	if (r < 0)
		return r;
	return sysx_move_mount(tree, "", at_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

int mountentries_show(int folder_fd, int at_fd)
{
	_Alignas(struct dirent64) char listing[LISTING_SIZE];
	size_t count = 0;

	for (;;) {
		long n = syscall(SYS_getdents64, folder_fd, listing, sizeof(listing));
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *) (const void *) (listing + at);
			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			if (++count > MOUNTPLAN_ENTRIES_MAX)
				return -E2BIG;
			int r = show_entry(folder_fd, at_fd, entry->d_name);
			if (r < 0)
				return r;
		}
	}
}
