/*
 * Capabilities: see caps.h. Runs in the launcher's child and in cloche-init, with the capabilities of the sandbox's own user
 * namespace.
 */
#include "runtime/kern/caps.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "runtime/base/wall.h"

/* What cloche-init keeps, and beside it what the launcher's child needs to empty the bounding set. */
static const cap_value_t init_caps[] = { CAP_SYS_ADMIN };
static const cap_value_t setup_caps[] = { CAP_SYS_ADMIN, CAP_SETPCAP };

static cap_t setup_set; /* effective: setup_caps; inheritable: init_caps */
static cap_t pass_set;  /* effective and inheritable: init_caps */
static cap_t init_set;  /* effective: init_caps; inheritable: none */
static cap_t none_set;

/* A set with @count of @caps permitted and effective, and the first @inheritable of them inheritable. NULL on failure. */
static cap_t make_set(const cap_value_t *caps, int count, int inheritable)
{
	cap_t set = cap_init();

	if (!set)
		return NULL;
	if ((count > 0 && (cap_set_flag(set, CAP_PERMITTED, count, caps, CAP_SET) < 0 ||
			   cap_set_flag(set, CAP_EFFECTIVE, count, caps, CAP_SET) < 0)) ||
	    (inheritable > 0 && cap_set_flag(set, CAP_INHERITABLE, inheritable, caps, CAP_SET) < 0)) {
		(void) cap_free(set);
		return NULL;
	}
	return set;
}

int caps_prepare(void)
{
	int kept = (int) ARRAY_LEN(init_caps);

	setup_set = make_set(setup_caps, (int) ARRAY_LEN(setup_caps), kept);
	pass_set = make_set(init_caps, kept, kept);
	init_set = make_set(init_caps, kept, 0);
	none_set = make_set(NULL, 0, 0);
	return setup_set && pass_set && init_set && none_set ? 0 : -ENOMEM;
}

/* Empties the bounding set, up to the last capability this kernel knows. Needs CAP_SETPCAP. */
static int drop_bounding(void)
{
	for (cap_value_t cap = 0; prctl(PR_CAPBSET_READ, (unsigned long) cap, 0, 0, 0) >= 0; cap++)
		if (cap_drop_bound(cap) < 0)
			return -errno;
	return 0;
}

int caps_keep_for_init(void)
{
	/* A capability can become inheritable only while it is in the bounding set, and ambient only when it is inheritable. */
	if (cap_set_proc(setup_set) < 0)
		return -errno;
	int r = wall_stands(WALL_CAPS) ? drop_bounding() : 0;
	if (r < 0)
		return r;
	if (cap_set_proc(pass_set) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_LEN(init_caps); i++)
		if (cap_set_ambient(init_caps[i], CAP_SET) < 0)
			return -errno;
	return 0;
}

int caps_stop_inheritance(void)
{
	if (!wall_stands(WALL_CAPS))
		return 0;
	return cap_reset_ambient() < 0 || cap_set_proc(init_set) < 0 ? -errno : 0;
}

int caps_drop_all(void)
{
	if (!wall_stands(WALL_CAPS))
		return 0;
	return cap_reset_ambient() < 0 || cap_set_proc(none_set) < 0 ? -errno : 0;
}
