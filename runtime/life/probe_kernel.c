/*
 * What the kernel gives to `cloche doctor`: see prober.h. Runs in the launcher; what would change this process is tried in a child.
 *
 * A call is tried with arguments that it must refuse; what counts is how. ENOSYS means that the kernel does not know it, or that a
 * filter says so; EPERM, where another answer belongs, that a filter forbids it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/landlock.h"
#include "runtime/kern/seccomp.h"
#include "runtime/kern/seccomp_notify.h"
#include "runtime/life/prober.h"

#define KERNEL_LEAST "5.12"

enum {
	LANDLOCK_FULL_ABI = 6, /* file moves, truncation, TCP, ioctl, and scopes of signals and abstract sockets */
	NO_FD = -1,
};

static long try_openat2(void)
{
	return sysx_openat2(NO_FD, "x", O_RDONLY, 0, 0);
}

static long try_open_tree(void)
{
	return sysx_open_tree(NO_FD, "x", 0);
}

static long try_move_mount(void)
{
	return sysx_move_mount(NO_FD, "x", NO_FD, "x", 0);
}

static long try_mount_setattr(void)
{
	struct mount_attr attr = { .attr_set = 0 };

	return sysx_mount_setattr(NO_FD, "x", 0, &attr);
}

static long try_close_range(void)
{
	return sysx_close_range(1, 0, 0);
}

static long try_execveat(void)
{
	return sysx_execveat(NO_FD, "x", NULL, NULL, 0);
}

/* clone3(2) is not among them: the namespaces are tried with it. */
static const struct {
	const char *name;
	const char *since; /* the version of Linux */
	bool is_privileged; /* EPERM is what an ordinary user gets */
	long (*call)(void);
} needed[] = {
	{ "execveat", "3.19", false, try_execveat },   { "open_tree", "5.2", false, try_open_tree },
	{ "move_mount", "5.2", true, try_move_mount }, { "openat2", "5.6", false, try_openat2 },
	{ "close_range", "5.9", false, try_close_range }, { "mount_setattr", KERNEL_LEAST, true, try_mount_setattr },
};

static void probe_pidfd(struct prober *p)
{
	if (sysx_pidfd_send_signal(NO_FD, 0) < 0 && errno == EBADF)
		prober_add(p, OPTIONAL, "pidfd", PROBE_ACTIVE, "a sandbox is ended by a descriptor, not by a number that could be another's");
	else
		prober_add(p, OPTIONAL, "pidfd", PROBE_WEAKER, "a sandbox is not killed at once, but ends because its supervisor lets go: %s",
			   strerror(errno));
}

void probe_kernel(struct prober *p)
{
	struct utsname name;
	bool all = true;

	if (uname(&name) < 0)
		(void) memset(&name, 0, sizeof(name));
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		if (needed[i].call() >= 0 || (errno != ENOSYS && (errno != EPERM || needed[i].is_privileged)))
			continue;
		prober_add(p, REQUIRED, "kernel", PROBE_MISSING, "Linux %s (%s): %s(2), of Linux %s, %s", name.release, name.machine, needed[i].name,
			   needed[i].since, errno == ENOSYS ? "does not exist here" : "is forbidden here");
		prober_repair(p, "use Linux " KERNEL_LEAST " or later; in a container, let its system-call filter pass %s", needed[i].name);
		all = false;
	}
	if (all)
		prober_add(p, REQUIRED, "kernel", PROBE_ACTIVE, "Linux %s (%s): every call that cloche needs is there", name.release,
			   name.machine);
	probe_pidfd(p);
}

/* The exit status of a child that calls @call: 0, or the errno that this returned. */
static int in_child(int (*call)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(-call());
	(void) proc_wait(pid, &status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static void probe_filter(struct prober *p)
{
	int r = seccomp_probe();

	if (r == 0) {
		prober_add(p, REQUIRED, "seccomp filter", PROBE_ACTIVE, "system calls can be filtered");
		return;
	}
	prober_add(p, REQUIRED, "seccomp filter", PROBE_MISSING, "system calls cannot be filtered: %s", strerror(-r));
	prober_repair(p, "use a kernel with CONFIG_SECCOMP_FILTER");
}

static void probe_notify(struct prober *p)
{
	int errnum = in_child(seccomp_notify_try);

	if (errnum == 0) {
		prober_add(p, OPTIONAL, "seccomp notify", PROBE_ACTIVE, "a refused call can be explained to the agent");
		return;
	}
	prober_add(p, OPTIONAL, "seccomp notify", PROBE_WEAKER, "refused calls fail without an explanation: %s", strerror(errnum));
	prober_repair(p, errnum == EBUSY ? "the container around watches system calls itself: start cloche outside of it"
					 : "use Linux 5.0 or later");
}

void probe_confinement(struct prober *p)
{
	int abi = landlock_abi();

	probe_filter(p);
	probe_notify(p);
	if (abi >= LANDLOCK_FULL_ABI) {
		prober_add(p, OPTIONAL, "Landlock", PROBE_ACTIVE, "version %d: a second wall around files, signals and sockets", abi);
	} else if (abi > 0) {
		prober_add(p, OPTIONAL, "Landlock", PROBE_WEAKER, "version %d: a second wall, with less than version %d has", abi, LANDLOCK_FULL_ABI);
		prober_repair(p, "Linux 6.12 or later has version %d", LANDLOCK_FULL_ABI);
	} else {
		prober_add(p, OPTIONAL, "Landlock", PROBE_MISSING, "the second wall is not there: %s", strerror(errno));
		prober_repair(p, "use Linux 5.19 or later with landlock among the names behind lsm= of the kernel's command line");
	}
}
