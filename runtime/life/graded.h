/*
 * Layers that a host may be unable to give, and for which something weaker exists. Each is tried in a child of its own that has
 * nothing else to do; nothing is inferred from versions or settings.
 *
 * Nothing here is weaker by itself: it is only used for what the caller has named with --allow-weaker, and told each time.
 */
#pragma once

#include "runtime/spec/spec.h"

/* What to do where a layer cannot be had. */
#define GRADED_PROC_REPAIR                                                                                             \
	"in Docker give the outer container --security-opt systempaths=unconfined, in Podman --security-opt unmask=ALL, in "  \
	"Kubernetes procMount: Unmasked"
#define GRADED_ROOT_REPAIR                                                                                             \
	"boot from a root file system that switch_root or pivot_root has mounted; or accept that the host's stays mounted, out " \
	"of reach: --allow-weaker=root"

#define GRADED_HOSTNAME_REPAIR                                                                                         \
	"let the container's system-call filter pass sethostname (Docker, Podman: --security-opt seccomp=FILE); or accept the " \
	"container's name: --allow-weaker=hostname"

/* Whether a new user namespace has any rights: 0, or -EPERM or -EACCES where a security module takes them. */
int graded_try_rights(void);

/*
 * The following answer -ECANCELED where no namespaces with rights can be had at all.
 *
 * Whether a sandbox here can mount a /proc of its own: 0, or -EPERM in a container that hides parts of its own.
 */
int graded_try_proc(void);

/* Whether it can show this host's /proc instead, read-only, with all that is mounted over its parts. 0 or -errno. */
int graded_try_shared_proc(void);

/* Whether it can leave this host's root for good: 0, or -EINVAL when that is the initial root file system. */
int graded_try_root(void);

/* Whether it can have a host name of its own: 0, or -EPERM under the filter of a container. */
int graded_try_hostname(void);

/* Sets @spec->weaker: of the layers that may be weaker, those that cannot be had. Costs nothing when none may. */
void graded_choose(struct spec *spec);

/* What is weaker, for people: a sentence without full stop. @layer is one bit of enum spec_weaker. */
const char *graded_describe(enum spec_weaker layer);
