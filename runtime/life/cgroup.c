/*
 * The host's side of the sandbox's cgroup: see cgroup.h. Runs in the launcher as the invoking user, or as real root up to
 * cgroup_prepare(); what is below cgroup_place() needs no right but the ownership of the node.
 */
#include "runtime/life/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"

#define REPAIR_CPU \
	"As root: mkdir -p /etc/systemd/system/user@.service.d; printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' > " \
	"/etc/systemd/system/user@.service.d/delegate.conf; then log in anew"

static const struct {
	const char *name, *text;
} backends[CGROUP_BACKENDS] = {
	[CGROUP_NONE] = { "none", "cloche itself, approximately" },
	[CGROUP_OWN] = { "own", "the kernel, in a cgroup below one that is delegated to you" },
	[CGROUP_SYSTEMD] = { "systemd", "the kernel, in a scope that systemd makes" },
	[CGROUP_ROOT] = { "root", "the kernel, in a cgroup that root makes" },
};

const char *cgroup_backend_name(enum cgroup_backend backend)
{
	return backends[backend].name;
}

const char *cgroup_backend_describe(enum cgroup_backend backend)
{
	return backends[backend].text;
}

unsigned int cgroup_needed(const struct spec *spec)
{
	return (spec->memory || spec->memory_swap || spec->command.memory ? (unsigned int) CGROUP_MEMORY : 0) |
	       (spec->pids || spec->command.pids ? (unsigned int) CGROUP_PIDS : 0) |
	       (spec->cpu_milli || spec->cpu_shares || spec->command.cpu_milli ? (unsigned int) CGROUP_CPU : 0);
}

/* --- what is said about it --------------------------------------------------------------------------------------------- */

/* Was the way asked for by its name? Then nothing else will do. */
static bool is_by_name(const struct spec *spec)
{
	return spec->cgroup == SPEC_CGROUP_SYSTEMD || spec->cgroup == SPEC_CGROUP_PATH;
}

static bool must_be_had(const struct spec *spec)
{
	return spec->require_limits || is_by_name(spec);
}

/* Each reason once, and the first repair. */
static int explain_none(const struct spec *spec, const struct cgroup_report *report, struct err *err)
{
	_cleanup_buf_ struct buf why = BUF_INIT(CGROUP_BACKENDS * (CGROUP_WHY_MAX + 2));
	char what[SPEC_PATH_MAX + 64] = "--require-limits: the kernel cannot hold the limits here";
	const char *repair = "";
	int errnum = EOPNOTSUPP;

	for (size_t i = 0; i < CGROUP_BACKENDS; i++) {
		const struct cgroup_miss *miss = &report->missed[i];
		if (miss->errnum == 0)
			continue;
		errnum = miss->errnum;
		buf_addf(&why, "%s%s", why.len > 0 ? "; " : "", miss->why);
		if (repair[0] == '\0')
			repair = miss->repair;
	}
	if (spec->cgroup == SPEC_CGROUP_NONE)
		buf_add_str(&why, "--cgroup none was given");
	if (spec->cgroup == SPEC_CGROUP_SYSTEMD)
		(void) snprintf(what, sizeof(what), "--cgroup systemd cannot be had");
	if (spec->cgroup == SPEC_CGROUP_PATH)
		(void) snprintf(what, sizeof(what), "--cgroup '%s' cannot be used", spec->cgroup_path);
	return err_set(err, ERR_UNSUPPORTED, errnum, "%s: %s.%s%s%s%s", what, buf_cstr(&why), repair[0] ? " Repair: " : "", repair, repair[0] ? "." : "",
		       is_by_name(spec) ? "" : " Or leave --require-limits out: then cloche watches over them itself, approximately");
}

int cgroup_check_required(const struct spec *spec, const struct cgroup_report *report, struct err *err)
{
	unsigned int needed = cgroup_needed(spec);

	if (report->backend == CGROUP_NONE)
		return explain_none(spec, report, err);
	for (unsigned int bit = CGROUP_MEMORY; report->controllers && bit <= CGROUP_IO; bit <<= 1)
		if (needed & ~report->controllers & bit)
			return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
				       "--require-limits: the controller %s is not handed down to '%s', so the kernel cannot hold its limit. %s",
				       cgroup_controller_name((enum cgroup_controller) bit), report->base, REPAIR_CPU);
	return 0;
}

/* --- the ways ---------------------------------------------------------------------------------------------------------- */

static void take_base(struct cgroup_host *c, const struct cgroup_base *base)
{
	c->report.controllers = base->controllers;
	memcpy(c->report.base, base->path, sizeof(c->report.base));
}

