/*
 * What is protected in a repository: see protect_repo.h. Runs in the launcher; as real root before that gives itself up.
 *
 * An agent can make anything in here but what was protected while it ran; so whatever may be a repository is taken for one, and what cannot
 * be told apart becomes read-only as a whole.
 */
#include "runtime/life/protect_repo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/life/gitdir.h"

#define IN_REPOSITORY ".git/"

enum { NAME_CAP = 256 };

/* Protects @dir@name of the repository. Within the workspace it is walked to from there: its links may lead out of the repository. */
static int protect_in_repository(struct protect *p, const char *dir, const char *name, enum protected_stand_in stand_in)
{
	const char *within = p->repository_path;
	char path[SPEC_PATH_MAX];

	int n = snprintf(path, sizeof(path), "%s%s%s%s", within ? within : "", within ? "/" : "", dir, name);
	if (n < 0 || (size_t) n >= sizeof(path))
		return -ENAMETOOLONG;
	return protect_path(p, within ? PROTECT_WORKSPACE : PROTECT_REPOSITORY, path, stand_in);
}

/* What the list says of the repository of the workspace, said of the repository in the folder @dir ("" or with a final slash). */
static int protect_git(struct protect *p, const char *dir)
{
	for (const struct protected_path *row = protected_paths; row->path; row++) {
		if (strncmp(row->path, IN_REPOSITORY, strlen(IN_REPOSITORY)) != 0 || row->stand_in == PROTECTED_EACH ||
		    protect_is_unprotected(p, row->path))
			continue;
		int r = protect_in_repository(p, dir, row->path + strlen(IN_REPOSITORY), row->stand_in);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether the linked working tree of @dir is to be seen inside: it lies in the workspace, by the name of the host or by that inside. */
static bool is_visible_tree(const struct protect *p, const char *dir)
{
	char path[SPEC_PATH_MAX], line[GITDIR_LINE_MAX];
	struct stat st;

	int n = snprintf(path, sizeof(path), "%sgitdir", dir);
	return n > 0 && (size_t) n < sizeof(path) && gitdir_read_line(p->roots[PROTECT_REPOSITORY].fd, path, line, &st) &&
	       (protected_is_below(line, p->roots[PROTECT_WORKSPACE].host) || protected_is_below(line, SPEC_WORKSPACE));
}

static int visit_folders(struct protect *p, const char *dir, size_t depth,
			 int (*visit)(struct protect *p, const char *dir, size_t depth));
static int visit_modules(struct protect *p, const char *dir, size_t depth);
static int visit_worktrees(struct protect *p, const char *dir, size_t depth);

/* What lies in the folder @name of the repository @dir, if that is there. */
static int visit_part(struct protect *p, const char *dir, const char *name, size_t depth,
		      int (*visit)(struct protect *p, const char *dir, size_t depth))
{
	char path[SPEC_PATH_MAX];

	int n = snprintf(path, sizeof(path), "%s%s/", dir, name);
	return n < 0 || (size_t) n >= sizeof(path) ? -ENAMETOOLONG : visit(p, path, depth);
}

/*
 * The folder of one linked working tree: where it leads must stay, and its settings. One that lies elsewhere on the host is not to
 * be seen inside, where `git worktree prune` would take it for lost: it is locked, in git's own way. Its submodules have repositories of
 * their own there.
 */
static int visit_worktree(struct protect *p, const char *dir, size_t depth)
{
	static const struct {
		const char *name;
		enum protected_stand_in stand_in;
	} rows[] = { { "commondir", PROTECTED_NONE }, { "gitdir", PROTECTED_NONE }, { "config.worktree", PROTECTED_FILE },
		     { "locked", PROTECTED_FILE } };
	size_t count = ARRAY_LEN(rows) - (is_visible_tree(p, dir) ? 1 : 0);

	for (size_t i = 0; i < count; i++) {
		int r = protect_in_repository(p, dir, rows[i].name, rows[i].stand_in);
		if (r < 0)
			return r;
	}
	return protect_is_unprotected(p, IN_REPOSITORY "modules") ? 0 : visit_part(p, dir, "modules", depth + 1, visit_modules);
}

/* Whether @name, which may be a folder or not, is in the folder @dir (with a final slash) of the repository, or may be. */
static bool has(const struct protect *p, const char *dir, const char *name, bool may_be_folder)
{
	char path[SPEC_PATH_MAX];
	struct stat st;

	int n = snprintf(path, sizeof(path), "%s%s", dir, name);
	if (n < 0 || (size_t) n >= sizeof(path))
		return false;
	if (fstatat(p->roots[PROTECT_REPOSITORY].fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	return may_be_folder || !S_ISDIR(st.st_mode);
}

/* A part of a repository that has no repositories in it: git's own, with thousands of folders. @dir ends with a slash. */
static bool is_gits_own(const struct protect *p, const char *dir)
{
	static const char *const names[] = { "objects", "refs", "logs", "info", "hooks", "branches", "lfs", "rr-cache", "modules", "worktrees" };
	size_t len = strlen(dir) - 1, at = len;

	while (at > 0 && dir[at - 1] != '/')
		at--;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len - at && strncmp(dir + at, names[i], len - at) == 0)
			return !has(p, dir, "config", false); /* but a submodule may have such a name */
	return false;
}

static int visit_module(struct protect *p, const char *dir, size_t depth);

static int visit_in_module(struct protect *p, const char *dir, size_t depth)
{
	return is_gits_own(p, dir) ? 0 : visit_module(p, dir, depth);
}

/*
 * One folder below .git/modules: a repository, which may have modules of its own, or a part of a name with slashes. An agent can make
 * the one look like the other, and take away what makes a repository one, to put it back later. So whatever has one mark of a
 * repository is protected as such, and looked into as if it was none, but for git's own folders.
 */
static int visit_module(struct protect *p, const char *dir, size_t depth)
{
	if (!has(p, dir, "HEAD", false) && !has(p, dir, "config", false) && !has(p, dir, "hooks", true) && !has(p, dir, "objects", true))
		return visit_modules(p, dir, depth + 1);
	int r = protect_git(p, dir);
	if (r == 0)
		r = visit_part(p, dir, "modules", depth + 1, visit_modules);
	if (r == 0 && !protect_is_unprotected(p, IN_REPOSITORY "worktrees"))
		r = visit_part(p, dir, "worktrees", depth + 1, visit_worktrees);
	return r < 0 ? r : visit_folders(p, dir, depth + 1, visit_in_module);
}

/*
 * Calls @visit for each folder in @dir (with a final slash) of the repository. -E2BIG when there are too many or too deep ones. In what is
 * read-only as a whole, goes on as far as it gets.
 */
static int visit_folders(struct protect *p, const char *dir, size_t depth,
			 int (*visit)(struct protect *p, const char *dir, size_t depth))
{
	_cleanup_fd_ int fd = sysx_openat2(p->roots[PROTECT_REPOSITORY].fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0,
					   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	_cleanup_list_ DIR *stream = fdopendir(fd);
	if (!stream)
		return -errno;
	(void) TAKE_FD(fd);
	if (depth > PROTECT_DEPTH_MAX)
		return p->in_whole ? 0 : -E2BIG;
	for (const struct dirent *e; (e = readdir(stream));) {
		char path[SPEC_PATH_MAX];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (++p->folders > (p->in_whole ? PROTECT_FOLDERS_WHOLE : PROTECT_FOLDERS_MAX))
			return -E2BIG;
		int n = snprintf(path, sizeof(path), "%s%s/", dir, e->d_name);
		if (n < 0 || (size_t) n >= sizeof(path))
			return -ENAMETOOLONG;
		int r = visit(p, path, depth);
		if (r < 0 && !p->in_whole)
			return r;
	}
	return 0;
}

static int visit_modules(struct protect *p, const char *dir, size_t depth)
{
	return visit_folders(p, dir, depth, visit_module);
}

static int visit_worktrees(struct protect *p, const char *dir, size_t depth)
{
	return visit_folders(p, dir, depth, visit_worktree);
}

/*
 * Everything in @name ("modules", "worktrees", with the numbers 0 and 1) of the repository. What cannot be gone through is read-only as a
 * whole; what links in there lead to is looked for all the same.
 */
static int protect_each(struct protect *p, size_t number, const char *name, int (*visit)(struct protect *p, const char *dir, size_t depth))
{
	char row[NAME_CAP], dir[NAME_CAP];

	(void) snprintf(row, sizeof(row), IN_REPOSITORY "%s", name);
	(void) snprintf(dir, sizeof(dir), "%s/", name);
	if (protect_is_unprotected(p, row))
		return 0;
	int r = p->whole > number ? -E2BIG : visit_folders(p, dir, 0, visit);
	if (r == 0 || p->error)
		return p->error;
	protect_warn(p, "'%s/%s' cannot be gone through (%s): all of it is read-only inside", p->roots[PROTECT_REPOSITORY].host, name,
		     r == -E2BIG ? "there is too much in it" : strerror(-r));
	protect_add(p, (struct protect_item) { .path = name, .root = PROTECT_REPOSITORY, .is_taken = true });
	p->in_whole = true;
	p->folders = 0;
	(void) visit_folders(p, dir, 0, visit);
	p->in_whole = false;
	p->folders = 0;
	return p->error;
}

int protect_look_at_repository(struct protect *p)
{
	int r = protect_git(p, "");

	if (r == 0)
		r = protect_each(p, 0, "modules", visit_module);
	return r < 0 ? r : protect_each(p, 1, "worktrees", visit_worktree);
}
