/*
 * The child side of a launch: see child.h.
 *
 * Runs as the first process of the new namespaces, with every capability over the new user namespace and none over the host.
 * It is a copy of the launcher: it allocates nothing, prints nothing and takes no lock; all it needs was prepared in
 * struct launch. The order of the steps is part of the design; each line of the table says what its step is for.
 */
#include "runtime/life/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/mountapply.h"
#include "runtime/kern/netns.h"
#include "runtime/life/launch.h"
#include "runtime/life/userns_diagnose.h"
#include "runtime/spec/initmsg.h"

enum { FD_PARKING = 16 }; /* descriptors wait above this number while the low ones are laid out */

struct child {
	struct launch *launch;
	struct child_report report;
	int root_fd;
	int init_fd;
	int server_fd;
};

/* A session of its own: no controlling terminal to push characters into (TIOCSTI), no group to share signals with. */
static int step_session(_unused_ struct child *c)
{
	return setsid() < 0 ? -errno : 0;
}

/*
 * A session keyring of its own. Not required to succeed: it is a second wall behind the system-call filter, which refuses
 * keyctl(2), and the kernel counts such keyrings against a small quota of the user.
 */
static int step_keyring(_unused_ struct child *c)
{
	(void) syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}

/* The sandbox dies with its supervisor, even when that one was killed before this step. */
static int step_parent_death(struct child *c)
{
	struct pollfd control = { .fd = c->launch->control_fd };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (poll(&control, 1, 0) > 0 && (control.revents & POLLHUP))
		_exit(1);
	return 0;
}

static int step_ids(struct child *c)
{
	return userns_apply(c->launch->proc_fd, &c->launch->map);
}

static int step_isolate_mounts(_unused_ struct child *c)
{
	return mountapply_isolate();
}

static int open_program(const struct host_program *program)
{
	if (program->tree_fd >= 0)
		return program->tree_fd;
	return mountapply_program(program->path);
}

static int step_programs(struct child *c)
{
	c->init_fd = open_program(&c->launch->host.init);
	if (c->init_fd < 0)
		return c->init_fd;
	if (c->launch->first)
		return 0;
	c->server_fd = open_program(&c->launch->host.server);
	return c->server_fd < 0 ? c->server_fd : 0;
}

static int step_new_root(struct child *c)
{
	c->root_fd = mountapply_new_root();
	return c->root_fd < 0 ? c->root_fd : 0;
}

static int step_mounts(struct child *c)
{
	size_t failed = 0;
	int r = mountapply_run(&c->launch->plan, c->root_fd, &failed);

	c->report.op = (uint32_t) failed;
	return r;
}

static int step_loopback(_unused_ struct child *c)
{
	return netns_loopback_up();
}

static int step_hostname(struct child *c)
{
	const char *name = c->launch->spec->hostname;

	return sethostname(name, strlen(name)) < 0 ? -errno : 0;
}

static int step_enter_root(_unused_ struct child *c)
{
	return mountapply_enter();
}

/* No core dumps: the kernel would hand them to a program of the host. Limits for commands only are set by init. */
static int step_limits(_unused_ struct child *c)
{
	const struct rlimit none = { 0, 0 };

	return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

static int step_cpus(struct child *c)
{
	size_t wanted = (size_t) ((c->launch->spec->cpu_milli + 999) / 1000);
	cpu_set_t allowed, chosen;

	if (wanted == 0)
		return 0;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -errno;
	CPU_ZERO(&chosen);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && wanted > 0; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_SET(cpu, &chosen);
		wanted--;
	}
	return sched_setaffinity(0, sizeof(chosen), &chosen) < 0 ? -errno : 0;
}

/* Whatever the client had blocked or ignored is no business of the sandbox. */
static int step_signals(_unused_ struct child *c)
{
	return proc_reset_signals();
}

static int step_capabilities(_unused_ struct child *c)
{
	return caps_keep_for_init();
}

static int step_no_new_privs(_unused_ struct child *c)
{
	(void) umask(022);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int park(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, FD_PARKING);

	if (high < 0)
		return -errno;
	*fd = high;
	return 0;
}

/* Puts the descriptors that init gets in their places; every other one closes at the exec. */
static int step_descriptors(struct child *c)
{
	int control = c->launch->control_fd;
	int r;

	if ((r = park(&control)) < 0 || (r = park(&c->init_fd)) < 0 || (r = park(&c->launch->report_fd)) < 0)
		return r;
	if (c->server_fd >= 0 && (r = park(&c->server_fd)) < 0)
		return r;
	if (dup2(control, INITMSG_CONTROL_FD) < 0)
		return -errno;
	unsigned int first_free = INITMSG_CONTROL_FD + 1;
	if (c->server_fd >= 0) {
		if (dup2(c->server_fd, INITMSG_PROGRAM_FD) < 0)
			return -errno;
		first_free = INITMSG_PROGRAM_FD + 1;
	}
	return fd_cloexec_from(first_free);
}

