/*
 * How limits can be held here, for `cloche doctor`: see prober.h. Runs in the launcher. It is tried: a control group is made as a
 * launch makes one, with a process in it.
 */
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/kern/userns.h"
#include "runtime/life/cgroup.h"
#include "runtime/life/prober.h"

/* Where a user's manager hands down less than there is. Two lines of a file, written as printf(1) takes them. */
#define DELEGATE_REPAIR                                                                                                \
	"as root: mkdir -p /etc/systemd/system/user@.service.d; printf '[Service]\\nDelegate=cpu io memory pids\\n' "          \
	">/etc/systemd/system/user@.service.d/delegate.conf; systemctl daemon-reload; then log out of all sessions, and in again"

/* What a limit needs, and what holds it where that cannot be had. */
static const struct {
	enum cgroup_controller controller;
	const char *what;
	const char *else_held;
} kinds[] = {
	{ CGROUP_MEMORY, "memory", "init adds up what all commands use, and ends the largest" },
	{ CGROUP_CPU, "CPU time", "affinity, and init stops commands for moments" },
	{ CGROUP_PIDS, "processes", "the kernel counts those of the sandbox" },
};

void probe_cgroup(struct prober *p)
{
	bool is_root = userns_is_host_root();
	struct cgroup_owner owner = {
		.change = is_root, .uid = is_root ? CLOCHE_SANDBOX_UID : geteuid(), .gid = is_root ? CLOCHE_SANDBOX_UID : getegid(),
	};

	cgroup_probe(&p->spec, &owner, &p->cgroup);
}

/* "memory, CPU time and processes": those whose controller is among @controllers. Memory and processes always are, in a group. */
static void add_held_kinds(struct buf *out, unsigned int controllers)
{
	const char *names[ARRAY_LEN(kinds)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (controllers & (unsigned int) kinds[i].controller)
			names[count++] = kinds[i].what;
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", names[i]);
}

/* Limits that are not exact: what is missing depends on whether exact ones were asked for. */
static void add_inexact(struct prober *p, const char *text)
{
	bool required = p->spec.require_limits;

	prober_add(p, required ? REQUIRED : OPTIONAL, "limits", required ? PROBE_MISSING : PROBE_WEAKER, "%s%s", text,
		   required ? ". --require-limits refuses that" : "");
}

/* Exact, all or in part. What a sandbox must have with --require-limits depends on its options, so a part is no refusal here. */
static void add_held(struct prober *p, struct buf *text)
{
	const struct cgroup_report *r = &p->cgroup;
	enum probe_status status = PROBE_ACTIVE;

	buf_add_str(text, "exact: ");
	add_held_kinds(text, r->controllers);
	buf_addf(text, " are held by %s", cgroup_backend_describe(r->backend));
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (r->controllers & (unsigned int) kinds[i].controller)
			continue;
		status = PROBE_WEAKER;
		buf_addf(text, "; %s is approximate (%s), since the controller %s is not handed down there", kinds[i].what, kinds[i].else_held,
			 cgroup_controller_name(kinds[i].controller));
	}
	prober_add(p, OPTIONAL, "limits", status, "%s", buf_cstr(text));
	if (status != PROBE_ACTIVE && r->backend != CGROUP_ROOT)
		prober_repair(p, DELEGATE_REPAIR);
	else if (status != PROBE_ACTIVE)
		prober_repair(p, "add it to cgroup.subtree_control of the groups above");
}

/* What was asked for by name cannot be had: then no sandbox starts. */
static void add_not_to_be_had(struct prober *p, const struct cgroup_miss *why)
{
	prober_add(p, REQUIRED, "limits", PROBE_MISSING, "--cgroup %s cannot be had: %s",
		   p->spec.cgroup == SPEC_CGROUP_PATH ? p->spec.cgroup_path : "systemd", why->why);
	prober_repair(p, "%s", why->repair[0] ? why->repair : "leave --cgroup out: the best that can be had is taken");
}

/* @only: the one reason for it, or NULL when there are several. */
static void add_approximate(struct prober *p, struct buf *text, const struct cgroup_miss *only)
{
	const char *why = p->spec.cgroup == SPEC_CGROUP_NONE ? "--cgroup none was given" : only ? only->why : "no control group can be had";

	buf_addf(text, "approximate, since %s. Processes are counted exactly, folders in memory have sizes; %s", why,
		 p->spec.weaker & SPEC_WEAKER_PROC ? "memory is limited for each process; CPU time: affinity to whole CPUs"
						   : "memory: init adds up what all commands use, and ends the largest; CPU time: "
						     "affinity, and init stops commands for moments");
	add_inexact(p, buf_cstr(text));
	prober_repair(p, "%s", p->spec.cgroup == SPEC_CGROUP_NONE ? "leave --cgroup none out" : only ? only->repair : "one of those below");
}

/* The number of ways to a control group that were tried in vain; *@ret is one of them. */
static size_t count_missed(const struct cgroup_report *r, const struct cgroup_miss **ret)
{
	size_t count = 0;

	for (size_t i = CGROUP_NONE + 1; i < CGROUP_BACKENDS; i++) {
		if (r->missed[i].errnum == 0)
			continue;
		*ret = &r->missed[i];
		count++;
	}
	return count;
}

/* Each of them, with its reason, and with its repair where one is needed: where the kernel holds the limits anyway, none is. */
static void add_missed(struct prober *p)
{
	static const char *const layers[CGROUP_BACKENDS] = {
		[CGROUP_OWN] = "limits: own group", [CGROUP_SYSTEMD] = "limits: systemd", [CGROUP_ROOT] = "limits: root",
	};

	for (size_t i = CGROUP_NONE + 1; i < CGROUP_BACKENDS; i++) {
		const struct cgroup_miss *m = &p->cgroup.missed[i];
		if (m->errnum == 0)
			continue;
		prober_add(p, OPTIONAL, layers[i], PROBE_MISSING, "%s", m->why);
		if (p->cgroup.backend == CGROUP_NONE)
			prober_repair(p, "%s", m->repair);
	}
}

void probe_limits(struct prober *p)
{
	_cleanup_buf_ struct buf text = BUF_INIT(PROBE_TEXT_MAX);
	const struct cgroup_miss *only = NULL;
	size_t missed = count_missed(&p->cgroup, &only);

	if (p->cgroup.backend != CGROUP_NONE)
		add_held(p, &text);
	else if (missed == 1 && (p->spec.cgroup == SPEC_CGROUP_PATH || p->spec.cgroup == SPEC_CGROUP_SYSTEMD))
		add_not_to_be_had(p, only);
	else
		add_approximate(p, &text, missed == 1 ? only : NULL);
	if (missed > 1 || p->cgroup.backend != CGROUP_NONE)
		add_missed(p);
}
