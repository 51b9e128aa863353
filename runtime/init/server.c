/*
 * Starts the MCP server: see server.h. Runs in cloche-init and its forked child.
 */
#include "runtime/init/server.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"
#include "runtime/kern/caps.h"
#include "runtime/spec/initmsg.h"

static_assert(INITMSG_SERVER_POLICY_FD == 4, "an argument below names this number");

enum { PARK = 256, EXIT_FAILED = 125 };

/* The server loads no code and reads no setting that the caller's -e could name: those are for commands. */
static const char *const environment[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8", NULL,
};

/* Lays out the descriptors of the server; every other one closes at the exec. */
static int place_descriptors(int program_fd, int socket, int policy_fd)
{
	if (fcntl(program_fd, F_DUPFD_CLOEXEC, PARK) != PARK || dup2(socket, INITMSG_SERVER_FD) < 0)
		return -errno;
	if (policy_fd >= 0 && dup2(policy_fd, INITMSG_SERVER_POLICY_FD) < 0)
		return -errno;
	return fd_cloexec_from(policy_fd >= 0 ? INITMSG_SERVER_POLICY_FD + 1 : INITMSG_SERVER_FD + 1);
}

_noreturn_ static void become_server(int program_fd, int socket, int policy_fd, const char *const *argv, bool in_cgroup)
{
	sigset_t none;

	(void) sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	if (in_cgroup && wall_stands(WALL_CGROUPNS) && unshare(CLONE_NEWCGROUP) < 0)
		_exit(EXIT_FAILED);
	if (place_descriptors(program_fd, socket, policy_fd) < 0 || caps_drop_all() < 0)
		_exit(EXIT_FAILED);
	(void) sysx_execveat(PARK, "", (char *const *) (uintptr_t) argv, (char *const *) (uintptr_t) environment,
			     AT_EMPTY_PATH);
	_exit(EXIT_FAILED);
}

pid_t server_start(int program_fd, int socket, int policy_fd, const char *const *argv, const char *manner, bool in_cgroup)
{
	static const char *args[SERVER_ARGS_MAX];
	size_t n = 0;

	for (; argv[n]; n++) {
		if (n + 5 >= ARRAY_LEN(args)) /* four more, and the end */
			return -E2BIG;
		args[n] = argv[n];
	}
	if (manner) {
		args[n++] = "--limits";
		args[n++] = manner;
	}
	if (policy_fd >= 0) {
		args[n++] = "--policy-fd";
		args[n++] = "4";
	}
	args[n] = NULL;
	pid_t pid = fork();
	if (pid == 0)
		become_server(program_fd, socket, policy_fd, args, in_cgroup);
	return pid < 0 ? -errno : pid;
}
