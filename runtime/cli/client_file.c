/*
 * A file of another program that is changed as a whole: see client_file.h. Runs on the host as the invoking user, who is the owner of
 * these files; what is in them is not looked into here.
 */
#include "runtime/cli/client_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/base/sysx.h"
#include "runtime/base/utf8.h"
#include "runtime/life/workspace.h"

enum { MODE_SHARED = 0666, MODE_PRIVATE = 0600, MODE_KEPT = 0777 };

/* --- finding it -------------------------------------------------------------------------------------------------------- */

static int refuse_link(const char *path, struct err *err)
{
	char *real = realpath(path, NULL);

	(void) err_set(err, ERR_USAGE, ELOOP, "'%s' is, or is reached through, a symbolic link, which is not followed here. It leads to '%s': "
		       "if that is the file you mean, name it with --client-file", path, real ? real : "nowhere");
	free(real);
	return -ELOOP;
}

/* Fills the path that people read. */
static int settle_shown(struct client_file *f, struct err *err)
{
	char folder[SPEC_PATH_MAX];
	int r = workspace_path_of(f->dir_fd, folder);

	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the folder of '%s' has no usable path: %m", f->name);
	(void) snprintf(f->shown, sizeof(f->shown), "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, f->name);
	_cleanup_buf_ struct buf printable = BUF_INIT(3 * sizeof(f->shown));
	utf8_add_printable(&printable, f->shown, strlen(f->shown));
	if (strcmp(buf_cstr(&printable), f->shown) != 0)
		return err_set(err, ERR_USAGE, EINVAL, "'%s' has characters in its path that no terminal shows, so that how to undo the change could "
			       "not be told: name another file with --client-file", f->shown);
	return 0;
}

/*
 * What root makes in somebody's folder is to be that somebody's, who could not use it else: from here to act_as_self() files are made
 * as by the owner of the folder.
 */
static void act_as_owner(int dir_fd)
{
	struct stat st;

	if (geteuid() != 0 || fstat(dir_fd, &st) < 0)
		return;
	(void) setfsgid(st.st_gid);
	(void) setfsuid(st.st_uid);
}

static void act_as_self(void)
{
	(void) setfsuid(geteuid());
	(void) setfsgid(getegid());
}

/* Opens the folder @name below @dir_fd, and makes it when it is not there. Descriptor or -errno. */
static int step_into(int dir_fd, const char *name, bool shared)
{
	const uint64_t flags = O_PATH | O_DIRECTORY | O_CLOEXEC, resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
	int fd = sysx_openat2(dir_fd, name, flags, 0, resolve);

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	act_as_owner(dir_fd);
	int r = mkdirat(dir_fd, name, shared ? 0777 : 0700) < 0 && errno != EEXIST ? -errno : 0;
	act_as_self();
	if (r < 0)
		return r;
	fd = sysx_openat2(dir_fd, name, flags, 0, resolve);
	return fd < 0 ? -errno : fd;
}

int client_file_open(const struct client_place_found *place, struct client_file *ret, struct err *err)
{
	char path[sizeof(place->file)], whole[SPEC_PATH_MAX + sizeof(place->file)];
	char *name = path, *slash;

	ret->shared = place->shared;
	ret->dir_fd = open(place->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->dir_fd < 0)
		return err_set(err, ERR_USAGE, errno, "the folder '%s', for '%s', cannot be opened: %m", place->base, place->file);
	memcpy(path, place->file, sizeof(path));
	for (; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
		*slash = '\0';
		int fd = step_into(ret->dir_fd, name, place->shared);
		(void) snprintf(whole, sizeof(whole), "%s/%.*s", place->base, (int) (slash - path), place->file);
		if (fd == -ELOOP)
			return refuse_link(whole, err);
		if (fd < 0)
			return err_set(err, ERR_USAGE, -fd, "the folder '%s' cannot be opened or made: %m", whole);
		(void) fd_close(ret->dir_fd);
		ret->dir_fd = fd;
	}
	(void) snprintf(ret->name, sizeof(ret->name), "%s", name);
	return settle_shown(ret, err);
}

int client_file_open_named(const char *path, struct client_file *ret, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[SPEC_PATH_MAX];
	size_t len = slash ? (size_t) (slash - path) : 0;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(err, ERR_USAGE, EISDIR, "--client-file '%s' names a folder: name the file in it", path);
	if (strlen(name) >= sizeof(ret->name) - 40 || len >= sizeof(folder))
		return err_set(err, ERR_USAGE, ENAMETOOLONG, "--client-file '%.200s...' is too long", path);
	(void) snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : slash ? (int) len : 1, slash ? path : ".");
	(void) snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->dir_fd = sysx_openat2(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);
	if (ret->dir_fd < 0 && errno == ELOOP)
		return refuse_link(folder, err);
	if (ret->dir_fd < 0)
		return err_set(err, ERR_USAGE, errno, "--client-file '%s': its folder cannot be opened: %m", path);
	return settle_shown(ret, err);
}