static int refused(const struct cgroup_host *c, int r, const struct cgroup_refusal *refusal, struct cgroup_miss *miss)
{
	return cgroup_miss_set(miss, -r, "", "the limit %s%s%s cannot be set in '%s/%s': %m", refusal->group, refusal->group[0] ? "/" : "",
			       refusal->file, c->report.base, c->node.name);
}

/* Hands @controllers down in the node. */
static int enable(struct cgroup_host *c, unsigned int controllers, struct cgroup_miss *miss)
{
	c->report.controllers = cgroup_node_enable(&c->node, controllers);
	if ((c->report.controllers & CGROUP_REQUIRED) == CGROUP_REQUIRED)
		return 0;
	return cgroup_miss_set(miss, EBUSY, "", "the group '%s/%s' does not hand the memory and pids controllers down", c->report.base,
			       c->node.name);
}

static int limit(struct cgroup_host *c, const struct cgroup_owner *owner, struct cgroup_miss *miss)
{
	struct cgroup_refusal refusal;
	int r = cgroup_node_limit(&c->node, c->spec, owner, &refusal);
	return r < 0 ? refused(c, r, &refusal, miss) : 0;
}

/*
 * Makes the node in @base. What only root can do has to be done now; an ordinary user sets the limits while the sandbox is being built,
 * but hands the controllers down before there is a process, which makes the kernel wait for nothing.
 */
static int make_in(struct cgroup_host *c, const struct cgroup_base *base, struct cgroup_miss *miss)
{
	take_base(c, base);
	int r = cgroup_node_make(&c->node, base->fd);
	if (r < 0)
		return cgroup_miss_set(miss, -r, "", "no group can be made in '%s': %m", base->path);
	r = enable(c, base->controllers, miss);
	if (r == 0 && c->owner.change)
		r = limit(c, &c->owner, miss);
	if (r < 0)
		(void) cgroup_node_finish(&c->node);
	return r;
}

static int finish_base(struct cgroup_host *c, bool for_real, int r, struct cgroup_base *base, struct cgroup_miss *miss)
{
	if (r == 0 && for_real)
		r = make_in(c, base, miss);
	else if (r == 0)
		take_base(c, base);
	cgroup_base_done(base);
	return r;
}

static bool is_root(const struct cgroup_host *c)
{
	return c->owner.change || geteuid() == 0;
}

static int try_own(struct cgroup_host *c, bool for_real, struct cgroup_miss *miss)
{
	struct cgroup_base base = CGROUP_BASE_NONE;
	int r = c->spec->cgroup == SPEC_CGROUP_PATH ? cgroup_find_path(c->spec->cgroup_path, for_real, &base, miss)
						    : cgroup_find_own(&c->view, !is_root(c), for_real, &base, miss);

	return finish_base(c, for_real, r, &base, miss);
}

/*
 * @pid is alone in the scope @path. It has to be moved down before controllers can be handed down beside it. This is where the kernel
 * waits for a grace period or two, which a clone into the group avoids.
 */
static int enter_scope(struct cgroup_host *c, const char *path, pid_t pid, struct cgroup_miss *miss)
{
	struct cgroup_base base = CGROUP_BASE_NONE;

	int r = cgroup_find_scope(&c->view, path, &base, miss);
	if (r < 0)
		return r;
	take_base(c, &base);
	r = cgroup_node_make(&c->node, base.fd);
	/* systemd takes an empty scope down with all in it. It leaves it for good when something vanishes before its eyes. */
	c->node.is_kept = r == 0;
	if (r == 0)
		r = cgroup_write_number(c->node.init_fd, "cgroup.procs", (uint64_t) pid);
	if (r < 0)
		r = cgroup_miss_set(miss, -r, "", "the sandbox cannot be moved into a group of its own in '%s': %m", base.path);
	else
		r = enable(c, cgroup_enable(base.fd, base.controllers), miss);
	cgroup_base_done(&base);
	return r;
}

/* A scope of the system's manager is root's, so all is made in it before root is given up, with a process that only holds it. */
static int hold_scope(struct cgroup_host *c, struct cgroup_miss *miss)
{
	char path[SPEC_PATH_MAX];
	struct err err = { .errnum = 0 };

	int r = scope_hold(&c->scope, path, sizeof(path), &err);
	if (r < 0)
		r = cgroup_miss_set(miss, -r, "", "%s", err.text);
	else if ((r = enter_scope(c, path, c->scope.holder_pid, miss)) == 0)
		r = limit(c, &c->owner, miss);
	if (r < 0) {
		scope_done(&c->scope);
		(void) cgroup_node_finish(&c->node);
	}
	return r;
}

