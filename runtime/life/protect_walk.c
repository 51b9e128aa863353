/*
 * The way to one path of a workspace: see protect_walk.h. Runs in the launcher; as real root before that gives itself up.
 */
#include "runtime/life/protect_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"

enum { NAME_CAP = 256 };

void protect_walk_done(struct protect_walk *w)
{
	w->at = fd_close(w->at);
	w->fd = fd_close(w->fd);
}

static int push(struct protect_walk *w, const char *name)
{
	int n = snprintf(w->path + w->len, sizeof(w->path) - w->len, "%s%s", w->len ? "/" : "", name);

	if (n < 0 || (size_t) n >= sizeof(w->path) - w->len)
		return -ENAMETOOLONG;
	w->len += (size_t) n;
	return 0;
}

static void pop(struct protect_walk *w)
{
	const char *slash = strrchr(w->path, '/');

	w->len = slash ? (size_t) (slash - w->path) : 0;
	w->path[w->len] = '\0';
}

/* Opens the folder @w->path anew. */
static int reopen(const struct protect *p, struct protect_walk *w)
{
	(void) fd_close(w->at);
	w->at = -EBADF;
	if (w->len > 0)
		w->at = sysx_openat2(p->roots[w->root].fd, w->path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
				     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return w->len > 0 && w->at < 0 ? -errno : 0;
}

/* Puts what the link @w->fd says in front of what is left to do. 1 when it leads out. */
static int follow(struct protect *p, struct protect_walk *w, const char *rest)
{
	const char *host = p->roots[w->root].host;
	char text[SPEC_PATH_MAX], left[sizeof(w->todo)];
	ssize_t len = readlinkat(w->fd, "", text, sizeof(text) - 1);

	if (len < 0)
		return -errno;
	if (len == (ssize_t) sizeof(text) - 1 || ++w->links > PROTECT_LINKS_MAX)
		return 1;
	text[len] = '\0';
	pop(w);
	const char *to = text;
	if (text[0] == '/') {
		/* On the host such a link may lead into the workspace again. */
		if (!protected_is_below(text, host))
			return 1;
		to += strlen(host);
		to += *to == '/';
		w->len = 0;
		w->path[0] = '\0';
		int r = reopen(p, w);
		if (r < 0)
			return r;
	}
	int n = snprintf(left, sizeof(left), "%s/%s", to, rest);
	if (n < 0 || (size_t) n >= sizeof(left))
		return 1;
	memcpy(w->todo, left, (size_t) n + 1);
	return 0;
}

/* Takes the next name off what is left to do. False when there is none. */
static bool next_name(struct protect_walk *w, char *name, size_t cap)
{
	const char *at = w->todo + strspn(w->todo, "/");
	size_t len = strcspn(at, "/");

	if (len == 0 || len >= cap)
		return false;
	memcpy(name, at, len);
	name[len] = '\0';
	at += len;
	at += strspn(at, "/");
	memmove(w->todo, at, strlen(at) + 1);
	return true;
}

bool protect_is_empty_folder(int fd, const struct stat *st)
{
	char entries[512];

	if (st->st_nlink > 2)
		return false;
	_cleanup_fd_ int readable = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (readable < 0)
		return errno == ENOENT;
	for (;;) {
		ssize_t n = syscall(SYS_getdents64, readable, entries, sizeof(entries));
		if (n <= 0)
			return n == 0 || errno == ENOENT;
		for (ssize_t at = 0; at < n;) {
			const struct dirent *e = (const struct dirent *) (const void *) (entries + at);
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				return false;
			at += e->d_reclen;
		}
	}
}

/*
 * The folder @w->path is empty or missing, so that nothing can come into it, and is occupied or protected. When the way leaves it again by
 * "..", true: then @w->todo is what is left of it from the folder around.
 */
static bool leaves_again(struct protect_walk *w)
{
	const char *at = w->todo;

	for (size_t depth = 1; *at;) {
		size_t len = strcspn(at, "/");
		if (len == 2 && strncmp(at, "..", 2) == 0)
			depth--;
		else if (len > 0 && !(len == 1 && at[0] == '.'))
			depth++;
		at += len + strspn(at + len, "/");
		if (depth == 0) {
			memmove(w->todo, at, strlen(at) + 1);
			return true;
		}
	}
	return false;
}

/* Goes on from the folder around one that cannot be entered, which goes on being what it is. */
static int pass_by(struct protect *p, struct protect_walk *w, bool is_there)
{
	protect_add(p, (struct protect_item) { .path = w->path, .root = w->root, .stand_in = PROTECTED_FOLDER, .occupy = true,
					       .is_taken = is_there });
	pop(w);
	return -EAGAIN;
}

/* One name further. A negative errno, or an end, or -EAGAIN to go on. */
static int step(struct protect *p, struct protect_walk *w, const char *name)
{
	if (strcmp(name, ".") == 0)
		return -EAGAIN;
	if (strcmp(name, "..") == 0) {
		if (w->len == 0)
			return WALK_OUTSIDE;
		protect_add_left(p, w->root, w->path);
		pop(w);
		int r = reopen(p, w);
		return r < 0 ? r : -EAGAIN;
	}
	(void) fd_close(w->fd);
	w->fd = openat(w->at < 0 ? p->roots[w->root].fd : w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0 && errno == EACCES && w->len > 0)
		return WALK_BLOCKED; /* its owner can open it again at any time, and that is the agent */
	if (w->fd < 0 && errno != ENOENT)
		return -errno;
	int r = push(w, name);
	if (r < 0)
		return r;
	if (w->fd < 0)
		return leaves_again(w) ? pass_by(p, w, false) : WALK_MISSING;
	if (fstat(w->fd, &w->st) < 0)
		return -errno;
	if (S_ISLNK(w->st.st_mode)) {
		/* The link itself, so that it goes on leading where it leads; then what it leads to. */
		protect_add(p, (struct protect_item) { .path = w->path, .root = w->root, .is_taken = true, .is_link = true });
		r = follow(p, w, w->todo);
		return r < 0 ? r : r ? WALK_OUTSIDE : -EAGAIN;
	}
	/* An empty folder may be the stand-in for all that could be in it. */
	if (!w->todo[0])
		return WALK_FOUND;
	if (S_ISDIR(w->st.st_mode) && protect_is_empty_folder(w->fd, &w->st))
		return leaves_again(w) ? pass_by(p, w, true) : WALK_FOUND;
	if (!S_ISDIR(w->st.st_mode))
		return WALK_BLOCKED;
	(void) fd_close(w->at);
	w->at = TAKE_FD(w->fd);
	return -EAGAIN;
}

int protect_walk(struct protect *p, struct protect_walk *w, enum protect_root root, const char *path)
{
	char name[NAME_CAP];

	*w = (struct protect_walk) { .root = root, .at = -EBADF, .fd = -EBADF };
	int n = snprintf(w->todo, sizeof(w->todo), "%s", path);
	if (n < 0 || (size_t) n >= sizeof(w->todo))
		return -ENAMETOOLONG;
	int r;
	while (next_name(w, name, sizeof(name))) {
		r = step(p, w, name);
		if (r != -EAGAIN)
			return r;
	}
	/* A name that no folder can have, or the end of a link was "." or "..": the folder that was reached. */
	if (w->todo[0] || w->len == 0)
		return WALK_OUTSIDE;
	(void) fd_close(w->fd);
	w->fd = TAKE_FD(w->at);
	return fstat(w->fd, &w->st) < 0 ? -errno : WALK_FOUND;
}
