/*
 * Capabilities: see caps.h. Runs in the launcher's child and in cloche-init, with the capabilities of the sandbox's own user
 * namespace.
 */
#include "runtime/kern/caps.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "runtime/base/wall.h"

enum kept { KEPT_ADMIN, KEPT_WATCH, KEPT_SETS };

/* What cloche-init keeps; the last one is what the launcher's child needs besides to empty the bounding set. */
static const struct {
	cap_value_t caps[3];
	int count;
} kept[KEPT_SETS] = {
	[KEPT_ADMIN] = { { CAP_SYS_ADMIN, CAP_SETPCAP }, 1 },
	[KEPT_WATCH] = { { CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SETPCAP }, 2 },
};
static const cap_value_t watch_cap[] = { CAP_SYS_PTRACE };

static cap_t setup_sets[KEPT_SETS]; /* effective: those kept and CAP_SETPCAP; inheritable: those kept */
static cap_t pass_sets[KEPT_SETS];  /* effective and inheritable: those kept */
static cap_t init_sets[KEPT_SETS];  /* effective: those kept; inheritable: none */
static cap_t watch_set;             /* effective: watch_cap; inheritable: none */
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
	bool made = true;

	for (size_t i = 0; i < KEPT_SETS; i++) {
		setup_sets[i] = make_set(kept[i].caps, kept[i].count + 1, kept[i].count);
		pass_sets[i] = make_set(kept[i].caps, kept[i].count, kept[i].count);
		init_sets[i] = make_set(kept[i].caps, kept[i].count, 0);
		made = made && setup_sets[i] && pass_sets[i] && init_sets[i];
	}
	watch_set = make_set(watch_cap, (int) ARRAY_LEN(watch_cap), 0);
	none_set = make_set(NULL, 0, 0);
	return made && watch_set && none_set ? 0 : -ENOMEM;
}

/* Empties the bounding set, up to the last capability this kernel knows. Needs CAP_SETPCAP. */
static int drop_bounding(void)
{
	for (cap_value_t cap = 0; prctl(PR_CAPBSET_READ, (unsigned long) cap, 0, 0, 0) >= 0; cap++)
		if (cap_drop_bound(cap) < 0)
			return -errno;
	return 0;
}

int caps_keep_for_init(bool watch)
{
	enum kept set = watch && wall_stands(WALL_CAPS) ? KEPT_WATCH : KEPT_ADMIN; /* without the wall, commands would have it too */

	/* A capability can become inheritable only while it is in the bounding set, and ambient only when it is inheritable. */
	if (cap_set_proc(setup_sets[set]) < 0)
		return -errno;
	int r = wall_stands(WALL_CAPS) ? drop_bounding() : 0;
	if (r < 0)
		return r;
	if (cap_set_proc(pass_sets[set]) < 0)
		return -errno;
	for (int i = 0; i < kept[set].count; i++)
		if (cap_set_ambient(kept[set].caps[i], CAP_SET) < 0)
			return -errno;
	return 0;
}

static int apply(cap_t set)
{
	if (!wall_stands(WALL_CAPS))
		return 0;
	return cap_reset_ambient() < 0 || cap_set_proc(set) < 0 ? -errno : 0;
}

int caps_stop_inheritance(bool watch)
{
	return apply(init_sets[watch ? KEPT_WATCH : KEPT_ADMIN]);
}

int caps_keep_to_watch(void)
{
	return apply(watch_set);
}

int caps_drop_all(void)
{
	return apply(none_set);
}
