/*
 * One command inside the sandbox: see command.h. command_start() runs in cloche-init; the rest runs in its forked children,
 * first with init's capability (CAP_SYS_ADMIN of the sandbox's user namespace), then with none.
 */
#include "runtime/init/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/base/wall.h"
#include "runtime/init/nproc.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/landlock.h"
#include "runtime/kern/mountplan.h"
#include "runtime/kern/procmask.h"
#include "runtime/kern/seccomp_notify.h"

enum {
	PARK = 256,                  /* where the shim keeps what it needs while it closes the rest */
	PARK_REPORT = PARK + INITMSG_SPAWN_FDS,
	USAGE_BLOCK = 512,           /* of getrusage(2) */
	EXEC_PATIENCE_MS = 20,       /* then it may be that the filter refuses something before the exec, and nobody answers */
};

/* What the shim has to say to init. */
static void tell(int report_fd, const struct command_report *report)
{
	/* Smaller than PIPE_BUF: whole or not at all. When init does not listen any more, everything ends anyway. */
	IGNORE_RESULT(fd_write_all(report_fd, report, sizeof(*report)));
}

static int apply_limit(const struct command_limit *limit)
{
	struct rlimit now;

	if (sysx_prlimit(limit->resource, NULL, &now) < 0)
		return -errno;
	struct rlimit next = { .rlim_cur = MIN(limit->soft, now.rlim_max), .rlim_max = MIN(limit->hard, now.rlim_max) };
	return sysx_prlimit(limit->resource, &next, NULL) < 0 ? -errno : 0;
}

static int apply_limits(const struct command_request *req)
{
	struct command_limit tasks = { .resource = RLIMIT_NPROC, .soft = req->tasks_limit, .hard = req->tasks_limit };
	int r = 0;

	for (size_t i = 0; i < req->limits->count && r == 0 && wall_stands(WALL_LIMITS); i++)
		r = apply_limit(&req->limits->rows[i]);
	return r == 0 && req->tasks_limit && wall_stands(WALL_LIMITS) ? apply_limit(&tasks) : r;
}

/*
 * In the command's own cgroup: makes it the root of all groups that are seen, and shows its files, read-only, where programs
 * look for their limits. That is a service to them, so a sandbox without a place for it, or a host that refuses, is no error.
 */
static int show_own_cgroup(void)
{
	if (wall_stands(WALL_CGROUPNS) && unshare(CLONE_NEWCGROUP) < 0)
		return -errno;
	/* Nobody's mount may lie there, and no link lead away. */
	_cleanup_fd_ int place = sysx_openat2(AT_FDCWD, "/" MOUNTPLAN_CGROUP, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
					      RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	if (place >= 0 && fchdir(place) == 0)
		(void) mount("cgroup2", ".", "cgroup2", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	return chdir("/") < 0 ? -errno : 0;
}

/*
 * Loads the filter and sends its listener, where there is one, to who waits for us. Our own copy closes at the exec. What comes
 * behind the loading happens under the filter; a user's own that forbids it is loaded without a listener.
 */
static int load_filter(const struct seccomp_program *filter, int verdict_fd)
{
	static const struct command_failure none;
	_cleanup_fd_ int listener = -EBADF;
	int r = seccomp_load_workload(filter, seccomp_notify_is_possible(filter) ? &listener : NULL);

	if (r < 0 || listener < 0)
		return r;
	r = fdpass_send(verdict_fd, &none, sizeof(none), &listener, 1);
	return r < 0 ? r : seccomp_notify_guard();
}

/* The exec would close them too, but the working directory may be given as /proc/self/fd/N. */
static int close_others(int kept_fd)
{
	unsigned int kept = (unsigned int) kept_fd;

	if (!wall_stands(WALL_CLOSE_FDS))
		return 0;
	if (kept > STDERR_FILENO + 1 && sysx_close_range(STDERR_FILENO + 1, kept - 1, 0) < 0)
		return -errno;
	return sysx_close_range(kept + 1, ~0U, 0) < 0 ? -errno : 0;
}

/* The command's own process, up to its exec. The filter comes last: it forbids much of what comes before. */
static struct command_failure become_command(const struct command_request *req, int verdict_fd)
{
	int r;

	if (wall_stands(WALL_SESSION) && setsid() < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) errno };
	if (req->cgroup_fd >= 0 && (r = show_own_cgroup()) < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) -r };
	if ((r = proc_reset_signals()) < 0 || (r = apply_limits(req)) < 0 || (r = caps_drop_all()) < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) -r };
	if ((r = close_others(verdict_fd)) < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) -r };
	if (chdir(req->cwd) < 0)
		return (struct command_failure) { INITMSG_STEP_CWD, (uint32_t) errno };
	if ((r = landlock_command()) < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) -r };
	r = load_filter(req->filter, verdict_fd);
	if (r < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) -r };
	(void) execvpe(req->argv[0], (char *const *) (uintptr_t) req->argv, (char *const *) (uintptr_t) req->envp);
	return (struct command_failure) { INITMSG_STEP_EXEC, (uint32_t) errno };
}

