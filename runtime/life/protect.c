/*
 * What of a workspace is protected: see protect.h. Runs in the launcher; as real root before that gives itself up.
 *
 * Everything below the workspace may have been made by an agent in an earlier session. Its names and links are taken as such:
 * they can lead to more being read-only, never to less, and to nothing outside being touched.
 */
#include "runtime/life/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/utf8.h"
#include "runtime/life/placeholder.h"
#include "runtime/life/protect_repo.h"
#include "runtime/life/protect_walk.h"

#define REPOSITORY ".git"
#define IN_REPOSITORY REPOSITORY "/"

void protect_init(struct protect *p, const struct spec *spec)
{
	p->spec = spec;
	p->warnings = (struct buf) BUF_INIT(PROTECT_WARNINGS_MAX);
	for (size_t i = 0; i < PROTECT_ROOTS; i++)
		p->roots[i].fd = -EBADF;
}

void protect_done(struct protect *p)
{
	for (size_t i = 0; i < PROTECT_ROOTS; i++)
		p->roots[i].fd = fd_close(p->roots[i].fd);
	buf_done(&p->warnings);
}

void protect_warn(struct protect *p, const char *fmt, ...)
{
	_cleanup_buf_ struct buf line = BUF_INIT(PROTECT_WARNINGS_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&line, fmt, ap);
	va_end(ap);
	buf_add_str(&p->warnings, "cloche: ");
	utf8_add_printable(&p->warnings, buf_cstr(&line), line.len); /* with names that an agent may have chosen */
	buf_add_char(&p->warnings, '\n');
}

const char *protect_text(struct protect *p, const char *fmt, ...)
{
	size_t room = sizeof(p->text) - p->text_len;
	char *to = p->text + p->text_len;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(to, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t) n >= room) {
		p->error = p->error ? p->error : -E2BIG;
		return NULL;
	}
	p->text_len += (size_t) n + 1;
	return to;
}

/* --- the list ---------------------------------------------------------------------------------------------------------- */

/* What lies in the repository of the workspace belongs to that, wherever it was found from. */
static void settle(const struct protect *p, enum protect_root *root, const char **path)
{
	const char *dir = p->repository_path;

	if (*root == PROTECT_WORKSPACE && dir && protected_is_below(*path, dir) && strcmp(*path, dir) != 0) {
		*path += strlen(dir) + 1;
		*root = PROTECT_REPOSITORY;
	}
}

/* Whether @path is protected by what was added before. */
static bool is_covered(const struct protect *p, enum protect_root root, const char *path)
{
	settle(p, &root, &path);
	if (root == PROTECT_REPOSITORY && p->repository_path && is_covered(p, PROTECT_WORKSPACE, p->repository_path))
		return true;
	for (size_t i = 0; i < p->count; i++) {
		const struct protect_item *item = &p->items[i];
		/* What a link leads to is another matter than the link. */
		if (!item->is_link && item->root == root && protected_is_below(path, item->path))
			return true;
	}
	return false;
}

void protect_add(struct protect *p, struct protect_item item)
{
	if (is_covered(p, item.root, item.path))
		return;
	settle(p, &item.root, &item.path);
	for (size_t i = 0; i < p->count && item.is_link; i++)
		if (p->items[i].is_link && p->items[i].root == item.root && strcmp(p->items[i].path, item.path) == 0)
			return;
	if (p->count >= ARRAY_LEN(p->items)) {
		p->error = p->error ? p->error : -E2BIG;
		return;
	}
	item.path = protect_text(p, "%s", item.path);
	if (!item.path)
		return;
	p->items[p->count++] = item;
	p->to_occupy += item.occupy;
}

/* Whether something below @path is protected. */
static bool has_protected(const struct protect *p, enum protect_root root, const char *path)
{
	bool around = root == PROTECT_WORKSPACE && p->repository_path && protected_is_below(p->repository_path, path);

	settle(p, &root, &path);
	for (size_t i = 0; i < p->count; i++) {
		const struct protect_item *item = &p->items[i];
		if ((around && item->root == PROTECT_REPOSITORY) || (item->root == root && protected_is_below(item->path, path)))
			return true;
	}
	return false;
}

void protect_add_left(struct protect *p, enum protect_root root, const char *path)
{
	if (!has_protected(p, root, path))
		protect_add(p, (struct protect_item) { .path = path, .root = root, .is_taken = true });
}

