/*
 * The child side of a launch: see child.h.
 *
 * Runs as the first process of the new namespaces, with every capability over the new user namespace and none over the host.
 * It is a copy of the launcher: it allocates nothing, prints nothing and takes no lock; all it needs was prepared in
 * struct launch. The order of the steps is part of the design; each line of the table says what its step is for.
 */
#include "runtime/life/child.h"

#include <assert.h>
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
#include "runtime/base/wall.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/mountapply.h"
#include "runtime/kern/netns.h"
#include "runtime/life/graded.h"
#include "runtime/life/launch.h"
#include "runtime/life/userns_diagnose.h"
#include "runtime/spec/initmsg.h"

static_assert(INITMSG_VIEWS == 2, "step_descriptors() names each of them");

enum { FD_PARKING = 16 }; /* descriptors wait above this number while the low ones are laid out */

struct child {
	struct launch *launch;
	struct child_report report;
	int root_fd;
	int init_fd;
	int server_fd;
	int cgroup_fd; /* a detached mount of the sandbox's cgroup, or -EBADF */
};

/* A session of its own: no controlling terminal to push characters into (TIOCSTI), no group to share signals with. */
static int step_session(_unused_ struct child *c)
{
	return wall_stands(WALL_SESSION) && setsid() < 0 ? -errno : 0;
}

/*
 * A session keyring of its own. Not required to succeed: it is a second wall behind the system-call filter, which refuses
 * keyctl(2), and the kernel counts such keyrings against a small quota of the user.
 */
static int step_keyring(_unused_ struct child *c)
{
	if (wall_stands(WALL_KEYRING))
		(void) syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}

/* The sandbox dies with its supervisor, even when that one was killed before this step. */
static int step_parent_death(struct child *c)
{
	struct pollfd control = { .fd = c->launch->control_fd };

	if (wall_stands(WALL_PARENT_DEATH) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (poll(&control, 1, 0) > 0 && (control.revents & POLLHUP))
		_exit(1);
	return 0;
}

static bool is_in(const char *const *list, size_t count, const char *start, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] >= start && list[i] < start + len)
			return true;
	return false;
}

/*
 * Launched by root, this copy of the launcher has the id of the workspace's owner, who can look into it while userns_apply() needs it
 * to be dumpable. Root's environment is none of his business; what the sandbox is given of it stays.
 */
static void forget_environment(const struct launch *l)
{
	for (char **v = environ; v && *v; v++) {
		size_t len = strlen(*v);
		if (!is_in(l->env.vars, l->env.count, *v, len) && !is_in(l->init_argv, l->init_argc, *v, len))
			memset(*v, 0, len);
	}
}

static int step_ids(struct child *c)
{
	if (c->launch->host.launched_by_root)
		forget_environment(c->launch);
	return userns_apply(c->launch->proc_fd, &c->launch->map, c->launch->ids_fd);
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
	return wall_stands(WALL_NETNS) ? netns_loopback_up() : 0;
}

static int step_hostname(struct child *c)
{
	const char *name = c->launch->spec->hostname;

	if (!wall_stands(WALL_UTSNS) || (c->launch->spec->weaker & SPEC_WEAKER_HOSTNAME))
		return 0;
	return sethostname(name, strlen(name)) < 0 ? -errno : 0;
}

