/*
 * Starts the MCP server: see server.h. Runs in cloche-init and its forked child.
 */
#include "runtime/init/server.h"

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

enum { PARK = 256, EXIT_FAILED = 125 };

/* The server loads no code and reads no setting that the caller's -e could name: those are for commands. */
static const char *const environment[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8", NULL,
};

_noreturn_ static void become_server(int program_fd, int socket, const char *const *argv, bool in_cgroup)
{
	sigset_t none;

	(void) sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	if (in_cgroup && wall_stands(WALL_CGROUPNS) && unshare(CLONE_NEWCGROUP) < 0)
		_exit(EXIT_FAILED);
	if (fcntl(program_fd, F_DUPFD_CLOEXEC, PARK) != PARK || dup2(socket, INITMSG_SERVER_FD) < 0 ||
	    fd_cloexec_from(INITMSG_SERVER_FD + 1) < 0 || caps_drop_all() < 0)
		_exit(EXIT_FAILED);
	(void) sysx_execveat(PARK, "", (char *const *) (uintptr_t) argv, (char *const *) (uintptr_t) environment,
			     AT_EMPTY_PATH);
	_exit(EXIT_FAILED);
}

pid_t server_start(int program_fd, int socket, const char *const *argv, const char *manner, bool in_cgroup)
{
	static const char *args[SERVER_ARGS_MAX];
	size_t n = 0;

	for (; argv[n]; n++) {
		if (n + 3 >= ARRAY_LEN(args)) /* two more, and the end */
			return -E2BIG;
		args[n] = argv[n];
	}
	if (manner) {
		args[n++] = "--limits";
		args[n++] = manner;
	}
	args[n] = NULL;
	pid_t pid = fork();
	if (pid == 0)
		become_server(program_fd, socket, args, in_cgroup);
	return pid < 0 ? -errno : pid;
}
