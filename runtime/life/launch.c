/*
 * Makes a sandbox: see launch.h. Runs in the launcher, which becomes the supervisor.
 */
#include "runtime/life/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/caps.h"
#include "runtime/life/child.h"
#include "runtime/life/userns_diagnose.h"

enum { FILES_FOR_RUN = 32, FILES_FOR_MCP = 512 }; /* the least limits of open files that do */

static const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
				   CLONE_NEWCGROUP;

static void add_arg(struct launch *l, const char *arg)
{
	if (l->init_argc < LAUNCH_INIT_ARGS_MAX)
		l->init_argv[l->init_argc] = arg;
	l->init_argc++; /* counts beyond the end, so that plan_args() sees an overflow */
}

static void add_arg_number(struct launch *l, uint64_t number)
{
	char *to = l->arg_text + l->arg_text_len;
	size_t room = sizeof(l->arg_text) - l->arg_text_len;
	int n = snprintf(to, room, "%llu", (unsigned long long) number);

	if (n < 0 || (size_t) n >= room) {
		l->init_argc = LAUNCH_INIT_ARGS_MAX + 1;
		return;
	}
	l->arg_text_len += (size_t) n + 1;
	add_arg(l, to);
}

static void add_limit(struct launch *l, int resource, rlim_t soft, rlim_t hard)
{
	add_arg(l, "--limit");
	add_arg_number(l, (uint64_t) resource);
	add_arg_number(l, soft);
	add_arg_number(l, hard);
}

/*
 * cloche-init [--limit RESOURCE SOFT HARD]… run | mcp SERVER-OPTION…
 *
 * The limits are for commands. Processes are counted per user namespace, so init keeps its own, higher limit and can always
 * answer; the memory limit of a single process's data stands in for a real one where no cgroup is available.
 */
static int plan_args(struct launch *l, struct err *err)
{
	const struct spec *s = l->spec;

	add_arg(l, "cloche-init");
	if (s->pids)
		add_limit(l, RLIMIT_NPROC, s->pids, s->pids);
	if (s->memory)
		add_limit(l, RLIMIT_DATA, s->memory, s->memory);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (s->rlimits[i].set)
			add_limit(l, i, s->rlimits[i].soft, s->rlimits[i].hard);
	add_arg(l, l->first ? "run" : "mcp");
	if (!l->first)
		for (size_t i = 0; i < s->server_arg_count; i++)
			add_arg(l, s->server_args[i]);
	if (l->init_argc > LAUNCH_INIT_ARGS_MAX)
		return err_set(err, ERR_USAGE, E2BIG, "too many limits and options for one sandbox");
	l->init_argv[l->init_argc] = NULL;
	return 0;
}

/*
 * The standard streams are the only descriptors of the host that get inside. From an open directory, or a path that was only
 * looked up, all of the host's tree could be walked, whatever the sandbox's root is.
 */
static int check_streams(struct err *err)
{
	static const char *const names[] = { "input", "output", "error" };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		struct stat st;
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fstat(fd, &st) < 0)
			return err_set(err, ERR_SYSTEM, errno, "standard %s cannot be examined: %m", names[fd]);
		if (S_ISDIR(st.st_mode) || (flags & O_PATH))
			return err_set(err, ERR_USAGE, EISDIR,
				       "standard %s is a directory of the host: through it everything outside could be reached. Redirect "
				       "it to a file or /dev/null", names[fd]);
	}
	return 0;
}

/* Init parks descriptors at high numbers; without this check it would end without a word that helps. */
static int check_files_limit(const struct launch *l, struct err *err)
{
	rlim_t needed = l->first ? FILES_FOR_RUN : FILES_FOR_MCP;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || (files.rlim_max >= needed && files.rlim_cur >= FILES_FOR_RUN))
		return 0;
	return err_set(err, ERR_SYSTEM, EMFILE,
		       "the limit of open files is %llu, but this needs %llu: raise it (ulimit -n; it may be a hard limit, ulimit -Hn)",
		       (unsigned long long) files.rlim_cur, (unsigned long long) needed);
}