/* --- reading ----------------------------------------------------------------------------------------------------------- */

static int check_kind(const struct client_file *f, struct err *err)
{
	if (S_ISLNK(f->st.st_mode))
		return refuse_link(f->shown, err);
	if (S_ISDIR(f->st.st_mode))
		return err_set(err, ERR_USAGE, EISDIR, "'%s' is a folder, not a file. A running sandbox keeps such names occupied in its "
			       "workspace: if it is that (cloche ps), end it and try again", f->shown);
	if (!S_ISREG(f->st.st_mode))
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is not a regular file", f->shown);
	if (f->st.st_size > CLIENT_FILE_BYTES_MAX)
		return err_set(err, ERR_USAGE, EFBIG, "'%s' is larger than %d bytes", f->shown, CLIENT_FILE_BYTES_MAX);
	return 0;
}

int client_file_read(struct client_file *f, struct buf *text, struct err *err)
{
	if (fstatat(f->dir_fd, f->name, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_set(err, ERR_USAGE, errno, "'%s' cannot be examined: %m", f->shown);
	int r = check_kind(f, err);
	if (r < 0)
		return r;
	_cleanup_fd_ int fd = openat(f->dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &f->st) < 0)
		return err_set(err, ERR_USAGE, errno, "'%s' cannot be read: %m", f->shown);
	r = check_kind(f, err);
	if (r < 0)
		return r;
	if (faccessat(f->dir_fd, f->name, W_OK, AT_EACCESS) < 0)
		return err_set(err, ERR_USAGE, errno, "'%s' may not be written: %m", f->shown);
	r = buf_read_fd(text, fd);
	if (r < 0)
		return err_set(err, ERR_USAGE, -r, "'%s' cannot be read: %m", f->shown);
	f->exists = true;
	return 0;
}

/* --- writing ----------------------------------------------------------------------------------------------------------- */

/* Makes the file @name with @data in it, with the mode and owner of the old one, through to the disk. 0 or -errno; then it is not there. */
static int make(const struct client_file *f, const char *name, const char *data, size_t len)
{
	mode_t mode = f->exists ? 0600 : f->shared ? MODE_SHARED : MODE_PRIVATE;

	if (!f->exists)
		act_as_owner(f->dir_fd);
	_cleanup_fd_ int fd = openat(f->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int r = fd < 0 ? -errno : 0;
	act_as_self();
	if (fd < 0)
		return r;
	/* An owner that cannot be given is the caller, as with any editor. */
	if (f->exists && (f->st.st_uid != geteuid() || f->st.st_gid != getegid()) && fchown(fd, f->st.st_uid, f->st.st_gid) < 0 &&
	    errno != EPERM && errno != EINVAL)
		r = -errno;
	if (r == 0 && f->exists && fchmod(fd, f->st.st_mode & MODE_KEPT) < 0)
		r = -errno;
	if (r == 0)
		r = fd_write_all(fd, data, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		(void) unlinkat(f->dir_fd, name, 0);
	return r;
}

/* Copies the old file to @name beside it. 0 or -errno. */
static int copy(const struct client_file *f, const char *name)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CLIENT_FILE_BYTES_MAX + 1);
	_cleanup_fd_ int fd = openat(f->dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read_fd(&text, fd);

	return r < 0 ? r : make(f, name, buf_cstr(&text), text.len);
}

/*
 * Gives the old file a second name beside it, the first that is free: so the copy is the file itself, with all that belongs to it, and
 * whole at any moment. Where a file system has no links it is copied. 0 or -errno.
 */
static int back_up(const struct client_file *f, char backup[static CLIENT_FILE_NAME_MAX])
{
	int r = -EEXIST;

	for (int i = 1; r == -EEXIST && i <= CLIENT_FILE_BACKUPS_MAX; i++) {
		(void) snprintf(backup, CLIENT_FILE_NAME_MAX, "%.200s.cloche-%d.bak", f->name, i);
		r = linkat(f->dir_fd, f->name, f->dir_fd, backup, 0) < 0 ? -errno : 0;
		if (r == -EPERM || r == -EOPNOTSUPP || r == -ENOSYS || r == -EMLINK)
			r = copy(f, backup);
	}
	if (r < 0)
		backup[0] = '\0';
	return r == -ENOENT ? -ESTALE : r;
}

/* Whether @name is the file that was read, as it was then. */
static bool is_what_was_read(const struct client_file *f, const char *name)
{
	struct stat now;

	if (fstatat(f->dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && !f->exists;
	return f->exists && now.st_dev == f->st.st_dev && now.st_ino == f->st.st_ino && now.st_size == f->st.st_size &&
	       now.st_mtim.tv_sec == f->st.st_mtim.tv_sec && now.st_mtim.tv_nsec == f->st.st_mtim.tv_nsec;
}

/* Whether a file system does not know what renameat2(2) was asked for. */
static bool cannot_do_that(int error)
{
	return error == EINVAL || error == ENOSYS;
}

/* Lets @temp and the old file change places, and looks at what has come out before it is removed. 0 or -errno. */
static int exchange(const struct client_file *f, const char *temp)
{
	if (sysx_renameat2(f->dir_fd, temp, f->dir_fd, f->name, RENAME_EXCHANGE) < 0) {
		if (!cannot_do_that(errno))
			return errno == ENOENT ? -ESTALE : -errno;
		return renameat(f->dir_fd, temp, f->dir_fd, f->name) < 0 ? -errno : 0;
	}
	if (is_what_was_read(f, temp)) {
		(void) unlinkat(f->dir_fd, temp, 0);
		return 0;
	}
	return sysx_renameat2(f->dir_fd, temp, f->dir_fd, f->name, RENAME_EXCHANGE) < 0 ? -errno : -ESTALE;
}

/* Moves @temp to where no file was. 0 or -errno. */
static int settle(const struct client_file *f, const char *temp)
{
	if (sysx_renameat2(f->dir_fd, temp, f->dir_fd, f->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (!cannot_do_that(errno))
		return errno == EEXIST ? -ESTALE : -errno;
	return renameat(f->dir_fd, temp, f->dir_fd, f->name) < 0 ? -errno : 0;
}

/* Moves @temp to its place, over the old file only. 0 or -errno; then @temp is gone. */
static int replace(const struct client_file *f, const char *temp)
{
	struct stat new, now;
	int r = fstatat(f->dir_fd, temp, &new, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : is_what_was_read(f, f->name) ? 0 : -ESTALE;

	if (r == 0)
		r = f->exists ? exchange(f, temp) : settle(f, temp);
	/* Somebody else's file, which has got that name in an exchange, stays. */
	if (r < 0 && fstatat(f->dir_fd, temp, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == new.st_ino)
		(void) unlinkat(f->dir_fd, temp, 0);
	return r;
}

static int refuse_stale(const struct client_file *f, struct err *err)
{
	return err_set(err, ERR_USAGE, ESTALE, "'%s' was changed by somebody else just now: try again", f->shown);
}

int client_file_write(struct client_file *f, const struct buf *text, char backup[static CLIENT_FILE_NAME_MAX], struct err *err)
{
	char temp[CLIENT_FILE_NAME_MAX];
	uint64_t random;

	backup[0] = '\0';
	if (getrandom(&random, sizeof(random), 0) != (ssize_t) sizeof(random))
		return err_set(err, ERR_SYSTEM, EIO, "the kernel gives no random number: %m");
	(void) snprintf(temp, sizeof(temp), ".%.200s.%016llx", f->name, (unsigned long long) random);
	int r = f->exists ? back_up(f, backup) : 0;
	if (r == -ESTALE)
		return refuse_stale(f, err);
	if (r == -EEXIST)
		return err_set(err, ERR_USAGE, EEXIST, "'%s' has %d copies of itself beside it (.cloche-N.bak): remove some", f->shown,
			       CLIENT_FILE_BACKUPS_MAX);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "a copy of '%s' cannot be made beside it: %m. Nothing was changed", f->shown);
	r = make(f, temp, buf_cstr(text), text->len);
	if (r == 0)
		r = replace(f, temp);
	if (r < 0) {
		if (backup[0])
			(void) unlinkat(f->dir_fd, backup, 0);
		backup[0] = '\0';
		if (r == -ESTALE)
			return refuse_stale(f, err);
		return err_set(err, ERR_SYSTEM, -r, "'%s' cannot be written: %m. Nothing was changed", f->shown);
	}
	_cleanup_fd_ int dir = openat(f->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		(void) fsync(dir); /* the file is in place; only a crash of the machine could still undo that */
	return 0;
}
