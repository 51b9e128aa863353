/*
 * A procfs of cloche-init's own: see procfs.h. Runs in cloche-init at its start.
 */
#include "runtime/kern/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"

int procfs_open_detached(void)
{
	_cleanup_fd_ int context = (int) syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	_cleanup_fd_ int mounted = (int) syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
					     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mounted < 0)
		return -errno;
	int fd = openat(mounted, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
