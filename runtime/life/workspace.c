/*
 * Which folder of the host may become the workspace: see workspace.h. Runs in the launcher.
 */
#include "runtime/life/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/life/account.h"

/* Folders that are the host, with everything below them (true) or only themselves. */
static const struct {
	const char *path;
	bool and_below;
} system_folders[] = {
	{ "/bin", true },
	{ "/boot", true },
	{ "/dev", true },
	{ "/etc", true },
	{ "/home", false },
	{ "/lib", true },
	{ "/lib32", true },
	{ "/lib64", true },
	{ "/libx32", true },
	{ "/media", false },
	{ "/mnt", false },
	{ "/opt", false },
	{ "/proc", true },
	{ "/root", false },
	{ "/run", false },
	{ "/sbin", true },
	{ "/srv", false },
	{ "/sys", true },
	{ "/tmp", false },
	{ "/usr", false },
	{ "/usr/bin", true },
	{ "/usr/lib", true },
	{ "/usr/lib32", true },
	{ "/usr/lib64", true },
	{ "/usr/libx32", true },
	{ "/usr/sbin", true },
	{ "/var", false },
	{ "/var/lib", false },
	{ "/var/tmp", false },
};

/* True when @path is @dir or lies below it. Both are canonical. */
static bool is_or_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_system_folder(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(system_folders); i++) {
		const char *dir = system_folders[i].path;
		if (system_folders[i].and_below ? is_or_below(path, dir) : strcmp(path, dir) == 0)
			return true;
	}
	return false;
}

/* Whether @path is or contains the folder @home, whatever form that is written in; *@ret_same when it is that folder. */
static bool contains_home(const char *path, const char *home, bool *ret_same)
{
	char *real = home && home[0] == '/' ? realpath(home, NULL) : NULL;
	bool found = real && strcmp(real, "/") != 0 && is_or_below(real, path);

	*ret_same |= found && strcmp(real, path) == 0;
	free(real);
	return found;
}

/* The caller's home is what HOME says and what /etc/passwd says: either may be wrong or missing. */
static bool holds_callers_home(const char *path, bool *ret_same)
{
	struct account account = { .home = "" };
	bool holds = contains_home(path, getenv("HOME"), ret_same);

	(void) account_find(geteuid(), &account);
	return contains_home(path, account.home, ret_same) || holds;
}

static int check_place(const struct spec *spec, const char *path, struct err *err)
{
	bool is_home = false;

	if (strcmp(path, "/") == 0)
		return err_set(err, ERR_USAGE, EPERM,
			       "refusing '/' as the workspace: it is the whole host. Name a project folder, as in: cloche mcp "
			       "/path/to/project");
	bool holds_home = holds_callers_home(path, &is_home);
	if (holds_home && !spec->allow_home)
		return err_set(err, ERR_USAGE, EPERM,
			       "refusing '%s' as the workspace: it is or contains your home directory with its keys and settings. Name "
			       "a project folder, or give --allow-home if you mean it", path);
	if (!is_home && is_system_folder(path))
		return err_set(err, ERR_USAGE, EPERM,
			       "refusing the system folder '%s' as the workspace: name a project folder", path);
	return 0;
}

bool workspace_may_be_shown(const char *path)
{
	/* Folders that a sandbox shows from the host, or leads elsewhere: no name can be made in them. */
	static const char *const taken[] = { "/usr", "/var/tmp", SPEC_WORKSPACE };
	bool is_home = false;

	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		if (is_or_below(path, taken[i]))
			return false;
	return strcmp(path, "/") != 0 && !is_system_folder(path) && !holds_callers_home(path, &is_home);
}

int workspace_path_of(int fd, char path[static SPEC_PATH_MAX])
{
	char link[64];

	(void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, SPEC_PATH_MAX - 1);
	if (n < 0)
		return -errno;
	if (n >= SPEC_PATH_MAX - 1)
		return -ENAMETOOLONG;
	path[n] = '\0';
	return path[0] == '/' ? 0 : -ENOENT;
}

int workspace_open(const struct spec *spec, char canonical[static SPEC_PATH_MAX], struct stat *st, struct err *err)
{
	const char *shown = spec->workspace == SPEC_WORKSPACE_PATH ? spec->workspace_path : ".";
	_cleanup_fd_ int fd = open(shown, O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_USAGE, ENOENT, "the workspace '%s' does not exist: create it first (mkdir)", shown);
	if (fd < 0)
		return err_set(err, ERR_USAGE, errno, "the workspace '%s' cannot be opened: %m", shown);
	if (fstat(fd, st) < 0)
		return err_set(err, ERR_SYSTEM, errno, "the workspace '%s' cannot be examined: %m", shown);
	if (!S_ISDIR(st->st_mode))
		return err_set(err, ERR_USAGE, ENOTDIR, "the workspace '%s' is not a directory: name the folder that holds it",
			       shown);
	if (st->st_nlink == 0)
		return err_set(err, ERR_USAGE, ENOENT, "the workspace '%s' was deleted: change to a folder that exists, or name one",
			       shown);
	int r = workspace_path_of(fd, canonical);
	if (r < 0)
		return err_set(err, ERR_USAGE, -r, "the workspace '%s' has no usable path: %m", shown);
	r = check_place(spec, canonical, err);
	if (r < 0)
		return r;
	/* Reading must be possible for the one who asks; a first listing tells at once instead of later inside. */
	_cleanup_fd_ int readable = open(canonical, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (readable < 0)
		return err_set(err, ERR_USAGE, errno, "the workspace '%s' cannot be read by you: %m. Check its permissions",
			       canonical);
	return TAKE_FD(fd);
}
