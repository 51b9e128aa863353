/*
 * Where a cgroup for a sandbox could be made: the mounted cgroup2 hierarchy, our own place in it, and the groups on the way up that
 * we may make groups in. Found by trying; nothing but what the kernel printed is parsed, and every length is capped.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/kern/cgroup.h"
#include "runtime/spec/spec.h"

enum {
	CGROUP_WHY_MAX = 704,
	CGROUP_REPAIR_MAX = 384,
	CGROUP_LEVELS_MAX = 32, /* that are looked at on the way up */
};

#define CGROUP_REQUIRED ((unsigned int) CGROUP_MEMORY | CGROUP_PIDS) /* without these a group is of no use */
#define CGROUP_WANTED (CGROUP_REQUIRED | CGROUP_CPU | CGROUP_IO)

/* What a supervisor moves itself into that was alone in its group: see cgroup_find_own(). */
#define CGROUP_SUPERVISOR "cloche-supervisor"

/* Why one way is closed. */
struct cgroup_miss {
	int errnum; /* positive; 0: it is open, or was not tried */
	char why[CGROUP_WHY_MAX];       /* a sentence without its full stop */
	char repair[CGROUP_REPAIR_MAX]; /* what to do, the same; empty when @why says it, or nothing can be done */
};

/* Fills @miss (NULL is allowed). @why is a format; @repair is constant. Returns -@errnum. */
int cgroup_miss_set(struct cgroup_miss *miss, int errnum, const char *repair, const char *why, ...) _printf_(4, 5);

/* Where cgroup2 is mounted, and where in it we are. */
struct cgroup_view {
	char mount[SPEC_PATH_MAX]; /* its mount point */
	char root[SPEC_PATH_MAX];  /* the group that is its root, as /proc/PID/cgroup calls it; usually "/" */
	char own[SPEC_PATH_MAX];   /* our group, below the mount; "" is its root */
	int fd;          /* of the mount; owned */
	bool is_systemd; /* systemd runs this host: a group belongs to it unless it says otherwise */
};

#define CGROUP_VIEW_NONE { .fd = -EBADF }

/* A group in which a sandbox's may be made. */
struct cgroup_base {
	int fd; /* owned */
	unsigned int controllers; /* those that are handed down in it; in a plan, that could be */
	char path[SPEC_PATH_MAX];
};

#define CGROUP_BASE_NONE { .fd = -EBADF }

/* One line of /proc/PID/mountinfo: fills mount and root when it is of a cgroup2 file system. */
bool cgroup_parse_mount(const char *line, struct cgroup_view *ret);

/* The line of cgroup2 in the text of /proc/PID/cgroup: its path into @ret (capacity SPEC_PATH_MAX). 0 or -ENODATA. */
int cgroup_parse_own(const char *text, char *ret);

/* Cuts @root off the front of @path. NULL when @path is not below it. */
const char *cgroup_below(const char *path, const char *root);

/* Writes the path @front followed by @back. 0 or -ENAMETOOLONG. */
int cgroup_join(char ret[static SPEC_PATH_MAX], const char *front, const char *back) _must_check_;

/* Looks around. 0, or -errno with @miss filled. To be released by cgroup_view_done(). */
int cgroup_view_open(struct cgroup_view *v, struct cgroup_miss *miss) _must_check_;
void cgroup_view_done(struct cgroup_view *v);

/* Opens the group that /proc/PID/cgroup calls @path. Descriptor or -errno. */
int cgroup_view_group(const struct cgroup_view *v, const char *path) _must_check_;

/*
 * The nearest group from our own upwards that is delegated to us. With systemd only what it has given away counts (the extended
 * attribute user.delegate, or trusted.delegate for root, of a group that no systemd manager runs); else what can be written. Nothing
 * that belongs to another user, or is below such a group, since he could take processes out of it. Our own
 * group only when we are alone in it and somebody else will remove it: then we move into a group of our own in it. Without
 * @for_real nothing is changed. With @with_root, the root of the mount is one too. 0, or -errno with @miss filled.
 */
int cgroup_find_own(const struct cgroup_view *v, bool with_root, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss)
	_must_check_;

/* The root of the mount, for root. The same. */
int cgroup_find_root(const struct cgroup_view *v, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss) _must_check_;

/* The group that somebody named by its path: where we are alone in it, we move into a group of our own in it, too. */
int cgroup_find_path(const char *path, bool for_real, struct cgroup_base *ret, struct cgroup_miss *miss) _must_check_;

/*
 * A scope that systemd has made for us, with one of our processes in it: its
 * controllers cannot be handed down yet. @path is as /proc/PID/cgroup has it. 0, or -errno with @miss filled.
 */
int cgroup_find_scope(const struct cgroup_view *v, const char *path, struct cgroup_base *ret, struct cgroup_miss *miss) _must_check_;

void cgroup_base_done(struct cgroup_base *base);
