/*
 * Layers that may be weaker: see graded.h. Runs in the launcher; each trial in a child with namespaces of its own, which ends at
 * once and leaves nothing.
 */
#include "runtime/life/graded.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/mountapply.h"
#include "runtime/kern/userns.h"

static int mount_proc(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, MOUNTPLAN_PROC_OPTIONS) < 0 ? -errno : 0;
}

static int copy_proc(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	_cleanup_fd_ int tree = sysx_open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0)
		return -errno;
	return sysx_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0 ? -errno : 0;
}

static int leave_root(void)
{
	_cleanup_fd_ int root = mountapply_new_root();

	return root < 0 ? root : mountapply_enter();
}

static int set_hostname(void)
{
	return sethostname("cloche", strlen("cloche")) < 0 ? -errno : 0;
}

enum { EXIT_EARLY = 134 }; /* the largest errno is 133: beyond it, one that @call has nothing to do with */

/*
 * Tries @call as the first process of new namespaces, with a map and private mounts. Returns what it returned, or -ECANCELED when
 * it did not come to that; then *@ret_early is why.
 */
static int try_inside(int (*call)(void), int *ret_early)
{
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS, .exit_signal = SIGCHLD };
	_cleanup_fd_ int proc_fd = userns_open_proc();
	struct userns_map map;
	int status;

	*ret_early = proc_fd;
	if (proc_fd < 0)
		return -ECANCELED;
	userns_plan(&map, 1, 1, geteuid(), getegid());
	pid_t pid = sysx_clone3(&args);
	*ret_early = -errno;
	if (pid < 0)
		return -ECANCELED;
	if (pid == 0) {
		int r = userns_apply(proc_fd, &map, -EBADF);
		if (r == 0)
			r = mountapply_isolate();
		_exit(r < 0 ? EXIT_EARLY - r : -call());
	}
	*ret_early = proc_wait(pid, &status);
	if (*ret_early < 0)
		return -ECANCELED;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_EARLY + ECHILD;
	*ret_early = code > EXIT_EARLY ? EXIT_EARLY - code : 0;
	return code > EXIT_EARLY ? -ECANCELED : -code;
}

static int nothing(void)
{
	return 0;
}

int graded_try_rights(void)
{
	int early;

	(void) try_inside(nothing, &early);
	return early;
}

int graded_try_proc(void)
{
	int early;

	return try_inside(mount_proc, &early);
}

int graded_try_shared_proc(void)
{
	int early;

	return try_inside(copy_proc, &early);
}

int graded_try_root(void)
{
	int early;

	return try_inside(leave_root, &early);
}

int graded_try_hostname(void)
{
	int early;

	return try_inside(set_hostname, &early);
}

static const struct {
	enum spec_weaker layer;
	int (*try)(void);
	int answer; /* what it answers where only the weaker one can be had; anything else is for the launch to explain */
	const char *what;
} layers[] = {
	{ SPEC_WEAKER_PROC, graded_try_proc, -EPERM,
	  "/proc is that of the container around, read-only: names and command lines of its processes can be read inside, commands of "
	  "one session see each other, and memory is limited for each process instead of for all" },
	{ SPEC_WEAKER_ROOT, graded_try_root, -EINVAL,
	  "the host's root is not detached, only out of reach (chroot): this host runs from its initial root file system" },
	{ SPEC_WEAKER_HOSTNAME, graded_try_hostname, -EPERM, "the host name is that of the container around" },
};

void graded_choose(struct spec *spec)
{
	spec->weaker = 0;
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		if ((spec->allow_weaker & layers[i].layer) && layers[i].try() == layers[i].answer)
			spec->weaker |= layers[i].layer;
}

const char *graded_describe(enum spec_weaker layer)
{
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		if (layers[i].layer == layer)
			return layers[i].what;
	return "";
}