static int try_systemd(struct cgroup_host *c, bool for_real, struct cgroup_miss *miss)
{
	struct scope_request request = { .system = c->owner.change };
	struct err err = { .errnum = 0 };

	int r = scope_is_likely(&request, &err);
	if (r == 0 && for_real)
		r = scope_spawn(&c->scope, &request, &err);
	if (r < 0)
		return cgroup_miss_set(miss, -r, "", "%s", err.text);
	return for_real && c->owner.change ? hold_scope(c, miss) : 0;
}

static int try_root(struct cgroup_host *c, bool for_real, struct cgroup_miss *miss)
{
	struct cgroup_base base = CGROUP_BASE_NONE;

	if (!is_root(c))
		return -EPERM; /* nobody expects it, so nobody is told */
	int r = cgroup_find_root(&c->view, for_real, &base, miss);
	return finish_base(c, for_real, r, &base, miss);
}

static const struct way {
	enum cgroup_backend backend;
	int (*try)(struct cgroup_host *c, bool for_real, struct cgroup_miss *miss);
} ways[] = {
	{ CGROUP_OWN, try_own },
	{ CGROUP_SYSTEMD, try_systemd },
	{ CGROUP_ROOT, try_root },
};

static bool is_asked_for(const struct spec *spec, enum cgroup_backend backend)
{
	switch (spec->cgroup) {
	case SPEC_CGROUP_PATH:
		return backend == CGROUP_OWN;
	case SPEC_CGROUP_SYSTEMD:
		return backend == CGROUP_SYSTEMD;
	case SPEC_CGROUP_NONE:
		return false;
	case SPEC_CGROUP_AUTO:
		break;
	}
	return true;
}

static void settle_for_none(struct cgroup_host *c)
{
	c->report.backend = CGROUP_NONE;
	c->report.controllers = 0;
	c->report.base[0] = '\0';
}

/* Takes the next way that is open, or none. 0, or -errno with @err filled when none will not do. */
static int choose(struct cgroup_host *c, bool for_real, struct err *err)
{
	for (; c->next_way < ARRAY_LEN(ways); c->next_way++) {
		const struct way *way = &ways[c->next_way];
		if (!is_asked_for(c->spec, way->backend))
			continue;
		c->report.backend = way->backend;
		if (way->try(c, for_real, &c->report.missed[way->backend]) < 0)
			continue;
		c->next_way++;
		return c->spec->require_limits ? cgroup_check_required(c->spec, &c->report, err) : 0;
	}
	settle_for_none(c);
	return must_be_had(c->spec) ? explain_none(c->spec, &c->report, err) : 0;
}

int cgroup_prepare(struct cgroup_host *c, const struct spec *spec, const struct cgroup_owner *owner, bool for_real, struct err *err)
{
	int pair[2];

	c->spec = spec;
	c->owner = *owner;
	c->report.is_certain = for_real;
	/* What makes all ways impossible is told with the first of them. */
	enum cgroup_backend first = spec->cgroup == SPEC_CGROUP_SYSTEMD ? CGROUP_SYSTEMD : CGROUP_OWN;
	bool is_named = spec->cgroup == SPEC_CGROUP_PATH; /* then it is for messages only */
	if (spec->cgroup != SPEC_CGROUP_NONE && cgroup_view_open(&c->view, is_named ? NULL : &c->report.missed[first]) < 0 && !is_named)
		c->next_way = ARRAY_LEN(ways);
	int r = choose(c, for_real, err);
	if (r < 0 || !for_real || c->report.backend == CGROUP_NONE)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a socket pair: %m");
	c->ours_fd = pair[0];
	c->message_fd = pair[1];
	return 0;
}

/* --- the clone --------------------------------------------------------------------------------------------------------- */

int cgroup_clone_into(const struct cgroup_host *c)
{
	return c->node.init_fd;
}

static void no_message(struct cgroup_host *c)
{
	c->message_fd = fd_close(c->message_fd);
	c->ours_fd = fd_close(c->ours_fd);
}

int cgroup_clone_failed(struct cgroup_host *c, int errnum, struct err *err)
{
	static const int causes[] = { EACCES, EBUSY, ENOENT, ENODEV, EOPNOTSUPP };
	bool is_cause = false;

	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		is_cause = is_cause || causes[i] == errnum;
	if (!is_cause || c->node.init_fd < 0)
		return 0;
	IGNORE_RESULT(cgroup_miss_set(&c->report.missed[c->report.backend], errnum,
				      "start cloche in a group below it, or have the group that is above both, with its cgroup.procs, given to you",
				      "no process of our group '%s%s' may be started in '%s': %m", c->view.mount, c->view.own, c->report.base));
	scope_release(&c->scope);
	(void) cgroup_node_finish(&c->node);
	if (c->owner.change) /* root's rights for the other ways are gone */
		c->next_way = ARRAY_LEN(ways);
	int r = choose(c, true, err);
	if (r < 0)
		return r;
	if (c->report.backend == CGROUP_NONE)
		no_message(c);
	return 1;
}

