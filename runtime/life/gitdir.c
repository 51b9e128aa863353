/*
 * The repository behind a .git file: see gitdir.h. Runs in the launcher; as real root before that gives itself up.
 *
 * No symbolic link is followed anywhere: git writes real paths. Each name is opened once, and what is compared are objects.
 */
#include "runtime/life/gitdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/life/workspace.h"
#include "runtime/spec/protected.h"

#define WORD "gitdir: "
#define TREES "/worktrees/"

static bool same_object(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool gitdir_read_line(int dir_fd, const char *path, char line[static GITDIR_LINE_MAX], struct stat *ret)
{
	_cleanup_fd_ int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) || ret->st_size >= GITDIR_LINE_MAX)
		return false;
	ssize_t n = read(fd, line, GITDIR_LINE_MAX - 1);
	if (n <= 0)
		return false;
	if (line[n - 1] == '\n')
		n--;
	line[n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char) line[i] < 0x20 || line[i] == 0x7f)
			return false;
	return n > 0;
}

/* Opens what a line of git's names, relative to @dir_fd. Descriptor or -errno; *@ret is its canonical path. */
static int open_named(int dir_fd, const char *path, int flags, char ret[static SPEC_PATH_MAX], struct stat *st)
{
	_cleanup_fd_ int fd = sysx_openat2(dir_fd, path, (uint64_t) flags | O_PATH | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);

	if (fd < 0 || fstat(fd, st) < 0)
		return -errno;
	int r = workspace_path_of(fd, ret);
	return r < 0 ? r : TAKE_FD(fd);
}

/* The common directory of the git folder @fd at the canonical path @host, by what its file commondir says. Or -errno. */
static int open_common(int fd, char host[static SPEC_PATH_MAX], struct stat *st)
{
	char line[GITDIR_LINE_MAX];
	struct stat file;

	return gitdir_read_line(fd, "commondir", line, &file) ? open_named(fd, line, O_DIRECTORY, host, st) : -ENOENT;
}

static bool has_entries(int fd)
{
	static const char *const names[] = { "HEAD", "objects", "refs" };
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
	return true;
}

/* Whether the file gitdir of the git folder @fd names the .git file @file of the workspace @workspace, by this path. */
static bool leads_back(int fd, const char *workspace, const struct stat *file)
{
	char line[GITDIR_LINE_MAX], path[SPEC_PATH_MAX];
	struct stat st;

	if (!gitdir_read_line(fd, "gitdir", line, &st))
		return false;
	_cleanup_fd_ int back = open_named(fd, line, 0, path, &st);
	return back >= 0 && same_object(&st, file) && protected_is_below(path, workspace) &&
	       strcmp(path + strlen(workspace), "/.git") == 0;
}

/* The workspace, the git folder that its .git names, and what is found out about them. */
struct evidence {
	const char *workspace;
	uid_t owner;
	struct stat file; /* .git */
	int fd;           /* the git folder */
	struct stat st;
	char path[SPEC_PATH_MAX];
};

/* NULL when the git folder is that of a linked working tree and proves it; then @ret has the repository. Else why not. */
static const char *examine(const struct evidence *e, struct gitdir *ret)
{
	const char *name = strrchr(e->path, '/');
	struct stat st;

	if (e->st.st_uid != e->owner)
		return "it belongs to another user than the workspace";
	if (strstr(e->path, "/modules/"))
		return "the workspace is a submodule. Give the folder of the repository that it is a part of";
	if (!name || (size_t) (name - e->path) < strlen(TREES) ||
	    strncmp(name + 1 - strlen(TREES), TREES, strlen(TREES)) != 0)
		return "it is not that of a linked working tree (git worktree). Give the folder that holds it as the workspace";
	_cleanup_fd_ int common = open_common(e->fd, ret->host, &st);
	if (common < 0)
		return "its file commondir leads nowhere";
	size_t len = strlen(ret->host);
	if (strncmp(e->path, ret->host, len) != 0 || e->path + len != name + 1 - strlen(TREES))
		return "its file commondir leads to another repository";
	if (st.st_uid != e->owner || !has_entries(common))
		return "its common directory is no repository of the workspace's owner";
	if (!leads_back(e->fd, e->workspace, &e->file))
		return "its file gitdir does not name this workspace. If the folder was moved, run `git worktree repair` in it, outside";
	if (protected_is_below(e->workspace, ret->host))
		return "the workspace lies in it";
	if (!workspace_may_be_shown(ret->host))
		return "it lies where a sandbox has files of its own, or is the system's or your home";
	ret->fd = TAKE_FD(common);
	return NULL;
}

/* A repository below the workspace is there anyway: nothing has to be believed. */
static void take_within(const struct evidence *e, struct gitdir *ret)
{
	struct stat st;
	int common = open_common(e->fd, ret->host, &st);

	ret->kind = GITDIR_WITHIN;
	ret->why = NULL;
	if (common >= 0 && protected_is_below(ret->host, e->workspace) && strcmp(ret->host, e->workspace) != 0) {
		ret->fd = common;
		return;
	}
	(void) fd_close(common);
	memcpy(ret->host, e->path, sizeof(ret->host));
	ret->fd = fcntl(e->fd, F_DUPFD_CLOEXEC, 0);
	if (ret->fd < 0)
		ret->kind = GITDIR_NONE;
}

void gitdir_find(int fd, const char *host, uid_t owner, struct gitdir *ret)
{
	struct evidence e = { .workspace = host, .owner = owner };
	char line[GITDIR_LINE_MAX];
	struct stat st;

	*ret = (struct gitdir) { .kind = GITDIR_NONE, .fd = -EBADF };
	if (fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	ret->kind = GITDIR_UNPROVEN;
	ret->why = "it does not say where that is";
	if (!gitdir_read_line(fd, ".git", line, &e.file) || strncmp(line, WORD, strlen(WORD)) != 0)
		return;
	(void) snprintf(ret->host, sizeof(ret->host), "%s", line + strlen(WORD));
	ret->why = "there is no such folder, or a symbolic link leads to it";
	_cleanup_fd_ int git = open_named(fd, line + strlen(WORD), O_DIRECTORY, e.path, &e.st);
	e.fd = git;
	if (git < 0)
		return;
	if (protected_is_below(e.path, host) && strcmp(e.path, host) != 0) {
		take_within(&e, ret);
		return;
	}
	ret->why = examine(&e, ret);
	if (ret->why)
		memcpy(ret->host, e.path, sizeof(ret->host));
	else
		ret->kind = GITDIR_LINKED;
}
