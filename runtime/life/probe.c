/*
 * What this host can give: see probe.h. Runs in the launcher.
 *
 * Namespaces are tried one by one so that a refusal can be named; everything else is read off a command in a real sandbox,
 * whose own /proc/self/status says what holds for it.
 */
#include "runtime/life/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/seccomp.h"
#include "runtime/life/launch.h"
#include "runtime/life/supervise.h"
#include "runtime/life/userns_diagnose.h"

enum { STATUS_MAX = 16384 };

struct prober {
	struct probe_finding *findings;
	size_t max, count;
};

static void add(struct prober *p, const char *layer, enum probe_status status, const char *detail, const char *repair)
{
	static struct probe_finding overflow;
	struct probe_finding *f = p->count < p->max ? &p->findings[p->count++] : &overflow;

	f->layer = layer;
	f->status = status;
	(void) snprintf(f->detail, sizeof(f->detail), "%s", detail);
	(void) snprintf(f->repair, sizeof(f->repair), "%s", repair);
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
			add(p, rows[i].layer, PROBE_ACTIVE, rows[i].detail, "");
			continue;
		}
		(void) userns_diagnose(-r, &err);
		all = false;
		if (rows[i].flag == 0) {
			add(p, rows[i].layer, PROBE_MISSING, "cannot be made, and every other layer needs it", err.text);
			break;
		}
		add(p, rows[i].layer, PROBE_MISSING, "cannot be made", err.text);
	}
	return all;
}

/* Runs `cat /proc/self/status` in a real sandbox and stores what it prints. 0 or -errno with @err filled. */
static int sandbox_status(char *text, size_t cap, struct err *err)
{
	static char *const argv[] = { (char *) (uintptr_t) "cat", (char *) (uintptr_t) "/proc/self/status", NULL };
	static struct spec spec;
	struct sandbox sandbox = SANDBOX_NONE;
	_cleanup_fd_ int output = memfd_create("cloche-doctor", MFD_CLOEXEC);

	if (output < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a memory file: %m");
	spec_init(&spec);
	spec.workspace = SPEC_WORKSPACE_NONE;
	int r = supervise_block_signals();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot block signals: %m");
	const int stdio[] = { STDIN_FILENO, output, STDERR_FILENO };
	_cleanup_spawnmsg_ struct spawnmsg message = { 0 };
	r = spawnmsg_make(&message, "/", argv, stdio, err);
	if (r < 0 || (r = launch_start(&spec, &message, &sandbox, err)) < 0)
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

	if (sandbox_status(text, sizeof(text), &err) < 0) {
		add(p, "sandbox", PROBE_MISSING, "a sandbox could not be started", err.text);
		return;
	}
	add(p, "sandbox", PROBE_ACTIVE, "a sandbox was started: read-only root, /proc of its own, nothing of your home", "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool holds = status_has(text, rows[i].line);
		add(p, rows[i].layer, holds ? PROBE_ACTIVE : PROBE_MISSING,
		    holds ? rows[i].detail : "a command inside does not show it in /proc/self/status",
		    holds ? "" : "this is a fault of cloche: please report it");
	}
}

static void probe_filter(struct prober *p)
{
	int r = seccomp_probe();

	if (r < 0)
		add(p, "seccomp", PROBE_MISSING, strerror(-r), "use a kernel with CONFIG_SECCOMP_FILTER");
}

static void probe_limits(struct prober *p)
{
	add(p, "resource limits", PROBE_WEAKER,
	    "approximate: processes per sandbox are exact; memory is bounded for each process's private data, not for the sum; "
	    "CPUs are whole ones; /tmp, home and /dev/shm have fixed sizes", "");
}

static void probe_root(struct prober *p)
{
	char text[PROBE_TEXT_MAX];

	if (geteuid() != 0 || !userns_is_initial())
		return;
	(void) snprintf(text, sizeof(text),
			"you are root: a sandbox runs as the owner of its workspace, or as uid %d on a workspace of root (then its file "
			"system must support id-mapped mounts)", CLOCHE_SANDBOX_UID);
	add(p, "identity", PROBE_ACTIVE, text, "");
}

size_t probe_host(struct probe_finding *findings, size_t max)
{
	struct prober p = { .findings = findings, .max = max };

	probe_filter(&p);
	probe_root(&p);
	if (probe_namespaces(&p))
		probe_sandbox(&p);
	probe_limits(&p);
	return p.count;
}
