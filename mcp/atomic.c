/*
 * Replacing a file at once: see atomic.h. Runs in cloche-mcp, on a worker thread, without any capability.
 *
 * To replace, a nameless file first gets a random temporary name (linkat(2) cannot replace) and is renamed at once. To
 * create, it is linked to its final name, which fails when that is taken.
 */
#include "mcp/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"

enum {
	TEMP_TRIES = 16,
	TEMP_DIGITS = 16,
	TEMP_NAME_MAX = 40,
	TEMP_STALE_S = 600, /* far longer than any write takes */
	KEPT_MODE = 0777, /* of the old file's permissions: no set-user-ID, set-group-ID or sticky bit on new content */
};

static const char temp_prefix[] = ".cloche-tmp-";

static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER; /* held while a temporary name exists */

bool atomic_is_temp_name(const char *name)
{
	size_t prefix = sizeof(temp_prefix) - 1;

	return strncmp(name, temp_prefix, prefix) == 0 && strlen(name + prefix) == TEMP_DIGITS &&
	       strspn(name + prefix, "0123456789abcdef") == TEMP_DIGITS;
}

void atomic_remove_stale(int dir_fd, const char *name)
{
	struct stat st;
	struct timespec now;

	if (!atomic_is_temp_name(name) || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_ctim.tv_sec + TEMP_STALE_S < now.tv_sec)
		(void) unlinkat(dir_fd, name, 0);
}

static int temp_name(char name[static TEMP_NAME_MAX])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t) sizeof(random))
		return -EIO;
	(void) snprintf(name, TEMP_NAME_MAX, "%s%016llx", temp_prefix, (unsigned long long) random);
	return 0;
}

/* Writes content and permissions through to the disk. 0 or -errno. */
static int fill(int fd, const void *data, size_t len, const struct stat *old)
{
	int r = fd_write_all(fd, data, len);

	if (r < 0)
		return r;
	if (old) {
		struct stat st;
		if (fstat(fd, &st) < 0)
			return -errno;
		/*
		 * Only a group the caller belongs to can be given; otherwise the file keeps the caller's, as any
		 * editor's would.
		 */
		if (st.st_gid != old->st_gid && fchown(fd, (uid_t) -1, old->st_gid) < 0 && errno != EPERM &&
		    errno != EINVAL)
			return -errno;
		if (fchmod(fd, old->st_mode & KEPT_MODE) < 0)
			return -errno;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Whether @name is still what @old describes. */
static int check_unchanged(int dir_fd, const char *name, const struct stat *old)
{
	struct stat now;

	if (fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	bool same = now.st_dev == old->st_dev && now.st_ino == old->st_ino && now.st_size == old->st_size &&
		    now.st_mode == old->st_mode && now.st_mtim.tv_sec == old->st_mtim.tv_sec &&
		    now.st_mtim.tv_nsec == old->st_mtim.tv_nsec;
	return same ? 0 : -ESTALE;
}

/* Renames @temp over @name; removes it when that fails. */
static int replace_with(int dir_fd, const char *temp, const char *name)
{
	if (renameat(dir_fd, temp, dir_fd, name) == 0)
		return 0;
	int r = -errno;
	(void) unlinkat(dir_fd, temp, 0);
	return r;
}

/* Moves @temp to @name unless that exists; removes it when that fails. */
static int create_with(int dir_fd, const char *temp, const char *name)
{
	int r = renameat2(dir_fd, temp, dir_fd, name, RENAME_NOREPLACE) < 0 ? -errno : 0;

	if (r == 0)
		return 0;
	/* File systems without RENAME_NOREPLACE say EINVAL: a hard link does the same. */
	if (r == -EINVAL || r == -ENOSYS)
		r = linkat(dir_fd, temp, dir_fd, name, 0) < 0 ? -errno : 0;
	(void) unlinkat(dir_fd, temp, 0);
	return r;
}

/*
 * Gives the nameless file @fd a name. Without CAP_DAC_READ_SEARCH only kernels from 6.10 on take the descriptor itself.
 */
static int link_nameless(int fd, int dir_fd, const char *name)
{
	char self[40];

	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	(void) snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, dir_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* *@ret_unable is set when this file system or sandbox cannot do it that way and nothing has happened. */
static int write_nameless(int dir_fd, const char *name, const void *data, size_t len, const struct stat *old,
			  bool *ret_unable)
{
	char temp[TEMP_NAME_MAX];
	_cleanup_fd_ int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, old ? 0600 : 0666);

	*ret_unable = fd < 0;
	if (fd < 0)
		return -errno;
	int r = fill(fd, data, len, old);
	if (r < 0)
		return r;
	if (!old) {
		r = link_nameless(fd, dir_fd, name);
		*ret_unable = r < 0 && r != -EEXIST;
		return r;
	}
	r = temp_name(temp);
	if (r == 0)
		r = check_unchanged(dir_fd, name, old);
	if (r < 0)
		return r;
	/*
	 * A SIGKILL that arrives during linkat(2) leaves the temporary name behind (see atomic_remove_stale()). So nothing
	 * comes between the two calls, and linkat(2) never waits for another thread's rename in the same directory.
	 */
	(void) pthread_mutex_lock(&naming);
	r = link_nameless(fd, dir_fd, temp);
	*ret_unable = r < 0;
	if (r == 0)
		r = replace_with(dir_fd, temp, name);
	(void) pthread_mutex_unlock(&naming);
	return r;
}

static int write_named(int dir_fd, const char *name, const void *data, size_t len, const struct stat *old)
{
	char temp[TEMP_NAME_MAX];
	_cleanup_fd_ int fd = -EBADF;

	for (int i = 0; i < TEMP_TRIES && fd < 0; i++) {
		int r = temp_name(temp);
		if (r < 0)
			return r;
		fd = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, old ? 0600 : 0666);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		return -EAGAIN;
	int r = fill(fd, data, len, old);
	if (r == 0 && old)
		r = check_unchanged(dir_fd, name, old);
	if (r < 0) {
		(void) unlinkat(dir_fd, temp, 0);
		return r;
	}
	return old ? replace_with(dir_fd, temp, name) : create_with(dir_fd, temp, name);
}

int atomic_write(int dir_fd, const char *name, const void *data, size_t len, const struct stat *old)
{
	bool unable;
	int r = write_nameless(dir_fd, name, data, len, old, &unable);

	return unable ? write_named(dir_fd, name, data, len, old) : r;
}
