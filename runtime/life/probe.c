/*
 * What this host can give: see probe.h. Runs in the launcher.
 *
 * Nothing is believed because a version or a setting says so. Calls and namespaces are tried one by one, so that a refusal can be
 * named; the rest is read off a command in a real sandbox, whose own /proc/self/status says what holds for it.
 */
#include "runtime/life/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/userns.h"
#include "runtime/life/graded.h"
#include "runtime/life/launch.h"
#include "runtime/life/prober.h"
#include "runtime/life/supervise.h"
#include "runtime/life/userns_diagnose.h"

enum { STATUS_MAX = 16384 };

void prober_add(struct prober *p, enum prober_need need, const char *layer, enum probe_status status, const char *detail, ...)
{
	static struct probe_finding overflow;
	struct probe_finding *f = p->count < p->max ? &p->findings[p->count++] : &overflow;
	va_list ap;

	f->layer = layer;
	f->status = status;
	f->required = need == REQUIRED;
	f->repair[0] = '\0';
	va_start(ap, detail);
	(void) vsnprintf(f->detail, sizeof(f->detail), detail, ap);
	va_end(ap);
}

void prober_repair(struct prober *p, const char *repair, ...)
{
	struct probe_finding *f = &p->findings[p->count - 1];
	va_list ap;

	va_start(ap, repair);
	(void) vsnprintf(f->repair, sizeof(f->repair), repair, ap);
	va_end(ap);
}

/* Makes a namespace in a child that ends at once. 0 or -errno. */
static int try_namespace(uint64_t flags)
{
	struct clone_args args = { .flags = CLONE_NEWUSER | flags, .exit_signal = SIGCHLD };
	pid_t pid = sysx_clone3(&args);

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	(void) proc_wait(pid, NULL);
	return 0;
}

/* A user namespace that was made may still be powerless. */
static bool probe_rights(struct prober *p)
{
	struct err err = { .code = ERR_NONE };
	int r = graded_try_rights();

	if (r == 0)
		return true;
	if (r == -EPERM || r == -EACCES)
		(void) userns_diagnose_powerless("use its user namespace", -r, &err);
	else
		(void) err_set(&err, ERR_SYSTEM, -r, "the sandbox cannot use its user namespace: %m");
	prober_add(p, REQUIRED, "rights in them", PROBE_MISSING, "namespaces can be made, but a user namespace gives no rights here");
	prober_repair(p, "%s", err.text);
	return false;
}

static bool probe_namespaces(struct prober *p)
{
	static const struct {
		const char *layer;
		uint64_t flag;
		const char *detail;
	} rows[] = {
		{ "user namespace", 0, "the sandbox's rights are worth nothing on the host" },
		{ "PID namespace", CLONE_NEWPID, "processes of the host cannot be seen or signalled" },
		{ "mount namespace", CLONE_NEWNS, "the sandbox has a file tree of its own" },
		{ "network namespace", CLONE_NEWNET, "no network but a loopback of its own" },
		{ "IPC namespace", CLONE_NEWIPC, "shared memory and message queues are its own" },
		{ "UTS namespace", CLONE_NEWUTS, "the host name is its own" },
		{ "cgroup namespace", CLONE_NEWCGROUP, "the host's control groups cannot be seen" },
	};
	bool all = true;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = { .code = ERR_NONE };
		int r = try_namespace(rows[i].flag);

		if (r == 0) {
			prober_add(p, REQUIRED, rows[i].layer, PROBE_ACTIVE, "%s", rows[i].detail);
			continue;
		}
		(void) userns_diagnose(-r, &err);
		all = false;
		prober_add(p, REQUIRED, rows[i].layer, PROBE_MISSING,
			   rows[i].flag == 0 ? "cannot be made, and every other layer needs it" : "cannot be made");
		prober_repair(p, "%s", err.text);
		if (rows[i].flag == 0)
			break;
	}
	return all && probe_rights(p);
}

static void probe_proc(struct prober *p)
{
	int r = graded_try_proc();

	if (r == 0) {
		prober_add(p, REQUIRED, "/proc of its own", PROBE_ACTIVE, "shows the sandbox's processes only; each command has one too");
		return;
	}
	if (r != -EPERM) {
		prober_add(p, REQUIRED, "/proc of its own", PROBE_MISSING, "cannot be mounted: %s", strerror(-r));
		return;
	}
	bool weaker = graded_try_shared_proc() == 0;
	if (weaker && (p->spec.allow_weaker & SPEC_WEAKER_PROC))
		prober_add(p, REQUIRED, "/proc of its own", PROBE_WEAKER, "%s", graded_describe(SPEC_WEAKER_PROC));
	else
		prober_add(p, REQUIRED, "/proc of its own", PROBE_MISSING,
			   "this host hides parts of /proc, as containers do, and the kernel then refuses a new one");
	prober_repair(p, GRADED_PROC_REPAIR "%s", weaker ? "; or accept the container's own, read-only: --allow-weaker=proc" : "");
}

/* A layer that may be weaker where trying it is answered in one certain way. */
struct graded_probe {
	const char *layer;
	enum spec_weaker weaker;
	int (*try)(void);
	int answer;
	const char *detail, *missing, *repair;
};

static void probe_graded(struct prober *p, const struct graded_probe *row)
{
	int r = row->try();

	if (r == 0) {
		prober_add(p, REQUIRED, row->layer, PROBE_ACTIVE, "%s", row->detail);
		return;
	}
	if (r == row->answer && (p->spec.allow_weaker & row->weaker))
		prober_add(p, REQUIRED, row->layer, PROBE_WEAKER, "%s", graded_describe(row->weaker));
	else
		prober_add(p, REQUIRED, row->layer, PROBE_MISSING, "%s: %s", row->missing, strerror(-r));
	if (r == row->answer)
		prober_repair(p, "%s", row->repair);
}

