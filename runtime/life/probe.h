/*
 * What this host can give, found out by trying it.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/err.h"

enum probe_status {
	PROBE_ACTIVE,  /* holds in every sandbox */
	PROBE_WEAKER,  /* a stand-in holds */
	PROBE_MISSING, /* required, and not to be had: no sandbox starts */
};

enum { PROBE_TEXT_MAX = ERR_TEXT_MAX, PROBE_FINDINGS_MAX = 24 };

struct probe_finding {
	const char *layer;
	enum probe_status status;
	char detail[PROBE_TEXT_MAX]; /* what holds, or why not */
	char repair[PROBE_TEXT_MAX]; /* what to do; empty when nothing needs to be done */
};

/*
 * Probes every layer, the last by starting a real sandbox. Returns the number of findings. The calling process is
 * unprivileged afterwards if it was real root.
 */
size_t probe_host(struct probe_finding *findings, size_t max);
