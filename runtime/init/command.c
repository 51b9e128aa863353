/*
 * One command inside the sandbox: see command.h. command_start() runs in cloche-init; the rest runs in its forked children,
 * first with init's capability (CAP_SYS_ADMIN of the sandbox's user namespace), then with none.
 */
#include "runtime/init/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/mountplan.h"
#include "runtime/kern/seccomp.h"

enum {
	PARK = 256,                  /* where the shim keeps what it needs while it closes the rest */
	PARK_REPORT = PARK + INITMSG_SPAWN_FDS,
};

/* What the shim has to say to init. */
static void tell(int report_fd, const struct command_report *report)
{
	/* Smaller than PIPE_BUF: whole or not at all. When init does not listen any more, everything ends anyway. */
	IGNORE_RESULT(fd_write_all(report_fd, report, sizeof(*report)));
}

static int apply_limits(const struct command_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++) {
		const struct command_limit *row = &limits->rows[i];
		struct rlimit now;

		if (sysx_prlimit(row->resource, NULL, &now) < 0)
			return -errno;
		struct rlimit next = { .rlim_cur = MIN(row->soft, now.rlim_max), .rlim_max = MIN(row->hard, now.rlim_max) };
		if (sysx_prlimit(row->resource, &next, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* The command's own process, up to its exec. The filter comes last: it forbids much of what comes before. */
static struct command_failure become_command(const struct command_request *req)
{
	int r;

	if (setsid() < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) errno };
	if ((r = proc_reset_signals()) < 0 || (r = apply_limits(req->limits)) < 0 || (r = caps_drop_all()) < 0)
		return (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) -r };
	if (chdir(req->cwd) < 0)
		return (struct command_failure) { INITMSG_STEP_CWD, (uint32_t) errno };
	r = seccomp_load_workload();
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
	if (sysx_close_range(STDERR_FILENO + 1, PARK_REPORT - 1, 0) < 0 || sysx_close_range(PARK_REPORT + 1, ~0U, 0) < 0)
		return -errno;
	return 0;
}

/* Mounts the /proc of the command's PID namespace over the sandbox's, in the command's mount namespace. */
static int mount_proc(void)
{
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, MOUNTPLAN_PROC_OPTIONS) < 0)
		return -errno;
	return 0;
}

static uint64_t microseconds(const struct timeval *tv)
{
	return (uint64_t) tv->tv_sec * 1000000 + (uint64_t) tv->tv_usec;
}

static void add_usage(struct command_report *report)
{
	struct rusage used;

	report->type = INITMSG_EXITED;
	if (getrusage(RUSAGE_CHILDREN, &used) < 0)
		return;
	report->cpu_user_us = microseconds(&used.ru_utime);
	report->cpu_system_us = microseconds(&used.ru_stime);
	report->max_rss_kib = (uint64_t) used.ru_maxrss;
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

/* Waits for the end of @command, passing on to its process group every signal that init sends us. */
static void watch(pid_t command, struct command_report *report)
{
	sigset_t all;

	(void) sigfillset(&all);
	while (!command_reap(command, report)) {
		int sig = sigwaitinfo(&all, NULL);
		if (sig > 0 && sig != SIGCHLD)
			(void) kill(-command, sig);
	}
}

/*
 * Kills what the command left behind and waits until it is gone. Our own end would do the same, but the kernel then also takes
 * the namespaces down before anybody hears of it; this way the answer goes out first.
 */
static void kill_leftovers(void)
{
	pid_t pid;

	(void) kill(-1, SIGKILL);
	do
		pid = waitpid(-1, NULL, 0);
	while (pid > 0 || (pid < 0 && errno == EINTR));
}

pid_t command_execute(const struct command_request *req, struct command_failure *failure)
{
	int verdict[2];

	if (pipe2(verdict, O_CLOEXEC) < 0) {
		*failure = (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) errno };
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		(void) fd_close(verdict[0]);
		struct command_failure f = become_command(req);
		/* Without a reader the shim is gone, and we are about to be. */
		IGNORE_RESULT(fd_write_all(verdict[1], &f, sizeof(f)));
		_exit(127);
	}
	if (pid < 0)
		*failure = (struct command_failure) { INITMSG_STEP_SETUP, (uint32_t) errno };
	(void) fd_close(verdict[1]);
	/* Nothing comes when the exec succeeds: the pipe closes with it. */
	if (pid > 0 && fd_read_exact(verdict[0], failure, sizeof(*failure)) == 0) {
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

	(void) prctl(PR_SET_NAME, "cloche-shim");
	int r = keep_descriptors(req, report_fd);
	if (r < 0)
		shim_refuse(report_fd, INITMSG_STEP_SETUP, (uint32_t) -r);
	r = mount_proc();
	if (r < 0)
		shim_refuse(PARK_REPORT, INITMSG_STEP_SETUP, (uint32_t) -r);
	pid_t command = command_execute(req, &failure);
	/* The shim must not keep the command's pipes open. */
	if (sysx_close_range(0, STDERR_FILENO, 0) < 0 || caps_drop_all() < 0)
		_exit(1);
	if (command < 0)
		shim_refuse(PARK_REPORT, failure.step, failure.errnum);
	tell(PARK_REPORT, &report);
	watch(command, &report);
	kill_leftovers();
	tell(PARK_REPORT, &report);
	_exit(0);
}

pid_t command_start(const struct command_request *req, int *ret_report_fd)
{
	/* An IPC namespace too: System V segments would outlive the command, and no limit of memory counts them. */
	struct clone_args args = { .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, .exit_signal = SIGCHLD };
	int report[2];

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	_cleanup_fd_ int read_end = report[0];
	_cleanup_fd_ int write_end = report[1];
	int r = fd_set_nonblock(read_end, true);
	if (r < 0)
		return r;
	pid_t pid = sysx_clone3(&args);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		shim_main(req, write_end);
	*ret_report_fd = TAKE_FD(read_end);
	return pid;
}