static int prepare(struct launch *l, struct err *err)
{
	int r;

	if ((r = check_files_limit(l, err)) < 0 || (r = check_streams(err)) < 0)
		return r;
	l->proc_fd = userns_open_proc();
	if (l->proc_fd < 0)
		return err_set(err, ERR_UNSUPPORTED, -l->proc_fd, "/proc is not a usable procfs: %m. Mount one: mount -t proc proc /proc");
	if ((r = host_prepare(&l->host, l->spec, !l->first, err)) < 0)
		return r;
	r = mountplan_build(&l->plan, l->spec, &l->host.facts, err);
	if (r < 0)
		return r;
	r = plan_args(l, err);
	if (r < 0)
		return r;
	env_build(&l->env, l->spec, !l->first);
	userns_plan(&l->map, l->spec->uid, l->spec->gid, l->host.uid, l->host.gid);
	r = caps_prepare();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot prepare the capability sets: %m");
	return 0;
}

/* Reads the child's verdict. 0 when it has executed init, else -errno with @err filled. */
static int await_child(struct launch *l, int report_fd, struct err *err)
{
	struct child_report report;
	ssize_t n;

	do
		n = read(report_fd, &report, sizeof(report));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n != (ssize_t) sizeof(report))
		return err_set(err, ERR_SYSTEM, EPROTO, "the sandbox died while it was being built");
	return child_explain(l, &report, err);
}

static int clone_child(struct launch *l, int report_fd, struct sandbox *ret, struct err *err)
{
	_cleanup_fd_ int pid_fd = -EBADF; /* made by clone3(2) */
	struct clone_args args = {
		.flags = namespaces | CLONE_PIDFD, .pidfd = (uint64_t) (uintptr_t) &pid_fd, .exit_signal = SIGCHLD,
	};
	pid_t pid = sysx_clone3(&args);

	if (pid < 0)
		return userns_diagnose(errno, err);
	if (pid == 0)
		child_main(l);
	l->report_fd = fd_close(l->report_fd);
	l->control_fd = fd_close(l->control_fd);
	int r = await_child(l, report_fd, err);
	if (r < 0) {
		(void) kill(pid, SIGKILL);
		(void) proc_wait(pid, NULL);
		return r;
	}
	ret->pid = pid;
	ret->pid_fd = TAKE_FD(pid_fd);
	return 0;
}

static int start(struct launch *l, struct sandbox *ret, struct err *err)
{
	int report[2], control[2];
	int r = prepare(l, err);

	if (r < 0)
		return r;
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a pipe: %m");
	_cleanup_fd_ int report_read = report[0];
	l->report_fd = report[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a socket pair: %m");
	_cleanup_fd_ int control_ours = control[0];
	l->supervisor_fd = control[0];
	l->control_fd = control[1];
	r = l->first ? fdpass_send(control_ours, l->first->bytes.p, l->first->bytes.len, l->first->stdio, INITMSG_SPAWN_FDS) : 0;
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot hand the command to the sandbox: %m");
	r = clone_child(l, report_read, ret, err);
	if (r < 0)
		return r;
	/* A change of identity takes root's capabilities, unless the caller's securebits say otherwise. */
	r = caps_drop_all();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the supervisor cannot give up its capabilities: %m");
	ret->control_fd = TAKE_FD(control_ours);
	return 0;
}

int launch_start(const struct spec *spec, const struct spawnmsg *first, struct sandbox *ret, struct err *err)
{
	struct launch *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	l->spec = spec;
	l->first = first;
	l->proc_fd = l->report_fd = l->control_fd = l->supervisor_fd = -EBADF;
	int r = start(l, ret, err);
	(void) fd_close(l->proc_fd);
	(void) fd_close(l->report_fd);
	(void) fd_close(l->control_fd);
	host_done(&l->host);
	free(l);
	/* The supervisor holds pipes and sockets of the sandbox: nobody of the same uid shall look into it. */
	(void) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return r;
}
