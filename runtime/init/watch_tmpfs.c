/*
 * Folders in memory: see watch_tmpfs.h. Runs in cloche-init, with CAP_SYS_ADMIN of the sandbox's user namespace while it opens them.
 */
#include "runtime/init/watch_tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/spec/spec.h"

enum { BYTES_PER_INODE = 1024 }; /* an inode and a name in the kernel's tables */

/*
 * Whether this tmpfs was made for the sandbox. One of the host that is mounted here too is not ours to count: the kernel lets nobody
 * set it up anew who has no rights over the user namespace that it was made in. Nothing is changed by asking: no option is given.
 */
static bool is_ours(int fd)
{
	_cleanup_fd_ int context = (int) syscall(SYS_fspick, fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	return context >= 0 && syscall(SYS_fsconfig, context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0;
}

void watch_tmpfs_add(struct watch_tmpfs *t, const char *path)
{
	struct statfs fs;
	struct stat st;
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 || t->count >= ARRAY_LEN(t->fds) || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC || fstat(fd, &st) < 0 ||
	    watch_tmpfs_has(t, st.st_dev) || !is_ours(fd))
		return;
	t->devices[t->count] = st.st_dev;
	t->fds[t->count++] = TAKE_FD(fd);
}

void watch_tmpfs_open(struct watch_tmpfs *t)
{
	static const char *const paths[] = { "/tmp", "/dev/shm", SPEC_HOME, SPEC_WORKSPACE };

	t->count = 0;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		watch_tmpfs_add(t, paths[i]);
}

uint64_t watch_tmpfs_bytes(const struct watch_tmpfs *t, uint64_t *ret_contents)
{
	uint64_t inodes = 0;

	*ret_contents = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct statfs fs;

		if (fstatfs(t->fds[i], &fs) < 0)
			continue;
		*ret_contents += (uint64_t) (fs.f_blocks - fs.f_bfree) * (uint64_t) fs.f_bsize;
		inodes += (uint64_t) (fs.f_files - fs.f_ffree);
	}
	return *ret_contents + inodes * BYTES_PER_INODE;
}

bool watch_tmpfs_has(const struct watch_tmpfs *t, dev_t device)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->devices[i] == device)
			return true;
	return false;
}
