/*
 * newuidmap(1) and newgidmap(1): programs of the host with root's rights that write a map of subordinate ids, which the kernel lets
 * nobody else do. They check it against /etc/subuid and /etc/subgid themselves; here it is only seen to that the right programs
 * run, with nothing of our environment, and not for long.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/life/subid.h"
#include "runtime/spec/spec.h"

/* The map of a sandbox's subordinate ids, and who can write it. */
struct idhelper {
	bool wanted; /* else the rest is unused, and the sandbox has one id */
	int uid_fd, gid_fd; /* the two programs (O_PATH; owned) */
	struct subid_map uid, gid;
};

#define IDHELPER_NONE { .wanted = false, .uid_fd = -EBADF, .gid_fd = -EBADF }

/*
 * Finds out what --userns means for the caller @host_uid and @host_gid and prepares it. 0, or -errno with @err filled (subid was
 * asked for and cannot be had).
 */
int idhelper_prepare(struct idhelper *h, const struct spec *spec, uid_t host_uid, gid_t host_gid, struct err *err) _must_check_;

/* Writes the maps of the process @pid, our child, the first of a new user namespace that has none yet. 0 or -errno with @err. */
int idhelper_apply(const struct idhelper *h, pid_t pid, struct err *err) _must_check_;

void idhelper_done(struct idhelper *h);
