/*
 * What this host can give, found out by trying it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/err.h"
#include "runtime/life/cgroup.h"
#include "runtime/spec/spec.h"

enum probe_status {
	PROBE_ACTIVE,  /* holds in every sandbox */
	PROBE_WEAKER,  /* a stand-in holds */
	PROBE_MISSING, /* not to be had */
};

enum { PROBE_TEXT_MAX = ERR_TEXT_MAX, PROBE_FINDINGS_MAX = 48 };

struct probe_finding {
	const char *layer;
	enum probe_status status;
	bool required;               /* without it no sandbox starts */
	char detail[PROBE_TEXT_MAX]; /* what holds, or why not */
	char repair[PROBE_TEXT_MAX]; /* what to do; empty when nothing needs to be done */
};

/*
 * Probes every layer, also by starting a real sandbox. Of @asked counts what a host may give or not: the layers that may be weaker,
 * and how limits are held. Returns the number of findings, and in *@ret_cgroup how limits can be held. The calling process is
 * unprivileged afterwards if it was real root.
 */
size_t probe_host(const struct spec *asked, struct probe_finding *findings, size_t max, struct cgroup_report *ret_cgroup);
