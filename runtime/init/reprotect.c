/*
 * Protects again what lost its mount: see reprotect.h. Runs in cloche-init, with CAP_SYS_ADMIN of the sandbox's user namespace and
 * under init's own filter, while commands of the agent run and may change every name below the workspace.
 */
#include "runtime/init/reprotect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"
#include "runtime/spec/initmsg.h"
#include "runtime/spec/spec.h"

enum { NAME_CAP = 256 };

int reprotect_add(struct reprotect *r, const char *target)
{
	if (r->count >= REPROTECT_MAX)
		return -ENOSPC;
	r->targets[r->count++] = target;
	return 0;
}

/* Whether something is mounted at @name: 1, 0 or -errno. */
static int is_mount(int dir_fd, const char *name)
{
	_cleanup_fd_ int fd = sysx_openat2(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, RESOLVE_NO_XDEV);

	return fd >= 0 ? 0 : errno == EXDEV ? 1 : -errno;
}

/* Puts a clone of @from_fd's @path over @fd, if that is the same object, and read-only when it has to be. */
static int cover(int from_fd, const char *path, int fd, bool read_only)
{
	struct stat seen, found;
	struct statvfs fs;
	/* Exactly these flags are what init's filter lets pass. */
	_cleanup_fd_ int tree = sysx_open_tree(from_fd, path, AT_SYMLINK_NOFOLLOW | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0 || fstat(fd, &seen) < 0 || fstat(tree, &found) < 0 || fstatvfs(tree, &fs) < 0)
		return -errno;
	/* A link on the way is followed by what was just called, and names may change meanwhile. */
	if (seen.st_dev != found.st_dev || seen.st_ino != found.st_ino || (read_only && !(fs.f_flag & ST_RDONLY)))
		return -ESTALE;
	return sysx_move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

/* One name further from *@at, a folder on the way to what is protected. It shall be a mount, so that it cannot be moved away. */
static int step(int *at, const char *name)
{
	struct stat st;
	int r = is_mount(*at, name);

	if (r < 0)
		return r;
	int next = openat(*at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	if (r == 0 && fstat(next, &st) == 0 && S_ISDIR(st.st_mode))
		r = cover(*at, name, next, false);
	(void) fd_close(next);
	if (r < 0)
		return r;
	next = openat(*at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	if (next < 0)
		return -errno;
	(void) fd_close(*at);
	*at = next;
	return 0;
}

/* Protects @path, relative to the folder @at_fd, from the view @view_fd of that folder. */
static int again(int at_fd, int view_fd, const char *path)
{
	_cleanup_fd_ int at = fcntl(at_fd, F_DUPFD_CLOEXEC, 0);
	char name[NAME_CAP];

	if (at < 0)
		return -errno;
	for (const char *p = path;; p += strlen(name) + 1) {
		size_t len = strcspn(p, "/");
		if (len == 0 || len >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, p, len);
		name[len] = '\0';
		if (!p[len])
			break;
		int r = step(&at, name);
		if (r < 0)
			return r;
	}
	int r = is_mount(at, name);
	if (r != 0)
		return r;
	_cleanup_fd_ int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : cover(view_fd, path, fd, true);
}

/* Whether @target still is a mount. Anything else than a clear yes is a no. */
static bool stands(int root_fd, const char *target)
{
	const char *slash = strrchr(target, '/');
	char folder[SPEC_PATH_MAX];

	if (!slash || (size_t) (slash - target) >= sizeof(folder))
		return true;
	memcpy(folder, target, (size_t) (slash - target));
	folder[slash - target] = '\0';
	_cleanup_fd_ int at = sysx_openat2(root_fd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return at >= 0 && is_mount(at, slash + 1) == 1;
}

static void mend(int root_fd, const struct reprotect *r, const char *target)
{
	static const char workspace[] = SPEC_WORKSPACE "/";
	bool in_workspace = strncmp(target, workspace + 1, sizeof(workspace) - 2) == 0;
	const char *folder = in_workspace ? SPEC_WORKSPACE + 1 : r->repository;

	if (!folder)
		return;
	_cleanup_fd_ int at = sysx_openat2(root_fd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	/* What is gone cannot be protected, and what an agent has put there meanwhile is its own. */
	if (at >= 0)
		IGNORE_RESULT(again(at, in_workspace ? INITMSG_VIEW_FD : INITMSG_VIEW_FD + 1, target + strlen(folder) + 1));
}

void reprotect_all(const struct reprotect *r)
{
	_cleanup_fd_ int root = r->count && wall_stands(WALL_PROTECT) ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;

	for (size_t i = 0; i < r->count && root >= 0; i++)
		if (!stands(root, r->targets[i]))
			mend(root, r, r->targets[i]);
}