void cgroup_forget(struct cgroup_host *c)
{
	c->ours_fd = fd_close(c->ours_fd);
	c->scope.fd = fd_close(c->scope.fd);
	c->scope.holder_fd = fd_close(c->scope.holder_fd);
}

/* --- the sandbox's first process is there ------------------------------------------------------------------------------ */

static int place_in_scope(struct cgroup_host *c, pid_t pid, struct cgroup_miss *miss)
{
	char path[SPEC_PATH_MAX];
	struct err err = { .errnum = 0 };

	int r = scope_place(&c->scope, pid, path, sizeof(path), &err);
	return r < 0 ? cgroup_miss_set(miss, -r, "", "%s", err.text) : enter_scope(c, path, pid, miss);
}

static int place(struct cgroup_host *c, pid_t pid, struct cgroup_miss *miss)
{
	const struct cgroup_owner nobody = { .change = false };

	if (c->owner.change) /* root has done all of it */
		return 0;
	int r = c->report.backend == CGROUP_SYSTEMD ? place_in_scope(c, pid, miss) : 0;
	return r < 0 ? r : limit(c, &nobody, miss);
}

static int tell(struct cgroup_host *c, struct err *err)
{
	struct cgroup_message m = { .is_required = must_be_had(c->spec) };
	struct stat st;

	if (c->report.backend != CGROUP_NONE) {
		if (cgroup_join(m.path, c->report.base, "/") < 0 || cgroup_join(m.path, m.path, c->node.name) < 0 ||
		    fstat(c->node.fd, &st) < 0)
			return err_set(err, ERR_SYSTEM, ENAMETOOLONG, "the path of the cgroup '%s/%s' is too long", c->report.base, c->node.name);
		m.device = st.st_dev;
		m.inode = st.st_ino;
	}
	/* When the child is dead, its report tells why. A message of this size fits into an empty socket. */
	IGNORE_RESULT(send(c->ours_fd, &m, sizeof(m), MSG_NOSIGNAL));
	return 0;
}

int cgroup_place(struct cgroup_host *c, pid_t pid, struct err *err)
{
	if (c->ours_fd < 0)
		return 0;
	c->message_fd = fd_close(c->message_fd);
	int r = place(c, pid, &c->report.missed[c->report.backend]);
	if (r < 0)
		settle_for_none(c);
	if (r < 0 && must_be_had(c->spec))
		return explain_none(c->spec, &c->report, err);
	r = c->spec->require_limits ? cgroup_check_required(c->spec, &c->report, err) : 0;
	if (r == 0)
		r = tell(c, err);
	c->ours_fd = fd_close(c->ours_fd);
	c->node.init_fd = fd_close(c->node.init_fd);
	scope_release(&c->scope); /* the sandbox's first process is in it now */
	return r;
}

void cgroup_done(struct cgroup_host *c)
{
	no_message(c);
	scope_done(&c->scope);
	(void) cgroup_node_finish(&c->node);
	cgroup_view_done(&c->view);
}

/* --- trying ------------------------------------------------------------------------------------------------------------ */

/* A process in the group that does nothing until it is killed. -errno when it cannot be. */
static pid_t start_probe(struct cgroup_host *c)
{
	pid_t parent = getpid();

	for (;;) {
		int into = cgroup_clone_into(c);
		struct clone_args args = { .exit_signal = SIGCHLD };
		if (into >= 0) {
			args.flags = CLONE_INTO_CGROUP;
			args.cgroup = (__u64) into;
		}
		pid_t pid = sysx_clone3(&args);
		if (pid == 0) {
			while (proc_die_with_parent(parent) == 0)
				(void) pause();
			_exit(1);
		}
		if (pid >= 0)
			return pid;
		int r = cgroup_clone_failed(c, errno, NULL);
		if (r <= 0)
			return r < 0 ? r : -errno;
	}
}

void cgroup_probe(const struct spec *spec, const struct cgroup_owner *owner, struct cgroup_report *ret)
{
	struct cgroup_host c = CGROUP_HOST_NONE;
	pid_t pid = -1;

	int r = cgroup_prepare(&c, spec, owner, true, NULL);
	if (r == 0 && cgroup_is_wanted(&c))
		r = pid = start_probe(&c);
	if (r > 0)
		r = cgroup_place(&c, pid, NULL);
	if (pid > 0) {
		(void) kill(pid, SIGKILL);
		(void) proc_wait(pid, NULL);
	}
	if (r < 0)
		settle_for_none(&c);
	*ret = c.report;
	cgroup_done(&c);
}