size_t protect_list(struct protect *p, struct mountplan_protected ret[static MOUNTPLAN_PROTECTED_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++) {
		const char *target = protect_text(p, "%s/%s", p->roots[p->items[i].root].inside, p->items[i].path);
		if (target)
			ret[count++] = (struct mountplan_protected) { .target = target };
	}
	return count;
}

/* --- one path ---------------------------------------------------------------------------------------------------------- */

static bool is_stand_in(const struct protect *p, const struct protect_walk *w, enum protected_stand_in stand_in)
{
	const char *slash = strrchr(w->path, '/');

	return placeholder_is_untouched(w->at < 0 ? p->roots[w->root].fd : w->at, slash ? slash + 1 : w->path, &w->st, stand_in);
}

static void found(struct protect *p, const struct protect_walk *w, enum protected_stand_in stand_in)
{
	bool is_folder = S_ISDIR(w->st.st_mode);
	struct protect_item item = { .path = w->path, .root = w->root, .is_taken = true };

	if (is_folder && protect_is_empty_folder(w->fd, &w->st)) {
		item.stand_in = PROTECTED_FOLDER;
		item.occupy = true;
	} else if ((stand_in == PROTECTED_FILE || stand_in == PROTECTED_HERE) && is_stand_in(p, w, stand_in)) {
		item.stand_in = stand_in;
		item.occupy = true;
	}
	if (!is_folder && w->st.st_nlink > 1)
		protect_warn(p, "'%s/%s' has %ju names (hard links): it is protected under this one only", p->roots[w->root].host,
			     w->path, (uintmax_t) w->st.st_nlink);
	protect_add(p, item);
}

int protect_path(struct protect *p, enum protect_root root, const char *path, enum protected_stand_in stand_in)
{
	_cleanup_(protect_walk_done) struct protect_walk w = { .at = -EBADF, .fd = -EBADF };
	/* What is read-only as a whole may have links in it that lead elsewhere. */
	int end = !p->in_whole && is_covered(p, root, path) ? WALK_OUTSIDE : protect_walk(p, &w, root, path);

	switch (end) {
	case WALK_FOUND:
		found(p, &w, stand_in);
		return 0;
	case WALK_MISSING:
		/* The first name that is missing is enough: what does not exist cannot get anything below it. */
		if (w.todo[0])
			stand_in = PROTECTED_FOLDER;
		if (stand_in != PROTECTED_NONE)
			protect_add(p, (struct protect_item) { .path = w.path, .root = root, .stand_in = stand_in, .occupy = true });
		return 0;
	case WALK_BLOCKED:
		protect_add(p, (struct protect_item) { .path = w.path, .root = root, .is_taken = true });
		return 0;
	case WALK_OUTSIDE:
		return 0;
	default:
		return end;
	}
}

/* --- repositories ------------------------------------------------------------------------------------------------------ */

bool protect_is_unprotected(const struct protect *p, const char *path)
{
	for (size_t i = 0; i < p->spec->unprotect_count; i++)
		if (protected_is_below(path, p->spec->unprotect[i]))
			return true;
	return p->spec->unprotect_all;
}

static int remember_folder(struct protect_folder *folder, int fd, const char *host, const char *inside)
{
	struct stat st;

	folder->fd = fd;
	folder->host = host;
	folder->inside = inside;
	if (!host || !inside) /* there was no room for it */
		return -E2BIG;
	if (fstat(fd, &st) < 0)
		return -errno;
	folder->device = st.st_dev;
	folder->inode = st.st_ino;
	return 0;
}

static int remember_repository(struct protect *p, int fd, const char *path)
{
	const struct protect_folder *ws = &p->roots[PROTECT_WORKSPACE];
	const char *host = protect_text(p, "%s", path), *inside = host ? host + 1 : NULL;

	if (host && protected_is_below(host, ws->host)) {
		p->repository_path = host + strlen(ws->host) + 1;
		inside = protect_text(p, "%s/%s", ws->inside, p->repository_path);
	}
	return remember_folder(&p->roots[PROTECT_REPOSITORY], fd, host, inside);
}

