/*
 * cloche-init: PID 1 of the sandbox.
 *
 * The only process inside that holds capabilities (CAP_SYS_ADMIN of the sandbox's own user namespace, and CAP_SYS_PTRACE where it has to
 * watch over memory; worth nothing on the host). It parses nothing that the agent wrote: its requests are the fixed messages of
 * initmsg.h, from the supervisor (INITMSG_CONTROL_FD) and from the MCP server. From its first line on it must not end by accident,
 * since its end is the sandbox's end; everything in it is bounded and nothing is allocated after the start.
 *
 *   cloche-init OPTION… run | mcp SERVER-OPTION…       (the options: settings.c)
 *
 * It ends when the supervisor's socket closes, when the server has ended (with the server's exit status), or never.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/wall.h"
#include "runtime/init/die.h"
#include "runtime/init/govern.h"
#include "runtime/init/oomscore.h"
#include "runtime/init/serve.h"
#include "runtime/init/server.h"
#include "runtime/init/settings.h"
#include "runtime/init/single.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/seccomp.h"
#include "runtime/spec/initmsg.h"

enum { NOFILE_WANTED = 4096 };

/* The server's standard streams are the client's; init keeps none of them open but stderr. */
static void let_go_of_client(void)
{
	_cleanup_fd_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		die("/dev/null", errno);
}

_noreturn_ static void serve_mcp(struct serve_session *session, int policy_fd, char **argv)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair", errno);
	argv[0] = (char *) (uintptr_t) "cloche-mcp";
	session->server = server_start(INITMSG_PROGRAM_FD, pair[1], policy_fd, (const char *const *) argv, govern_manner(session->govern),
				       leaves_are_used(&session->govern->leaves));
	if (session->server < 0)
		die("the server cannot be started", -session->server);
	(void) fd_close(pair[1]);
	(void) fd_close(INITMSG_PROGRAM_FD);
	(void) fd_close(policy_fd);
	let_go_of_client();
	session->server_fd = pair[0];
	int r = fd_set_nonblock(pair[0], true);
	if (r < 0)
		die("the server's socket", -r);
	serve(session);
}

/* Room for the descriptors of every command, whatever the limit of who started us. */
static void raise_own_limit(void)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return;
	now.rlim_cur = MIN(now.rlim_max, (rlim_t) NOFILE_WANTED);
	(void) setrlimit(RLIMIT_NOFILE, &now);
}

static int child_signals(void)
{
	sigset_t all, child;

	(void) sigfillset(&all);
	(void) sigemptyset(&child);
	(void) sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		die("sigprocmask", errno);
	int fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("signalfd", errno);
	return fd;
}

int main(int argc, char **argv)
{
	static struct settings settings;
	static struct govern govern;
	int r;

	if (getpid() != 1) {
		(void) dprintf(STDERR_FILENO, "cloche-init is a part of cloche and runs as PID 1 of a sandbox only: use `cloche run` or "
					      "`cloche mcp`\n");
		return DIE_STATUS;
	}
	wall_from_arguments(&argc, &argv);
	/* Before anything else is opened, which may get these numbers when they are free. */
	int node_fd = fcntl(INITMSG_CGROUP_FD, F_GETFD) < 0 ? -EBADF : INITMSG_CGROUP_FD;
	int policy_fd = fcntl(INITMSG_POLICY_FD, F_GETFD) < 0 ? -EBADF : INITMSG_POLICY_FD;
	oomscore_open();
	if ((r = proc_hide()) < 0 || (r = caps_prepare()) < 0 || (r = caps_stop_inheritance(node_fd < 0)) < 0 ||
	    (r = fd_cloexec_from(INITMSG_CONTROL_FD)) < 0)
		die("start", -r);
	raise_own_limit();
	int signal_fd = child_signals();
	int mode = settings_read(&settings, argc, argv);
	bool is_single = mode < argc && strcmp(argv[mode], "run") == 0;
	struct govern_wishes wishes = {
		.sandbox = settings.sandbox, .command = settings.command, .folders = settings.folders,
		.folder_count = settings.folder_count, .shared_proc = settings.shared_proc, .single = is_single,
	};
	if ((r = govern_open(&govern, &wishes, node_fd)) < 0)
		die("the limits of commands", -r);
	/* The last thing of the start: all that comes from here on is asked for by somebody. */
	if ((r = seccomp_load_init()) < 0)
		die("the system-call filter", -r);
	const char *const *env = (const char *const *) environ;
	if (is_single)
		single(INITMSG_CONTROL_FD, signal_fd, &settings.limits, settings.filter, env, &govern);
	struct serve_session session = {
		.control_fd = INITMSG_CONTROL_FD, .server_fd = -EBADF, .signal_fd = signal_fd, .limits = &settings.limits, .env = env,
		.govern = &govern, .shared_proc = settings.shared_proc, .protected = &settings.protected, .filter = settings.filter,
	};
	if (mode < argc && strcmp(argv[mode], "mcp") == 0)
		serve_mcp(&session, policy_fd, argv + mode);
	die("the mode", EINVAL);
}
