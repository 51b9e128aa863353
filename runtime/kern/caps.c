/*
 * Capabilities: see caps.h. Runs in the launcher's child and in cloche-init, with the capabilities of the sandbox's own user
 * namespace.
 */
#include "runtime/kern/caps.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/prctl.h>

static const cap_value_t init_caps[] = { CAP_SYS_ADMIN, CAP_SETPCAP };

static cap_t none_set;
static cap_t init_set;

static bool init_needs(cap_value_t cap)
{
	for (size_t i = 0; i < ARRAY_LEN(init_caps); i++)
		if (init_caps[i] == cap)
			return true;
	return false;
}

int caps_prepare(void)
{
	static const cap_flag_t flags[] = { CAP_PERMITTED, CAP_EFFECTIVE, CAP_INHERITABLE };

	none_set = cap_init();
	init_set = cap_init();
	if (!none_set || !init_set)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (cap_set_flag(init_set, flags[i], ARRAY_LEN(init_caps), init_caps, CAP_SET) < 0)
			return -errno;
	return 0;
}

/* Drops from the bounding set what @keep does not name, up to the last capability this kernel knows. */
static int drop_bounding(bool (*keep)(cap_value_t cap))
{
	for (cap_value_t cap = 0; prctl(PR_CAPBSET_READ, (unsigned long) cap, 0, 0, 0) >= 0; cap++)
		if (!(keep && keep(cap)) && cap_drop_bound(cap) < 0)
			return -errno;
	return 0;
}

int caps_keep_for_init(void)
{
	int r = drop_bounding(init_needs);

	if (r < 0)
		return r;
	if (cap_set_proc(init_set) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(init_caps); i++)
		if (cap_set_ambient(init_caps[i], CAP_SET) < 0)
			return -errno;
	return 0;
}

int caps_stop_inheritance(void)
{
	cap_flag_t inheritable = CAP_INHERITABLE;

	if (cap_reset_ambient() < 0)
		return -errno;
	if (cap_clear_flag(init_set, inheritable) < 0 || cap_set_proc(init_set) < 0)
		return -errno;
	return 0;
}

int caps_drop_all(void)
{
	int r = drop_bounding(NULL);

	if (r < 0)
		return r;
	if (cap_reset_ambient() < 0 || cap_set_proc(none_set) < 0)
		return -errno;
	return 0;
}