static void probe_root_and_hostname(struct prober *p)
{
	static const struct graded_probe rows[] = {
		{ "root of its own", SPEC_WEAKER_ROOT, graded_try_root, -EINVAL, "the host's root is detached before anything runs",
		  "the host's root cannot be left (pivot_root)", GRADED_ROOT_REPAIR },
		{ "host name", SPEC_WEAKER_HOSTNAME, graded_try_hostname, -EPERM, "the host's name stays unknown", "none can be set",
		  GRADED_HOSTNAME_REPAIR },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		probe_graded(p, &rows[i]);
}

/* Runs `cat /proc/self/status` in a real sandbox and stores what it prints. 0 or -errno with @err filled. */
static int sandbox_status(struct spec *spec, char *text, size_t cap, struct err *err)
{
	static char *const argv[] = { (char *) (uintptr_t) "cat", (char *) (uintptr_t) "/proc/self/status", NULL };
	struct sandbox sandbox = SANDBOX_NONE;
	_cleanup_fd_ int output = memfd_create("cloche-doctor", MFD_CLOEXEC);

	if (output < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a memory file: %m");
	int r = supervise_block_signals();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot block signals: %m");
	const int stdio[] = { STDIN_FILENO, output, STDERR_FILENO };
	_cleanup_spawnmsg_ struct spawnmsg message = { 0 };
	graded_choose(spec);
	r = spawnmsg_make(&message, "/", argv, stdio, err);
	if (r < 0 || (r = launch_start(spec, &message, NULL, &sandbox, err)) < 0)
		return r;
	r = supervise_run(&sandbox, "/", argv[0], err);
	if (r != 0)
		return r < 0 ? r : err_set(err, ERR_SYSTEM, EPROTO, "a command in the sandbox ended with status %d", r);
	ssize_t n = pread(output, text, cap - 1, 0);
	if (n <= 0)
		return err_set(err, ERR_SYSTEM, EPROTO, "a command in the sandbox printed nothing");
	text[n] = '\0';
	return 0;
}

static bool status_has(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at && at[strlen(line)] == '\n';
}

static void probe_sandbox(struct prober *p)
{
	static const struct {
		const char *layer, *line, *detail;
	} rows[] = {
		{ "capabilities", "\nCapEff:\t0000000000000000", "commands have none" },
		{ "capability bound", "\nCapBnd:\t0000000000000000", "commands can never get one" },
		{ "no_new_privs", "\nNoNewPrivs:\t1", "set-user-ID programs give nothing" },
		{ "system-call filter", "\nSeccomp:\t2", "commands are filtered" },
	};
	static char text[STATUS_MAX];
	struct err err = { .code = ERR_NONE };

	if (sandbox_status(&p->spec, text, sizeof(text), &err) < 0) {
		prober_add(p, REQUIRED, "sandbox", PROBE_MISSING, "a sandbox could not be started");
		prober_repair(p, "%s", err.text);
		return;
	}
	prober_add(p, REQUIRED, "sandbox", PROBE_ACTIVE, "a sandbox was started: read-only root, nothing of your home");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool holds = status_has(text, rows[i].line);
		prober_add(p, REQUIRED, rows[i].layer, holds ? PROBE_ACTIVE : PROBE_MISSING, "%s",
			   holds ? rows[i].detail : "a command inside does not show it in /proc/self/status");
		if (!holds)
			prober_repair(p, "this is a fault of cloche: please report it");
	}
}

/* Real root has to show its own folders to the unprivileged identity that it becomes. */
static void probe_root(struct prober *p)
{
	if (!userns_is_host_root())
		return;
	prober_add(p, REQUIRED, "identity", PROBE_ACTIVE,
		   "you are root: a sandbox runs as the owner of its workspace, or as uid %d on a workspace of root", CLOCHE_SANDBOX_UID);
	_cleanup_fd_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int tree = here < 0 ? -errno : userns_idmapped_tree(here, 0, 0, 0, CLOCHE_SANDBOX_UID, CLOCHE_SANDBOX_UID);
	if (tree >= 0) {
		prober_add(p, OPTIONAL, "id-mapped mounts", PROBE_ACTIVE, "the current folder's file system can show root's files to that uid");
		return;
	}
	prober_add(p, OPTIONAL, "id-mapped mounts", PROBE_MISSING,
		   "the current folder's file system cannot show root's files to another uid: %s", strerror(-tree));
	prober_repair(p, "for a workspace that belongs to root: give it to another user (chown), or start cloche as one");
}

size_t probe_host(const struct spec *asked, struct probe_finding *findings, size_t max, struct cgroup_report *ret_cgroup)
{
	static struct prober p;

	p = (struct prober) { .findings = findings, .max = max };
	spec_init(&p.spec);
	p.spec.workspace = SPEC_WORKSPACE_NONE;
	p.spec.allow_weaker = asked->allow_weaker;
	p.spec.cgroup = asked->cgroup;
	p.spec.cgroup_path = asked->cgroup_path;
	p.spec.require_limits = asked->require_limits;
	probe_kernel(&p);
	probe_programs(&p);
	probe_root(&p);
	probe_confinement(&p);
	probe_subid(&p);
	probe_state(&p);
	probe_apparmor(&p);
	probe_cgroup(&p);
	if (probe_namespaces(&p)) {
		probe_proc(&p);
		probe_root_and_hostname(&p);
		probe_sandbox(&p);
	}
	probe_limits(&p);
	*ret_cgroup = p.cgroup;
	return p.count;
}