static int step_execute(struct child *c)
{
	(void) sysx_execveat(c->init_fd, "", (char *const *) (uintptr_t) c->launch->init_argv,
			     (char *const *) (uintptr_t) c->launch->env.vars, AT_EMPTY_PATH);
	return -errno;
}

static const struct child_step {
	int (*run)(struct child *c);
	const char *what; /* completes "the sandbox cannot …" */
} steps[] = {
	{ step_session, "leave the terminal's session" },
	{ step_keyring, "join a keyring of its own" },
	{ step_parent_death, "tie its life to its supervisor's" },
	{ step_ids, "write the id map of its user namespace" },
	{ step_isolate_mounts, "make its mounts private" },
	{ step_programs, "open the programs of cloche" },
	{ step_new_root, "mount a tmpfs for its root" },
	{ step_mounts, "build its root" },
	{ step_loopback, "set up its loopback interface" },
	{ step_hostname, "set its host name" },
	{ step_enter_root, "enter its root" },
	{ step_limits, "set its resource limits" },
	{ step_cpus, "choose its CPUs" },
	{ step_signals, "reset its signals" },
	{ step_capabilities, "drop its capabilities" },
	{ step_no_new_privs, "set no_new_privs" },
	{ step_descriptors, "lay out its descriptors" },
	{ step_execute, "execute cloche-init" },
};

_noreturn_ void child_main(struct launch *launch)
{
	struct child c = { .launch = launch, .root_fd = -EBADF, .init_fd = -EBADF, .server_fd = -EBADF };

	launch->supervisor_fd = fd_close(launch->supervisor_fd);
	for (uint32_t i = 0; i < ARRAY_LEN(steps); i++) {
		int r = steps[i].run(&c);
		if (r < 0) {
			c.report.step = i;
			c.report.errnum = (uint32_t) -r;
			/* Nobody is left to tell when this fails: the pipe's end tells enough. */
			IGNORE_RESULT(fd_write_all(launch->report_fd, &c.report, sizeof(c.report)));
			_exit(1);
		}
	}
	_exit(1);
}

static int explain_mount(const struct mount_op *op, int errnum, struct err *err)
{
	char what[SPEC_PATH_MAX + 128];

	mountplan_describe(op, what, sizeof(what));
	if (errnum == ESTALE)
		return err_set(err, ERR_SYSTEM, errnum,
			       "the sandbox cannot %s: it was replaced by something else since it was checked. Try again", what);
	if (errnum == EROFS && (op->flags & MOUNT_USER))
		return err_set(err, ERR_USAGE, errnum,
			       "the sandbox cannot %s: the target does not exist in a folder of the host, and cloche creates nothing "
			       "there. Choose another target, such as /data", what);
	if (errnum == ELOOP && (op->flags & MOUNT_USER))
		return err_set(err, ERR_USAGE, errnum,
			       "the sandbox cannot %s: the target is, or leads through, a symbolic link. Name the real path", what);
	if (op->kind == MOUNT_PROC && errnum == EPERM)
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox cannot %s: this host hides parts of /proc, as containers do, and the kernel then refuses a "
			       "new one. In Docker give the outer container --security-opt systempaths=unconfined, in Podman "
			       "--security-opt unmask=ALL, in Kubernetes procMount: Unmasked", what);
	return err_set(err, ERR_SYSTEM, errnum, "the sandbox cannot %s: %m", what);
}

int child_explain(const struct launch *launch, const struct child_report *report, struct err *err)
{
	int errnum = (int) report->errnum;

	if (report->step >= ARRAY_LEN(steps))
		return err_set(err, ERR_SYSTEM, EPROTO, "the sandbox failed to start and sent a report that makes no sense");
	const struct child_step *step = &steps[report->step];
	if (step->run == step_mounts && report->op < launch->plan.count)
		return explain_mount(&launch->plan.ops[report->op], errnum, err);
	if ((step->run == step_isolate_mounts || step->run == step_ids) && (errnum == EPERM || errnum == EACCES))
		return userns_diagnose_powerless(step->what, errnum, err);
	return err_set(err, ERR_SYSTEM, errnum, "the sandbox cannot %s: %m", step->what);
}
