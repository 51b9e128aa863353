/*
 * The files of one cgroup v2 directory, through a descriptor of it: limits, counters, the end of a group. Knows nothing of
 * where a group is or whose: that is life/cgroup on the host and init/leaf inside. See cgroups(7) and the kernel's cgroup-v2.
 *
 * A file that is not there (-ENOENT) means that its controller is not handed down here, or that the kernel is older.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

#define CGROUP_MAX UINT64_MAX /* "max" in the files: no limit */

/* Controllers, as bits. */
enum cgroup_controller {
	CGROUP_MEMORY = 1 << 0,
	CGROUP_PIDS = 1 << 1,
	CGROUP_CPU = 1 << 2,
	CGROUP_IO = 1 << 3,
};

enum {
	CGROUP_CPU_PERIOD_US = 100000,
	CGROUP_CHILDREN_MAX = 4096,
};

/* Whether @fd is a directory of a cgroup2 file system. */
bool cgroup_is_dir(int fd);

/* Writes @text to @file below @dir_fd in one write(2), as the kernel wants it. 0 or -errno. */
int cgroup_write(int dir_fd, const char *file, const char *text) _must_check_;

/* The same with a number; CGROUP_MAX is written as "max". */
int cgroup_write_number(int dir_fd, const char *file, uint64_t number) _must_check_;

/* cpu.max of @cpu_milli thousandths of a CPU; CGROUP_MAX: no limit. */
int cgroup_write_cpu(int dir_fd, uint64_t cpu_milli) _must_check_;

/* The number in @file; "max" is CGROUP_MAX. 0 or -errno: -EBADMSG when it is none. */
int cgroup_read_number(int dir_fd, const char *file, uint64_t *ret) _must_check_;

/* The number behind @key in a file of lines "key number", such as memory.events. -ENODATA: no such line. */
int cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret) _must_check_;

/*
 * The numbers behind each of @count @keys in such a file, in one reading; what is not in it leaves its number as it was. 0, or -errno:
 * then no number was changed.
 */
int cgroup_read_keys(int dir_fd, const char *file, const char *const *keys, uint64_t *numbers, size_t count) _must_check_;

/* The sum of "@key=number" over all lines of a file such as io.stat: 0 where it is empty. */
int cgroup_read_sum(int dir_fd, const char *file, const char *key, uint64_t *ret) _must_check_;

/* The controllers (bits) that @file, "cgroup.controllers" or "cgroup.subtree_control", lists. */
int cgroup_read_controllers(int dir_fd, const char *file, unsigned int *ret) _must_check_;

/* Hands controllers (bits) down to the children of @dir_fd, as many of them as possible: returns those that are handed down now. */
unsigned int cgroup_enable(int dir_fd, unsigned int controllers);

/* The name of one controller, for people and for the files. */
const char *cgroup_controller_name(enum cgroup_controller controller);

/* Makes and opens a child. Descriptor (O_DIRECTORY, close-on-exec) or -errno. */
int cgroup_make(int dir_fd, const char *name) _must_check_;

/* Kills every process in it and below (cgroup.kill, Linux 5.14). 0 or -errno. */
int cgroup_kill(int dir_fd) _must_check_;

/* Whether a process is in it or below. A zombie is none. */
bool cgroup_is_populated(int dir_fd);

/*
 * Removes the child @name of @dir_fd with the groups below it and those below these, deepest first: a node has no more. It must have
 * no processes.
 * 0 (also when it is not there) or -errno: -EBUSY when processes are left in it.
 */
int cgroup_remove(int dir_fd, const char *name) _must_check_;
