/*
 * Stand-ins and their records: see placeholder.h. Runs in the launcher, the janitor and the supervisor, as the owner of the
 * workspace, and in `cloche gc`.
 *
 * A record may be cut off at its end when its writer was killed; an entry is complete or not there. It is written before what it
 * lists is made, so that nothing is made that is not listed.
 */
#include "runtime/life/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/spec/spec.h"

enum {
	LOCK_CHANGE = 0, /* bytes of a record, for locks only */
	LOCK_LIFE = 1,
	LOCK_STEP_MS = 2,
	LOCK_STEPS = 5000, /* then somebody was stopped while he held it */
	OPEN_TRIES = 16,
	RECORDS_MAX = 4096, /* that a sweep looks at */
	FOLDER_MODE = 0755,
	FILE_MODE = 0644,
};

static const char here[] = ".\n"; /* what PROTECTED_HERE holds */
static const char magic[8] = "cloche1\n";

/* How a record begins; the folder's path follows. */
struct record_head {
	char magic[sizeof(magic)];
	uint64_t inode;
	uint32_t host_len;
	uint32_t reserved;
};

/* One stand-in; its path follows. */
struct record_entry {
	uint64_t inode; /* 0 while it is being made */
	uint32_t kind; /* enum entry_kind */
	uint32_t path_len;
};

enum entry_kind { ENTRY_FOLDER, ENTRY_FILE, ENTRY_HERE };

static enum entry_kind kind_of(enum protected_stand_in stand_in)
{
	return stand_in == PROTECTED_HERE ? ENTRY_HERE : stand_in == PROTECTED_FILE ? ENTRY_FILE : ENTRY_FOLDER;
}

/* --- locks ------------------------------------------------------------------------------------------------------------- */