/* The node by its path, which is certain to be it only when it is the object that we were told of. Descriptor or -errno. */
static int open_node(const struct cgroup_message *m)
{
	struct stat st;
	_cleanup_fd_ int fd = sysx_open_tree(AT_FDCWD, m->path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_dev == m->device && st.st_ino == m->inode ? TAKE_FD(fd) : -ESTALE;
}

/*
 * The first process stays in the host's cgroup namespace when it has a cgroup: the kernel lets it start commands beside its own group
 * only then. The server and each command get a namespace of their own (init/leaf.h).
 */
static int step_cgroup(struct child *c)
{
	struct cgroup_host *cgroup = &c->launch->host.cgroup;
	struct cgroup_message m;

	if (!cgroup_is_wanted(cgroup))
		return 0;
	int r = fd_read_exact(cgroup->message_fd, &m, sizeof(m));
	if (r < 0)
		return r;
	if (m.inode != 0) {
		c->cgroup_fd = open_node(&m);
		if (c->cgroup_fd >= 0)
			return 0;
		if (m.is_required)
			return c->cgroup_fd;
	}
	return wall_stands(WALL_CGROUPNS) && unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

static int step_enter_root(struct child *c)
{
	return c->launch->spec->weaker & SPEC_WEAKER_ROOT ? mountapply_enter_chroot() : mountapply_enter();
}

/*
 * No core dumps: the kernel would hand them to a program of the host, and with it what the agent put into its memory. With a limit of
 * 0 it still does when core_pattern names a program; 1, too small for any core file, is what keeps it from that too. The filter of
 * commands keeps it at 1. Where the caller's own limit is 0, that is all there is. Limits for commands only are set by init.
 */
static int step_limits(_unused_ struct child *c)
{
	static const struct rlimit limits[] = { { 1, 1 }, { 0, 0 } };

	if (!wall_stands(WALL_LIMITS) || setrlimit(RLIMIT_CORE, &limits[0]) == 0)
		return 0;
	return setrlimit(RLIMIT_CORE, &limits[1]) < 0 ? -errno : 0;
}

/* Whatever the client had blocked or ignored is no business of the sandbox. */
static int step_signals(_unused_ struct child *c)
{
	return proc_reset_signals();
}

static int step_capabilities(struct child *c)
{
	return caps_keep_for_init(c->cgroup_fd < 0);
}

static int step_no_new_privs(_unused_ struct child *c)
{
	(void) umask(022);
	return wall_stands(WALL_NO_NEW_PRIVS) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
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
	struct launch *l = c->launch;
	int control = l->control_fd;
	const struct {
		int *fd; /* holds a negative number when there is none */
		int place;
	} given[] = {
		{ &control, INITMSG_CONTROL_FD },
		{ &c->server_fd, INITMSG_PROGRAM_FD },
		{ &l->filter_fd, INITMSG_FILTER_FD },
		{ &l->views[0], INITMSG_VIEW_FD },
		{ &l->views[1], INITMSG_VIEW_FD + 1 },
		{ &c->cgroup_fd, INITMSG_CGROUP_FD },
		{ &l->policy_fd, INITMSG_POLICY_FD },
	};
	int r;

	if ((r = park(&c->init_fd)) < 0 || (r = park(&l->report_fd)) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		if (*given[i].fd >= 0 && (r = park(given[i].fd)) < 0)
			return r;
	r = fd_cloexec_from(STDERR_FILENO + 1);
	for (size_t i = 0; i < ARRAY_LEN(given) && r == 0; i++)
		if (*given[i].fd >= 0 && dup2(*given[i].fd, given[i].place) < 0)
			r = -errno;
	return r;
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
	const char *why;  /* what it is good for */
} steps[] = {
	{ step_session, "leave the terminal's session", "no controlling terminal to push characters into, no process group shared with the host" },
	{ step_keyring, "join a keyring of its own", "keys of the caller's session stay with the caller" },
	{ step_parent_death, "tie its life to its supervisor's", "nothing outlives the supervisor, however that ends" },
	{ step_ids, "write the id map of its user namespace", "one user and one group exist inside; setgroups is denied" },
	{ step_isolate_mounts, "make its mounts private", "no mount spreads from the sandbox to the host, or the other way" },
	{ step_programs, "open the programs of cloche", "they are executed from read-only mounts that nobody inside can write through" },
	{ step_new_root, "mount a tmpfs for its root", "what is not put into it does not exist inside" },
	{ step_mounts, "build its root", "the mount operations, in their order" },
	{ step_loopback, "set up its loopback interface", "programs that talk to themselves over localhost work" },
	{ step_hostname, "set its host name", "the host's name stays unknown" },
	{ step_cgroup, "open its cgroup", "init can give each command limits that the kernel holds; nothing else inside reaches a cgroup" },
	{ step_enter_root, "enter its root", "the host's root is detached: no path leads there any more" },
	{ step_limits, "set its resource limits", "no core dumps, which the kernel would hand to a program of the host" },
	{ step_signals, "reset its signals", "what the caller blocks or ignores is no business of the sandbox" },
	{ step_capabilities, "drop its capabilities", "init keeps what it needs to part commands; all others are gone for good" },
	{ step_no_new_privs, "set no_new_privs", "set-user-ID programs give nothing" },
	{ step_descriptors, "lay out its descriptors", "no open file of the caller gets inside but the three standard streams" },
	{ step_execute, "execute cloche-init", "memory of the caller, with whatever secrets, is replaced" },
};

bool child_step_describe(size_t i, const char **ret_what, const char **ret_why)
{
	if (i >= ARRAY_LEN(steps))
		return false;
	*ret_what = steps[i].what;
	*ret_why = steps[i].why;
	return true;
}

_noreturn_ void child_main(struct launch *launch)
{
	struct child c = { .launch = launch, .root_fd = -EBADF, .init_fd = -EBADF, .server_fd = -EBADF, .cgroup_fd = -EBADF };

	launch->supervisor_fd = fd_close(launch->supervisor_fd);
	launch->ids_ours_fd = fd_close(launch->ids_ours_fd);
	cgroup_forget(&launch->host.cgroup);
	janitor_forget(&launch->host.janitor);
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
			       "there. Make it first (mkdir), or choose another target, such as /data", what);
	if (errnum == ELOOP && (op->flags & MOUNT_USER))
		return err_set(err, ERR_USAGE, errnum,
			       "the sandbox cannot %s: the target is, or leads through, a symbolic link. Name the real path", what);
	if (op->kind == MOUNT_ENTRIES && errnum == E2BIG)
		return err_set(err, ERR_USAGE, errnum,
			       "the sandbox cannot %s: it has more than %d, and one is missing that something is to be mounted at. Make "
			       "the folder that is missing (mkdir); then they need not be shown one by one", what, MOUNTPLAN_ENTRIES_MAX);
	if (op->kind == MOUNT_PROC && errnum == EPERM)
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox cannot %s: this host hides parts of /proc, as containers do, and the kernel then refuses a new "
			       "one. Repair: " GRADED_PROC_REPAIR "; or accept the container's own, read-only: --allow-weaker=proc", what);
	return err_set(err, ERR_SYSTEM, errnum, "the sandbox cannot %s: %m", what);
}

int child_explain(const struct launch *launch, const struct child_report *report, struct err *err)
{
	int errnum = (int) report->errnum;

	if (report->step >= ARRAY_LEN(steps))
		return err_set(err, ERR_SYSTEM, EPROTO, "the sandbox failed to start and sent a report that makes no sense");
	const struct child_step *step = &steps[report->step];
	if (errnum == ENOSYS)
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox cannot %s: this kernel lacks a system call, or the filter of a container around us hides it. cloche "
			       "needs Linux 5.12 or later; `cloche doctor` names the call", step->what);
	if (step->run == step_hostname && errnum == EPERM)
		return err_set(err, ERR_UNSUPPORTED, errnum, "the sandbox cannot %s: %m. Repair: " GRADED_HOSTNAME_REPAIR, step->what);
	if (step->run == step_cgroup)
		return err_set(err, ERR_UNSUPPORTED, errnum, "the sandbox cannot open its cgroup in '%s': %m. Start it without one: --cgroup none",
			       launch->host.cgroup.report.base);
	if (step->run == step_enter_root && errnum == EINVAL)
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox cannot %s: this host runs from its initial root file system, which pivot_root(2) cannot leave. "
			       "Repair: " GRADED_ROOT_REPAIR, step->what);
	if (step->run == step_mounts && report->op < launch->plan.count && launch->plan.ops[report->op].kind == MOUNT_WAIT)
		return janitor_explain(&launch->host.janitor, launch->host.protect, err);
	if (step->run == step_mounts && report->op < launch->plan.count)
		return explain_mount(&launch->plan.ops[report->op], errnum, err);
	if ((step->run == step_isolate_mounts || step->run == step_ids) && (errnum == EPERM || errnum == EACCES))
		return userns_diagnose_powerless(step->what, errnum, err);
	return err_set(err, ERR_SYSTEM, errnum, "the sandbox cannot %s: %m", step->what);
}
