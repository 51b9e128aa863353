/*
 * The entries of one directory: see dirlist.h. Runs in cloche-mcp, on a worker thread, without any capability.
 */
#include "mcp/dirlist.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "mcp/atomic.h"
#include "mcp/ws.h"
#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/spec/protected.h"

enum { DIRLIST_CANCEL_STEP = 256 }; /* entries between two looks at the flag */

static enum dirlist_kind kind_of(int dir_fd, const struct dirent *e)
{
	struct stat st;

	switch (e->d_type) {
	case DT_REG:
		return DIRLIST_FILE;
	case DT_DIR:
		return DIRLIST_DIR;
	case DT_LNK:
		return DIRLIST_LINK;
	case DT_UNKNOWN:
		break;
	default:
		return DIRLIST_OTHER;
	}
	/* Some file systems do not tell with the name. */
	if (fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DIRLIST_OTHER;
	if (S_ISDIR(st.st_mode))
		return DIRLIST_DIR;
	if (S_ISLNK(st.st_mode))
		return DIRLIST_LINK;
	return S_ISREG(st.st_mode) ? DIRLIST_FILE : DIRLIST_OTHER;
}

/* Whether the folder @fd (consumed) has no entries. */
static bool is_empty(int fd)
{
	_cleanup_list_ DIR *dir = fdopendir(fd);
	const struct dirent *e;

	if (!dir)
		(void) fd_close(fd);
	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			return false;
	return dir != NULL;
}

/*
 * An empty folder that occupies a protected name while the sandbox runs (runtime/spec/protected.h): in truth there is nothing. It
 * is known by being a mount point of its own.
 */
static bool is_stand_in(int dir_fd, const struct dirent *e)
{
	struct statx stx;

	if (e->d_name[0] != '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) || !protected_find(e->d_name) ||
	    statx(dir_fd, e->d_name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &stx) < 0 || !S_ISDIR(stx.stx_mode) ||
	    !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return false;
	int fd = openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && is_empty(fd);
}

/* Appends one byte for the kind and the NUL-terminated name of each entry to @names. */
static int collect(DIR *dir, struct buf *names, size_t *ret_count, bool *ret_cut, const atomic_bool *cancelled)
{
	size_t seen = 0;

	for (;;) {
		errno = 0;
		const struct dirent *e = readdir(dir);
		if (!e)
			return -errno;
		if (++seen % DIRLIST_CANCEL_STEP == 0 && cancelled && atomic_load(cancelled))
			return -ECANCELED;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (ws_is_hidden_name(e->d_name)) {
			atomic_remove_stale(dirfd(dir), e->d_name);
			continue;
		}
		if (is_stand_in(dirfd(dir), e))
			continue;
		size_t before = names->len;
		buf_add_char(names, (char) kind_of(dirfd(dir), e));
		buf_add(names, e->d_name, strlen(e->d_name) + 1);
		if (buf_error(names) == -E2BIG) {
			buf_truncate(names, before);
			*ret_cut = true;
			return 0;
		}
		if (buf_error(names))
			return buf_error(names);
		(*ret_count)++;
	}
}

static int by_name(const void *a, const void *b)
{
	const struct dirlist_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* What follows a name in a path sorts with it: "a-b" comes before "a/c", which comes before "a0". */
static int by_path(const void *a, const void *b)
{
	const struct dirlist_entry *x = a, *y = b;
	const unsigned char *p = (const unsigned char *) x->name, *q = (const unsigned char *) y->name;

	while (*p && *p == *q) {
		p++;
		q++;
	}
	int c = *p ? *p : x->kind == DIRLIST_DIR ? '/' : 0;
	int d = *q ? *q : y->kind == DIRLIST_DIR ? '/' : 0;
	return c - d;
}

int dirlist_read(struct dirlist *d, int fd, bool as_paths, const atomic_bool *cancelled)
{
	_cleanup_buf_ struct buf names = BUF_INIT(DIRLIST_BYTES_MAX);
	_cleanup_list_ DIR *dir = fdopendir(fd);
	size_t count = 0;

	*d = (struct dirlist) { .entry = NULL };
	if (!dir) {
		int r = -errno;
		(void) fd_close(fd);
		return r;
	}
	int r = collect(dir, &names, &count, &d->cut, cancelled);
	if (r < 0)
		return r;
	if (count == 0)
		return 0;
	d->entry = calloc(count, sizeof(d->entry[0]));
	names.error = 0; /* the cap was reached: what fits is good */
	d->names = buf_take(&names, NULL);
	if (!d->entry || !d->names)
		return -ENOMEM;
	const char *p = d->names;
	for (size_t i = 0; i < count; i++) {
		d->entry[i].kind = (enum dirlist_kind) *p;
		d->entry[i].name = p + 1;
		p += strlen(p + 1) + 2;
	}
	d->count = count;
	qsort(d->entry, count, sizeof(d->entry[0]), as_paths ? by_path : by_name);
	return 0;
}

void dirlist_done(struct dirlist *d)
{
	free(d->entry);
	free(d->names);
	*d = (struct dirlist) { .entry = NULL };
}