/* Keeps the three standard streams as 0, 1, 2 and the report pipe as PARK_REPORT; closes everything else of init's. */
static int keep_descriptors(const struct command_request *req, int report_fd)
{
	int wanted[INITMSG_SPAWN_FDS + 1] = { req->stdio[0], req->stdio[1], req->stdio[2], report_fd };

	for (int i = 0; i < (int) ARRAY_LEN(wanted); i++) {
		int parked = fcntl(wanted[i], F_DUPFD_CLOEXEC, PARK + i);
		if (parked < 0)
			return -errno;
		if (parked != PARK + i) /* taken: init has more descriptors than it may */
			return -EMFILE;
	}
	for (int i = 0; i < INITMSG_SPAWN_FDS; i++)
		if (dup2(PARK + i, i) < 0)
			return -errno;
	if (wall_stands(WALL_CLOSE_FDS) &&
	    (sysx_close_range(STDERR_FILENO + 1, PARK_REPORT - 1, 0) < 0 || sysx_close_range(PARK_REPORT + 1, ~0U, 0) < 0))
		return -errno;
	return 0;
}

/* Mounts the /proc of the command's PID namespace over the sandbox's, in the command's mount namespace. */
static int mount_proc(const struct command_request *req)
{
	if (req->shared_proc || !wall_stands(WALL_FRESH_PROC))
		return 0;
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, MOUNTPLAN_PROC_OPTIONS) < 0)
		return -errno;
	return procmask_apply(root);
}

static uint64_t microseconds(const struct timeval *tv)
{
	return (uint64_t) tv->tv_sec * 1000000 + (uint64_t) tv->tv_usec;
}

static void add_usage(struct command_report *report)
{
	struct rusage used;

	report->type = INITMSG_EXITED;
	report->cpu_user_us = report->cpu_system_us = report->read_bytes = report->written_bytes = INITMSG_UNKNOWN;
	if (getrusage(RUSAGE_CHILDREN, &used) < 0)
		return;
	report->cpu_user_us = microseconds(&used.ru_utime);
	report->cpu_system_us = microseconds(&used.ru_stime);
	report->max_rss_kib = (uint64_t) used.ru_maxrss;
	report->read_bytes = (uint64_t) used.ru_inblock * USAGE_BLOCK;
	report->written_bytes = (uint64_t) used.ru_oublock * USAGE_BLOCK;
}

bool command_reap(pid_t command, struct command_report *report)
{
	bool over = false;

	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			break;
		if (pid == command) {
			report->wait_status = status;
			over = true;
		}
	}
	if (over)
		add_usage(report);
	return over;
}

void command_count_leftovers(const struct command_request *req, struct command_report *report)
{
	/* The command itself has been reaped, so whoever could get a signal is a leftover. */
	if (req->tasks_near && wall_stands(WALL_PIDNS) && kill(-1, 0) == 0 && nproc_is_at_least(req->tasks_near))
		report->tasks_least = req->tasks_near;
}

/* Passes one signal that init sent us on to the command's process group. */
static void pass_signal(int signal_fd, pid_t command)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) == (ssize_t) sizeof(info) && info.ssi_signo != SIGCHLD)
		(void) kill(-command, (int) info.ssi_signo);
}

/*
 * Waits for the end of @command, passing on signals and answering what it is refused. One of each in a turn: neither a flood of
 * refused calls nor one of signals keeps us from the other, or from the end.
 */
