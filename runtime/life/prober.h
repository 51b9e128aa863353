/*
 * What the parts of `cloche doctor`'s probing share. Each part tries its layers and adds a finding for every one, in the order of
 * the report.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/life/cgroup.h"
#include "runtime/life/probe.h"

struct prober {
	struct probe_finding *findings;
	size_t max, count;
	struct spec spec; /* of the sandbox that is started */
	struct cgroup_report cgroup; /* what was found by probe_cgroup() */
};

enum prober_need { OPTIONAL, REQUIRED };

/* Adds a finding. @detail is copied; the repair follows with prober_repair(), where there is one. */
void prober_add(struct prober *p, enum prober_need need, const char *layer, enum probe_status status, const char *detail, ...)
	_printf_(5, 6);

/* The repair of the last finding. */
void prober_repair(struct prober *p, const char *repair, ...) _printf_(2, 3);

/* The kernel: its version and the calls that cloche makes. */
void probe_kernel(struct prober *p);

/* Filters and Landlock. */
void probe_confinement(struct prober *p);

/* Our own programs; the folder for state; subordinate ids; AppArmor. */
void probe_programs(struct prober *p);
void probe_state(struct prober *p);
void probe_subid(struct prober *p);
void probe_apparmor(struct prober *p);

/* Control groups: tries for them, before root is given up; tells of them when everything else is known. */
void probe_cgroup(struct prober *p);
void probe_limits(struct prober *p);