static int try_lock(int fd, off_t byte, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* Waits for the right to change a record, but not for ever. */
static int lock_for_change(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_STEP_MS * 1000000L };

	for (int i = 0; i < LOCK_STEPS; i++) {
		int r = try_lock(fd, LOCK_CHANGE, F_WRLCK);
		if (r != -EAGAIN && r != -EACCES)
			return r;
		(void) nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static void record_name(dev_t device, ino_t inode, char *ret, size_t cap)
{
	(void) snprintf(ret, cap, "%jx-%jx", (uintmax_t) device, (uintmax_t) inode);
}

/* Opens the record @name for changes. One that was removed between the opening and the lock is opened anew. */
static int open_record(int state_fd, const char *name, bool make)
{
	struct stat st;

	for (int i = 0; i < OPEN_TRIES; i++) {
		_cleanup_fd_ int fd = openat(state_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
		if (fd < 0)
			return -errno;
		int r = lock_for_change(fd);
		if (r < 0)
			return r;
		if (fstat(fd, &st) < 0)
			return -errno;
		if (st.st_nlink > 0)
			return TAKE_FD(fd);
	}
	return -EBUSY;
}

/* --- one stand-in ------------------------------------------------------------------------------------------------------ */

/* A descriptor that is borrowed or owned. */
struct parent {
	int fd;
	int owned;
};

static void close_parent(struct parent *parent)
{
	parent->owned = fd_close(parent->owned);
}

#define _cleanup_parent_ _cleanup_(close_parent)

/* Opens the folder that @path lies in, below @folder_fd and through no link; *@ret_name is its last component. @fd may be -errno. */
static struct parent open_parent(int folder_fd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[SPEC_PATH_MAX];

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return (struct parent) { folder_fd, -EBADF };
	if ((size_t) (slash - path) >= sizeof(parent))
		return (struct parent) { -ENAMETOOLONG, -EBADF };
	(void) snprintf(parent, sizeof(parent), "%.*s", (int) (slash - path), path);
	int fd = sysx_openat2(folder_fd, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return fd < 0 ? (struct parent) { -errno, -EBADF } : (struct parent) { fd, fd };
}

static void throw_away(struct placeholder_trash *trash, int fd)
{
	if (trash->count < ARRAY_LEN(trash->fds))
		trash->fds[trash->count++] = fd;
	else
		(void) fd_close(fd);
}

bool placeholder_is_untouched(int dir_fd, const char *name, const struct stat *st, enum protected_stand_in stand_in)
{
	char text[sizeof(here)];
	struct stat now;

	if (!S_ISREG(st->st_mode) || st->st_size == 0 || stand_in != PROTECTED_HERE)
		return S_ISREG(st->st_mode) && st->st_size == 0;
	_cleanup_fd_ int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &now) < 0)
		return fd < 0 && errno == ENOENT;
	if (now.st_ino != st->st_ino || now.st_dev != st->st_dev)
		return false;
	ssize_t n = read(fd, text, sizeof(text));
	return n >= 0 && (size_t) n < sizeof(here) && memcmp(text, here, (size_t) n) == 0;
}

/*
 * Removes @path if it still is the object that was made, and nothing came into it. For a folder the kernel makes sure of that. A file
 * that somebody outside fills in the same moment is lost with what he wrote; in a repository nobody but git writes such names.
 */
static void remove_one(int folder_fd, const char *path, enum entry_kind kind, ino_t inode, struct placeholder_trash *trash)
{
	struct stat st;
	const char *name;
	_cleanup_parent_ struct parent parent = open_parent(folder_fd, path, &name);

	if (parent.fd < 0)
		return;
	/* Nobody but its owner can have closed a folder of ours to us: then it is no longer the object that was made. */
	int flags = kind == ENTRY_FOLDER ? O_RDONLY | O_DIRECTORY : O_PATH;
	_cleanup_fd_ int fd = openat(parent.fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || (inode && st.st_ino != inode) ||
	    (kind == ENTRY_FOLDER ? !S_ISDIR(st.st_mode)
				  : !placeholder_is_untouched(parent.fd, name, &st, kind == ENTRY_HERE ? PROTECTED_HERE : PROTECTED_FILE)))
		return;
	if (kind == ENTRY_FOLDER && trash->spare && spare_give(trash->spare, fd, parent.fd, name))
		return;
	if (unlinkat(parent.fd, name, kind == ENTRY_FOLDER ? AT_REMOVEDIR : 0) == 0)
		throw_away(trash, TAKE_FD(fd));
}

/* Makes a file, with what belongs into it. 0 or -errno, and then there is none. */
static int make_file(int dir_fd, const char *name, enum protected_stand_in stand_in, ino_t *ret_inode)
{
	_cleanup_fd_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	struct stat st;

	if (fd < 0)
		return -errno;
	int r = stand_in == PROTECTED_HERE ? fd_write_all(fd, here, sizeof(here) - 1) : 0;
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0)
		*ret_inode = st.st_ino;
	else
		(void) unlinkat(dir_fd, name, 0); /* git stops at an empty commondir */
	return r;
}

/* Makes one stand-in. 1 when it was made, 0 when something is there or nobody inside could make it either, or -errno. */
static int make_one(const struct placeholder_folder *folder, struct placeholder *p, struct spare *spare)
{
	struct stat st;
	const char *name;
	_cleanup_parent_ struct parent parent = open_parent(folder->fd, p->path, &name);

	if (parent.fd < 0)
		return parent.fd == -EACCES ? -EACCES : -ESTALE;
	if (p->stand_in == PROTECTED_FILE || p->stand_in == PROTECTED_HERE) {
		int r = make_file(parent.fd, name, p->stand_in, &p->inode);
		if (r >= 0)
			return 1;
		errno = -r;
	} else if ((p->inode = spare_take(spare, folder->device, parent.fd, name)) > 0) {
		return 1;
	} else if (mkdirat(parent.fd, name, FOLDER_MODE) == 0) {
		return fstatat(parent.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : (p->inode = st.st_ino, 1);
	}
	if (errno == EEXIST)
		return 0;
	int errnum = errno;
	/* The sandbox has the same rights. But whoever owns a folder can give himself the right to write to it. */
	p->is_skipped = errnum == EROFS || errnum == EPERM ||
			(errnum == EACCES && fstat(parent.fd, &st) == 0 && st.st_uid != geteuid());
	return p->is_skipped ? 0 : -errnum;
}

/* --- records ----------------------------------------------------------------------------------------------------------- */

static int read_record(int fd, struct buf *ret)
{
	for (;;) {
		char *to = buf_reserve(ret, 4096);
		if (!to)
			return buf_error(ret);
		ssize_t n = pread(fd, to, 4096, (off_t) ret->len);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		ret->len += (size_t) n;
	}
}

/* Reads how a record begins. The number of bytes, or 0 when it is none. @ret_host is SPEC_PATH_MAX bytes. */
static size_t read_head(const struct buf *record, struct record_head *ret, char *ret_host)
{
	if (record->len < sizeof(*ret))
		return 0;
	memcpy(ret, record->p, sizeof(*ret));
	if (memcmp(ret->magic, magic, sizeof(magic)) != 0 || ret->host_len >= SPEC_PATH_MAX ||
	    record->len < sizeof(*ret) + ret->host_len)
		return 0;
	memcpy(ret_host, record->p + sizeof(*ret), ret->host_len);
	ret_host[ret->host_len] = '\0';
	return sizeof(*ret) + ret->host_len;
}

/* Reads the entry at *@at and goes on to the next. False at the end. */
static bool next_entry(const struct buf *record, size_t *at, struct record_entry *ret, char path[static SPEC_PATH_MAX])
{
	if (record->len - *at < sizeof(*ret))
		return false;
	memcpy(ret, record->p + *at, sizeof(*ret));
	if (ret->path_len >= SPEC_PATH_MAX || record->len - *at - sizeof(*ret) < ret->path_len)
		return false;
	memcpy(path, record->p + *at + sizeof(*ret), ret->path_len);
	path[ret->path_len] = '\0';
	*at += sizeof(*ret) + ret->path_len;
	return true;
}

/* Removes what @record lists from the folder @folder_fd. Nothing in a list lies below another entry of it. */
static void remove_listed(int folder_fd, const struct buf *record, size_t at, struct placeholder_trash *trash)
{
	struct record_entry entry;
	char path[SPEC_PATH_MAX];

	while (next_entry(record, &at, &entry, path))
		remove_one(folder_fd, path, entry.kind, (ino_t) entry.inode, trash);
}

static int write_all_at(int fd, const void *data, size_t len, off_t at)
{
	ssize_t n = pwrite(fd, data, len, at);

	if (n < 0)
		return -errno;
	return (size_t) n == len ? 0 : -ENOSPC;
}

/* Begins the record anew, with no entry. */
static int write_head(const struct placeholder_folder *folder)
{
	_cleanup_buf_ struct buf b = BUF_INIT(PLACEHOLDER_RECORD_MAX);
	struct record_head head = { .inode = folder->inode, .host_len = (uint32_t) strlen(folder->host) };

	memcpy(head.magic, magic, sizeof(magic));
	buf_add(&b, &head, sizeof(head));
	buf_add_str(&b, folder->host);
	if (buf_error(&b))
		return buf_error(&b);
	return ftruncate(folder->record, 0) < 0 ? -errno : write_all_at(folder->record, b.p, b.len, 0);
}

/*
 * Writes entries from @at of the record to its end: of what is about to be made, with @made of what was. What was there before us is in
 * no list: it may be of the caller's own making.
 */
static int write_entries(const struct placeholder_folder *folder, size_t index, const struct placeholder *p, size_t count, off_t at,
			 bool made)
{
	_cleanup_buf_ struct buf b = BUF_INIT(PLACEHOLDER_RECORD_MAX);

	for (size_t i = 0; i < count; i++) {
		if (p[i].folder != index || (made ? p[i].inode == 0 : p[i].was_there))
			continue;
		struct record_entry entry = { .inode = p[i].inode, .kind = (uint32_t) kind_of(p[i].stand_in),
					      .path_len = (uint32_t) strlen(p[i].path) };
		buf_add(&b, &entry, sizeof(entry));
		buf_add_str(&b, p[i].path);
	}
	int r = buf_error(&b) ? buf_error(&b) : b.len == 0 ? 0 : write_all_at(folder->record, b.p, b.len, at);
	if (r == 0 && made && ftruncate(folder->record, at + (off_t) b.len) < 0)
		r = -errno;
	return r;
}

int placeholder_join(struct placeholder_folder *folder, int state_fd)
{
	_cleanup_buf_ struct buf record = BUF_INIT(PLACEHOLDER_RECORD_MAX);
	struct placeholder_trash trash = { .count = 0 };
	char name[64], host[SPEC_PATH_MAX];
	struct record_head head;

	folder->record = -EBADF;
	folder->state_fd = state_fd;
	if (state_fd < 0)
		return 0;
	record_name(folder->device, folder->inode, name, sizeof(name));
	_cleanup_fd_ int fd = open_record(state_fd, name, true);
	if (fd < 0)
		return fd;
	int r = read_record(fd, &record);
	if (r < 0)
		return r;
	size_t at = read_head(&record, &head, host);
	folder->record = fd;
	if (try_lock(fd, LOCK_LIFE, F_WRLCK) == 0) {
		if (at > 0 && head.inode == folder->inode)
			remove_listed(folder->fd, &record, at, &trash);
		r = write_head(folder);
		placeholder_discard(&trash);
	}
	if (r == 0)
		r = try_lock(fd, LOCK_LIFE, F_RDLCK);
	folder->record = r == 0 ? TAKE_FD(fd) : -EBADF;
	return r;
}

/* Those that are free, one by one. What is there already stays what it is. */
static int make_listed(const struct placeholder_folder *folder, size_t index, struct placeholder *wanted, size_t count,
		       size_t *ret_failed)
{
	_cleanup_spare_ struct spare spare;

	spare_open(&spare, folder->state_fd);
	for (size_t i = 0; i < count; i++) {
		if (wanted[i].folder != index)
			continue;
		int r = make_one(folder, &wanted[i], &spare);
		if (r < 0) {
			*ret_failed = i;
			return r;
		}
	}
	return 0;
}

int placeholder_make(struct placeholder_folder *folder, size_t index, struct placeholder *wanted, size_t count, size_t *ret_failed)
{
	struct stat st;

	if (folder->record < 0)
		return make_listed(folder, index, wanted, count, ret_failed);
	if (fstat(folder->record, &st) < 0)
		return -errno;
	int r = write_entries(folder, index, wanted, count, st.st_size, false);
	if (r == 0)
		r = make_listed(folder, index, wanted, count, ret_failed);
	int written = write_entries(folder, index, wanted, count, st.st_size, true);
	(void) try_lock(folder->record, LOCK_CHANGE, F_UNLCK);
	return r < 0 ? r : written;
}

/*
 * An object is freed when its last name and its last open descriptor are gone, and by whoever closes that. For a folder this takes some
 * file systems many times as long as removing its name (ext4 with the option discard waits for the disk). An io_uring that
 * holds descriptors closes them in a process of the kernel's; where there is none, or it may not be used, we do.
 */
void placeholder_discard(struct placeholder_trash *trash)
{
	struct io_uring_params params = { .flags = 0 };
	_cleanup_fd_ int ring = trash->count ? sysx_io_uring_setup(1, &params) : -EBADF;

	if (ring >= 0)
		(void) sysx_io_uring_register(ring, IORING_REGISTER_FILES, trash->fds, (unsigned int) trash->count);
	for (size_t i = 0; i < trash->count; i++)
		(void) fd_close(trash->fds[i]);
	trash->count = 0;
}

/* Removes what the locked @record lists, then the record itself. */
static void clear_record(int record_fd, int folder_fd, int state_fd, const char *name, struct placeholder_trash *trash)
{
	_cleanup_buf_ struct buf record = BUF_INIT(PLACEHOLDER_RECORD_MAX);
	char host[SPEC_PATH_MAX];
	struct record_head head;

	size_t at = read_record(record_fd, &record) < 0 ? 0 : read_head(&record, &head, host);
	if (at > 0)
		remove_listed(folder_fd, &record, at, trash);
	/* Where it cannot be removed, it is swept another time. */
	int copy = unlinkat(state_fd, name, 0) < 0 ? -EBADF : fcntl(record_fd, F_DUPFD_CLOEXEC, 0);
	if (copy >= 0)
		throw_away(trash, copy);
}

void placeholder_leave(struct placeholder_folder *folder, size_t index, int state_fd, const struct placeholder *made, size_t count,
		       struct placeholder_trash *trash)
{
	_cleanup_spare_ struct spare spare;
	struct stat st;
	char name[64];

	spare_open(&spare, state_fd);
	trash->spare = &spare;
	if (folder->record < 0) {
		for (size_t i = 0; i < count; i++)
			if (made[i].folder == index && made[i].inode)
				remove_one(folder->fd, made[i].path, kind_of(made[i].stand_in), made[i].inode, trash);
		trash->spare = NULL;
		return;
	}
	/* Somebody who was stopped in the middle of a change: then whoever comes next removes everything. */
	if (lock_for_change(folder->record) == 0 && fstat(folder->record, &st) == 0 && st.st_nlink > 0 &&
	    try_lock(folder->record, LOCK_LIFE, F_WRLCK) == 0) {
		record_name(folder->device, folder->inode, name, sizeof(name));
		clear_record(folder->record, folder->fd, state_fd, name, trash);
	}
	(void) try_lock(folder->record, LOCK_LIFE, F_UNLCK);
	(void) try_lock(folder->record, LOCK_CHANGE, F_UNLCK);
	folder->record = fd_close(folder->record);
	trash->spare = NULL;
}

/* --- sweeping ---------------------------------------------------------------------------------------------------------- */

/* The folder of a record, still the same one at its path. Descriptor or -errno. */
static int open_folder(const struct record_head *head, const char *host)
{
	struct stat st;
	_cleanup_fd_ int fd = sysx_openat2(AT_FDCWD, host, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_ino == head->inode ? TAKE_FD(fd) : -ESTALE;
}

/* 1 when @name is the record of no living sandbox, which is swept unless @dry_run; else 0. */
static int sweep_record(int state_fd, const char *name, bool dry_run)
{
	_cleanup_buf_ struct buf record = BUF_INIT(PLACEHOLDER_RECORD_MAX);
	struct placeholder_trash trash = { .count = 0 };
	struct record_head head;
	char host[SPEC_PATH_MAX];
	_cleanup_fd_ int fd = open_record(state_fd, name, false);

	if (fd < 0 || try_lock(fd, LOCK_LIFE, F_WRLCK) < 0)
		return 0;
	if (dry_run)
		return 1;
	size_t at = read_record(fd, &record) < 0 ? 0 : read_head(&record, &head, host);
	_cleanup_fd_ int folder = at > 0 ? open_folder(&head, host) : -EBADF;
	if (folder >= 0)
		remove_listed(folder, &record, at, &trash);
	(void) unlinkat(state_fd, name, 0);
	placeholder_discard(&trash);
	return 1;
}

static bool is_record_name(const char *name)
{
	return name[0] != '\0' && name[strspn(name, "0123456789abcdef-")] == '\0';
}

int placeholder_sweep(int state_fd, bool dry_run)
{
	_cleanup_list_ DIR *list = fd_list(state_fd);
	const struct dirent *e;
	int found = 0;

	if (!list)
		return -errno;
	for (size_t n = 0; n < RECORDS_MAX && (e = readdir(list)); n++)
		if (is_record_name(e->d_name))
			found += sweep_record(state_fd, e->d_name, dry_run);
	if (!dry_run)
		spare_clear(state_fd);
	return found;
}