static void watch(pid_t command, struct notify *notify, struct command_report *report)
{
	sigset_t all;

	(void) sigfillset(&all);
	int signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0) /* then nothing can be watched, and our end takes the command along */
		_exit(1);
	while (!command_reap(command, report)) {
		struct pollfd fds[] = { { .fd = signal_fd, .events = POLLIN }, { .fd = notify->listener, .events = POLLIN } };

		if (poll(fds, ARRAY_LEN(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			pass_signal(signal_fd, command);
		notify_ready(notify, fds[1].revents);
	}
}

/*
 * Kills what the command left behind and waits until it is gone. Our own end would do the same, but the kernel then also takes
 * the namespaces down before anybody hears of it; this way the answer goes out first.
 */
static void kill_leftovers(void)
{
	pid_t pid;

	if (!wall_stands(WALL_PIDNS))
		return;
	(void) kill(-1, SIGKILL);
	do
		pid = waitpid(-1, NULL, 0);
	while (pid > 0 || (pid < 0 && errno == EINTR));
}

/*
 * Waits until the command has been executed, takes its listener, and answers what it is refused on the way, which with a user's
 * own filter may be the execve(2) itself. False with @failure filled when it has not been executed.
 */
static bool await_exec(int verdict_fd, struct notify *notify, struct command_failure *failure)
{
	/* Nearly always all is over with the exec, which closes the socket: to be woken for the listener before would only delay it. */
	struct pollfd closed = { .fd = verdict_fd, .events = 0 };
	(void) poll(&closed, 1, EXEC_PATIENCE_MS);
	for (;;) {
		struct pollfd fds[] = { { .fd = verdict_fd, .events = POLLIN }, { .fd = notify->listener, .events = POLLIN } };
		int listener;
		size_t nfds = 0;

		if (notify->listener >= 0 && poll(fds, ARRAY_LEN(fds), -1) < 0)
			continue;
		notify_ready(notify, fds[1].revents);
		if (notify->listener >= 0 && !fds[0].revents)
			continue;
		/* Nothing comes when the exec succeeds: the socket closes with it. */
		ssize_t n = fdpass_recv(verdict_fd, failure, sizeof(*failure), &listener, 1, &nfds);
		if (n != (ssize_t) sizeof(*failure))
			return true;
		if (nfds == 0)
			return false;
		notify_begin(notify, listener);
	}
}

/* As clone3(2), into the cgroup when there is one. */
static pid_t clone_into(struct clone_args *args, int cgroup_fd)
{
	if (cgroup_fd >= 0) {
		args->flags |= CLONE_INTO_CGROUP;
		args->cgroup = (unsigned int) cgroup_fd;
	}
	return sysx_clone3(args);
}

pid_t command_execute(const struct command_request *req, struct notify *notify, struct command_failure *failure)
{
	int verdict[2];

	*notify = (struct notify) { .listener = -EBADF, .program = req->filter, .denials = req->denials };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, verdict) < 0) {
		*failure = (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) errno };
		return -1;
	}
	struct clone_args args = { .exit_signal = SIGCHLD };
	pid_t pid = clone_into(&args, req->cgroup_fd);
	if (pid == 0) {
		(void) fd_close(verdict[0]);
		struct command_failure f = become_command(req, verdict[1]);
		/* Without a reader the shim is gone, and we are about to be. */
		IGNORE_RESULT(fdpass_send(verdict[1], &f, sizeof(f), NULL, 0));
		_exit(127);
	}
	if (pid < 0)
		*failure = (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) errno };
	(void) fd_close(verdict[1]);
	if (pid > 0 && !await_exec(verdict[0], notify, failure)) {
		(void) kill(pid, SIGKILL); /* a user's own filter may refuse it even to exit */
		(void) proc_wait(pid, NULL);
		pid = -1;
	}
	(void) fd_close(verdict[0]);
	return pid;
}

_noreturn_ static void shim_refuse(int report_fd, uint32_t step, uint32_t errnum)
{
	struct command_report report = { .type = INITMSG_REFUSED, .step = step, .errnum = errnum };

	tell(report_fd, &report);
	_exit(1);
}

_noreturn_ static void shim_main(const struct command_request *req, int report_fd)
{
	struct command_report report = { .type = INITMSG_STARTED };
	struct command_failure failure = { 0 };
	struct command_request own = *req;
	struct notify notify;

	(void) prctl(PR_SET_NAME, "cloche-shim");
	int r = keep_descriptors(req, report_fd);
	if (r < 0)
		shim_refuse(report_fd, INITMSG_STEP_SETUP, (uint32_t) -r);
	if ((r = mount_proc(req)) < 0 || (req->cgroup_fd >= 0 && (r = show_own_cgroup()) < 0))
		shim_refuse(PARK_REPORT, INITMSG_STEP_SETUP, (uint32_t) -r);
	own.cgroup_fd = -EBADF; /* we are in it, and so is what we start */
	pid_t command = command_execute(&own, &notify, &failure);
	/* The shim must not keep the command's pipes open. */
	if (sysx_close_range(0, STDERR_FILENO, 0) < 0 || caps_drop_all() < 0)
		_exit(1);
	if (command < 0)
		shim_refuse(PARK_REPORT, failure.step, failure.errnum);
	tell(PARK_REPORT, &report);
	watch(command, &notify, &report);
	command_count_leftovers(req, &report);
	kill_leftovers();
	tell(PARK_REPORT, &report);
	_exit(0);
}

pid_t command_start(const struct command_request *req, int *ret_report_fd)
{
	/* An IPC namespace too: System V segments would outlive the command, and no limit of memory counts them. */
	struct clone_args args = {
		.flags = CLONE_NEWNS | (wall_stands(WALL_PIDNS) ? CLONE_NEWPID : 0) |
			 (wall_stands(WALL_IPCNS) && !req->has_ipcns ? CLONE_NEWIPC : 0),
		.exit_signal = SIGCHLD,
	};
	int report[2];

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	_cleanup_fd_ int read_end = report[0];
	_cleanup_fd_ int write_end = report[1];
	int r = fd_set_nonblock(read_end, true);
	if (r < 0)
		return r;
	pid_t pid = clone_into(&args, req->cgroup_fd);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		shim_main(req, write_end);
	*ret_report_fd = TAKE_FD(read_end);
	return pid;
}
