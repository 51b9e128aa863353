/*
 * What this host can give, found out by trying it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/err.h"
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
 * Probes every layer, also by starting a real sandbox that accepts as weaker what the bits @allow_weaker (enum spec_weaker) say.
 * Returns the number of findings. The calling process is unprivileged afterwards if it was real root.
 */
size_t probe_host(unsigned int allow_weaker, struct probe_finding *findings, size_t max);