bool protect_has_worktrees(const struct protect *p)
{
	int fd = p->roots[PROTECT_REPOSITORY].fd;

	return fd >= 0 && faccessat(fd, "worktrees", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Finds the repository of the workspace: the folder that .git is, or leads to within the workspace. */
static int find_repository(struct protect *p)
{
	_cleanup_(protect_walk_done) struct protect_walk w;
	int end = protect_walk(p, &w, PROTECT_WORKSPACE, REPOSITORY);

	if (end < 0)
		return end;
	if (end == WALK_FOUND && S_ISDIR(w.st.st_mode) && !protect_is_empty_folder(w.fd, &w.st)) {
		char host[2 * SPEC_PATH_MAX];
		(void) snprintf(host, sizeof(host), "%s/%s", p->roots[PROTECT_WORKSPACE].host, w.path);
		return remember_repository(p, TAKE_FD(w.fd), host);
	}
	return 0;
}

/* --- everything -------------------------------------------------------------------------------------------------------- */

static int look_at_rows(struct protect *p)
{
	for (const struct protected_path *row = protected_paths; row->path; row++) {
		bool in_repository = strncmp(row->path, IN_REPOSITORY, strlen(IN_REPOSITORY)) == 0;

		/* In a repository they are looked at with it; without one, the first row occupies its place. */
		if (protect_is_unprotected(p, row->path) || (in_repository && p->roots[PROTECT_REPOSITORY].fd >= 0) ||
		    row->stand_in == PROTECTED_EACH)
			continue;
		int r = protect_path(p, PROTECT_WORKSPACE, row->path, row->stand_in);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Rules that look at the workspace as its own repository, or at what the caller added. */
static int look_at_workspace(struct protect *p)
{
	p->roots[PROTECT_REPOSITORY].fd = fd_close(p->roots[PROTECT_REPOSITORY].fd); /* of a first look */
	p->repository_path = NULL;
	int r = protect_is_unprotected(p, REPOSITORY) ? 0 : find_repository(p);

	if (r < 0)
		return r;
	if (p->roots[PROTECT_REPOSITORY].fd >= 0 && (r = protect_look_at_repository(p)) < 0)
		return r;
	if ((r = look_at_rows(p)) < 0)
		return r;
	for (size_t i = 0; i < p->spec->protect_count; i++) {
		r = protect_path(p, PROTECT_WORKSPACE, p->spec->protect[i], PROTECTED_FOLDER);
		if (r < 0)
			return r;
	}
	return p->error;
}

static int explain(int r, const char *host, struct err *err)
{
	if (r == -E2BIG)
		return err_set(err, ERR_USAGE, E2BIG, "'%s' has more protected paths than the %d that are possible. Look for long chains of symbolic links at "
			       "protected names (find -type l) and remove them, or give fewer of --protect", host, MOUNTPLAN_PROTECTED_MAX);
	return err_set(err, ERR_SYSTEM, -r, "the protected paths of '%s' cannot be looked at: %m. --unprotect takes paths out, or all", host);
}

/*
 * Looks with @look_at. Where there are more protected paths than are possible, since there are many repositories in the repository, and an
 * agent can make as many as it likes, all that holds them is read-only, instead of their settings and hooks.
 */
static int look(struct protect *p, int (*look_at)(struct protect *p))
{
	const size_t count = p->count, to_occupy = p->to_occupy, text_len = p->text_len, warnings_len = p->warnings.len;
	int r = look_at(p);

	while (r == -E2BIG && p->whole < 2) {
		p->whole++;
		p->count = count;
		p->to_occupy = to_occupy;
		p->text_len = text_len;
		p->folders = 0;
		p->error = 0;
		buf_truncate(&p->warnings, warnings_len);
		r = look_at(p);
	}
	return r;
}

int protect_workspace(struct protect *p, int fd, const char *host, struct err *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int r = copy < 0 ? -errno : remember_folder(&p->roots[PROTECT_WORKSPACE], copy, protect_text(p, "%s", host), SPEC_WORKSPACE + 1);

	if (r == 0)
		r = look(p, look_at_workspace);
	return r < 0 ? explain(r, host, err) : 0;
}

int protect_repository(struct protect *p, int fd, const char *host, struct err *err)
{
	int r = remember_repository(p, fd, host);

	if (r == 0)
		r = look(p, protect_look_at_repository);
	return r < 0 ? explain(r, host, err) : 0;
}
