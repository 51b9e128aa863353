/*
 * Landlock (landlock(7)): a wall that a process without any privilege builds around itself. A second one, behind namespaces and
 * mounts: where the kernel has none, everything goes on without, and `cloche doctor` tells.
 *
 * What is not named may not be opened; descriptors that are open already stay as they are, but opening them anew, as
 * /proc/self/fd allows, counts as opening. Nothing here allocates: fine between fork and exec. The caller has set no_new_privs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"

/* What may be done with a file, or beneath a directory. */
enum landlock_access {
	LANDLOCK_MAY_READ = 1 << 0,  /* files and directories */
	LANDLOCK_MAY_WRITE = 1 << 1, /* what is in files, their length included */
	LANDLOCK_MAY_EDIT = 1 << 2,  /* make, move and remove files and directories; write files, but not cut them off */
	LANDLOCK_MAY_STEER = 1 << 3, /* ioctl(2) on devices: terminals */
	LANDLOCK_MAY_ALL = 1 << 4,   /* whatever there is, also execute files and make any kind */
};

struct landlock_rule {
	int fd; /* borrowed; of a file or a directory, O_PATH is enough. Negative: no rule */
	unsigned int access; /* enum landlock_access */
};

/*
 * The version of what the kernel offers, 0 when it offers nothing. Version 1 cannot tell a move from one directory to another and
 * forbids it always, so a process that must make files goes without it then.
 */
int landlock_abi(void);

/* Every right on files that a kernel of that version knows, as bits of linux/landlock.h. What is younger than we are is left alone. */
uint64_t landlock_known_fs(int abi);

/*
 * From now on the calling thread and all that it starts may open what the @count @rules allow and nothing else, signal nobody
 * outside, and connect to no abstract Unix socket of others (version 6); with @no_tcp, use no TCP either (version 4). 1 when that
 * holds, 0 when the kernel cannot do it, or -errno.
 */
int landlock_restrict(const struct landlock_rule *rules, size_t count, bool no_tcp) _must_check_;

/*
 * For a command, as the last but one step before its exec (the filter is the last): everything beneath the root, and its own
 * standard streams as they were opened, so that `echo x >/dev/stderr` works when that is a file of the host's, but a log cannot be
 * read, nor an input be written. As landlock_restrict().
 */
int landlock_command(void) _must_check_;
