/*
 * The mask in /proc: see procmask.h. Runs in the launcher's child and in shims, with the sandbox's CAP_SYS_ADMIN.
 *
 * Everything else in /proc that a command should not touch belongs to the host's root, which no id inside is mapped to: the kernel
 * refuses it by itself, or tells no more than how many of something there are. A mask costs every command time (about 15
 * microseconds), so there is only this one.
 *
 * The kernel gives an unprivileged user namespace no new procfs when parts of the old one are hidden ("mount too revealing"), but it
 * looks at mounts that came from a more privileged namespace only. This one is the sandbox's own: shims can go on mounting theirs.
 */
#include "runtime/kern/procmask.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"

int procmask_apply(int root_fd)
{
	if (!wall_stands(WALL_PROC_MASK))
		return 0;
	_cleanup_fd_ int at = openat(root_fd, "proc/keys", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return errno == ENOENT ? 0 : -errno; /* a kernel without keys */
	_cleanup_fd_ int null = sysx_open_tree(root_fd, "dev/null", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (null < 0)
		return -errno;
	return sysx_move_mount(null, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}
