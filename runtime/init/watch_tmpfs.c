/*
 * Folders in memory: see watch_tmpfs.h. Runs in cloche-init, with CAP_SYS_ADMIN of the sandbox's user namespace while it opens them.
 */
#include "runtime/init/watch_tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/init/watch_read.h"

enum { BYTES_PER_INODE = 1024 }; /* an inode and a name in the kernel's tables */

/* Undoes the octal escapes of mountinfo, in place. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to = (char) (((from[1] - '0') << 6) | ((from[2] - '0') << 3) | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/*
 * Whether this tmpfs was made for the sandbox. One of the host that is mounted here too is not ours to count: the kernel lets nobody
 * set it up anew who has no rights over the user namespace that it was made in. Nothing is changed by asking: no option is given.
 */
static bool is_ours(int fd)
{
	_cleanup_fd_ int context = (int) syscall(SYS_fspick, fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	return context >= 0 && syscall(SYS_fsconfig, context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0;
}

static void add(struct watch_tmpfs *t, const char *path, dev_t device)
{
	struct stat st;
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);

	/* Another file system may be mounted over it: then nobody inside reaches it. */
	if (fd < 0 || t->count >= ARRAY_LEN(t->fds) || fstat(fd, &st) < 0 || st.st_dev != device || !is_ours(fd))
		return;
	t->devices[t->count] = device;
	t->fds[t->count++] = TAKE_FD(fd);
}

/* One line of mountinfo: "36 35 98:0 /root /mount/point rw,noatime … - tmpfs tmpfs rw,size=…" (proc(5)) */
static void take_mount(struct watch_tmpfs *t, char *line)
{
	unsigned int major, minor;
	char *end, *type = strstr(line, " - tmpfs ");
	int at = 0;

	if (!type || sscanf(line, "%*u %*u %u:%u %*s %n", &major, &minor, &at) != 2 || at == 0 || !(end = strchr(line + at, ' ')))
		return;
	*end = '\0';
	unescape(line + at);
	if (!watch_tmpfs_has(t, makedev(major, minor)))
		add(t, line + at, makedev(major, minor));
}

void watch_tmpfs_open(struct watch_tmpfs *t, int proc_fd)
{
	char path[32];
	char *line;

	t->count = 0;
	(void) snprintf(path, sizeof(path), "%d/mountinfo", (int) getpid());
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	struct watch_lines lines = { .fd = fd };
	while (fd >= 0 && (line = watch_line(&lines)))
		take_mount(t, line);
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
