/*
 * CAP_DAC_OVERRIDE in reserve: see caps_override.h. Runs in the launcher between giving up root and the clone, and in the janitor.
 */
#include "runtime/kern/caps_override.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

static const cap_value_t override[] = { CAP_DAC_OVERRIDE };

int caps_override_begin(void)
{
	return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Fills the empty set @set from the process' own. */
static int fill(cap_t set, bool in_effect)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t now = cap_get_proc();

	if (!now)
		return -errno;
	int r = cap_get_flag(now, override[0], CAP_PERMITTED, &value);
	(void) cap_free(now);
	if (r < 0)
		return -errno;
	if (value == CAP_SET && (cap_set_flag(set, CAP_PERMITTED, 1, override, CAP_SET) < 0 ||
				 cap_set_flag(set, CAP_EFFECTIVE, 1, override, in_effect ? CAP_SET : CAP_CLEAR) < 0))
		return -errno;
	return 0;
}

int caps_override_use(bool in_effect)
{
	cap_t set = cap_init();

	if (!set)
		return -ENOMEM;
	int r = fill(set, in_effect);
	if (r == 0 && cap_set_proc(set) < 0)
		r = -errno;
	(void) cap_free(set);
	return r;
}

int caps_override_reserve(void)
{
	return caps_override_use(false);
}
