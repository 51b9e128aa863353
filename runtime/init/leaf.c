/*
 * A cgroup for each command: see leaf.h. Runs in cloche-init, with no right but to write in the sandbox's own groups. Allocates
 * nothing; parses only what the kernel printed.
 */
#include "runtime/init/leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/kern/cgroup.h"

bool leaves_are_used(const struct leaves *l)
{
	return l->work_fd >= 0;
}

int leaves_open(struct leaves *l, int node_fd, uint32_t own_processes)
{
	l->work_fd = -EBADF;
	l->controllers = 0;
	l->own_processes = own_processes;
	_cleanup_fd_ int work = openat(node_fd, "work", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (work < 0)
		return -errno;
	int r = cgroup_is_dir(work) ? cgroup_read_controllers(work, "cgroup.subtree_control", &l->controllers) : -ENOTDIR;
	if (r < 0)
		return r;
	if (cgroup_read_number(work, "memory.swap.max", &l->swap) < 0)
		l->swap = 0; /* a kernel that does not count swap has none for us to limit */
	if (cgroup_read_number(work, "pids.max", &l->processes) < 0 || l->processes == CGROUP_MAX)
		l->processes = 0;
	l->work_fd = TAKE_FD(work);
	return 0;
}

static uint64_t read_key(int fd, const char *file, const char *key)
{
	uint64_t number;

	return cgroup_read_key(fd, file, key, &number) < 0 ? 0 : number;
}

/* How often all commands together met their limit of memory; a kernel before 5.2 does not tell. */
static uint64_t read_ooms(const struct leaves *l)
{
	return read_key(l->work_fd, "memory.events.local", "oom");
}

/* How often all commands together met their limit of processes; a kernel before 6.11 counts that in the leaf, and has no such file. */
static uint64_t read_refused(const struct leaves *l)
{
	return read_key(l->work_fd, "pids.events.local", "max");
}

/* Writes @wanted to @file when something else is in it. 0: no limit. */
static int write_limit(const struct leaf *leaf, const char *file, uint64_t now, uint64_t wanted)
{
	return now == wanted ? 0 : cgroup_write_number(leaf->fd, file, wanted ? wanted : CGROUP_MAX);
}

static int write_limits(const struct leaves *l, struct leaf *leaf, const struct initmsg_limits *limits)
{
	uint64_t pids = limits->pids ? (uint64_t) limits->pids + l->own_processes : CGROUP_MAX;
	int r = 0;

	/* Who may have all of them meets its own limit first, where that is counted. */
	if (l->processes)
		pids = MIN(pids, l->processes);

	if (l->controllers & CGROUP_MEMORY)
		r = write_limit(leaf, "memory.max", leaf->limits.memory, limits->memory);
	if (r == 0 && (l->controllers & CGROUP_PIDS) && leaf->limits.pids != limits->pids)
		r = cgroup_write_number(leaf->fd, "pids.max", pids);
	if (r == 0 && (l->controllers & CGROUP_CPU) && leaf->limits.cpu_milli != limits->cpu_milli)
		r = cgroup_write_cpu(leaf->fd, limits->cpu_milli ? limits->cpu_milli : CGROUP_MAX);
	if (r == 0)
		leaf->limits = *limits;
	return r;
}

static struct leaf *find(struct leaves *l, enum leaf_state state)
{
	for (size_t i = 0; i < ARRAY_LEN(l->rows); i++)
		if (l->rows[i].state == state)
			return &l->rows[i];
	return NULL;
}

/* A new leaf with @limits. NULL with errno set. */
static struct leaf *make(struct leaves *l, const struct initmsg_limits *limits)
{
	struct leaf *leaf = find(l, LEAF_NONE);
	int r;

	if (!leaf) {
		errno = EAGAIN;
		return NULL;
	}
	*leaf = (struct leaf) { .fd = -EBADF };
	(void) snprintf(leaf->name, sizeof(leaf->name), "c%u", ++l->number);
	leaf->fd = cgroup_make(l->work_fd, leaf->name);
	if (leaf->fd < 0) {
		errno = -leaf->fd;
		return NULL;
	}
	leaf->state = LEAF_SPARE;
	r = write_limits(l, leaf, limits);
	/* All of a command is killed, or nothing. */
	if (r == 0 && (l->controllers & CGROUP_MEMORY))
		r = cgroup_write_number(leaf->fd, "memory.oom.group", 1);
	if (r == 0)
		return leaf;
	leaf_drop(l, leaf);
	errno = -r;
	return NULL;
}

void leaves_prepare(struct leaves *l, const struct initmsg_limits *limits)
{
	if (!find(l, LEAF_SPARE))
		(void) make(l, limits);
}

struct leaf *leaf_take(struct leaves *l, const struct initmsg_limits *limits, bool no_swap)
{
	struct leaf *leaf = find(l, LEAF_SPARE);
	int r;

	if (!leaf && !(leaf = make(l, limits)))
		return NULL;
	r = write_limits(l, leaf, limits);
	if (r == 0 && no_swap && l->swap > 0)
		r = cgroup_write_number(leaf->fd, "memory.swap.max", 0);
	if (r < 0) {
		leaf_drop(l, leaf);
		errno = -r;
		return NULL;
	}
	leaf->state = LEAF_USED;
	leaf->ooms_before = read_ooms(l);
	leaf->refused_before = read_refused(l);
	if (l->controllers & CGROUP_CPU)
		leaf->throttled_before = read_key(l->work_fd, "cpu.stat", "throttled_usec");
	return leaf;
}

void leaf_kill(const struct leaf *leaf)
{
	IGNORE_RESULT(cgroup_kill(leaf->fd)); /* Linux 5.14; its shim is killed besides */
}

static uint32_t counter(uint64_t number)
{
	return (uint32_t) MIN(number, (uint64_t) UINT32_MAX);
}

/* The number of processes without ours. */
static uint32_t without_own(const struct leaves *l, uint64_t number)
{
	return counter(number > l->own_processes ? number - l->own_processes : 1);
}

static void read_processes(const struct leaves *l, const struct leaf *leaf, struct initmsg_metrics *metrics)
{
	uint64_t number, refused = read_key(leaf->fd, "pids.events", "max"), together = read_refused(l);

	if (refused == 0 && together > leaf->refused_before)
		refused = together - leaf->refused_before;
	metrics->pids_refused = counter(refused);
	if (cgroup_read_number(leaf->fd, "pids.peak", &number) == 0)
		metrics->processes_peak = without_own(l, number);
	else if (metrics->pids_refused) /* Linux before 6.1; but it had all that it may have */
		metrics->processes_peak = leaf->limits.pids;
}

static void read_times(const struct leaves *l, const struct leaf *leaf, struct initmsg_metrics *metrics)
{
	static const char *const keys[] = { "user_usec", "system_usec", "throttled_usec" };
	uint64_t numbers[] = { metrics->cpu_user_us, metrics->cpu_system_us, 0 };

	if (cgroup_read_keys(leaf->fd, "cpu.stat", keys, numbers, ARRAY_LEN(keys)) < 0)
		return;
	metrics->cpu_user_us = numbers[0];
	metrics->cpu_system_us = numbers[1];
	if (!(l->controllers & CGROUP_CPU))
		return;
	/* What holds all commands together back holds this one back, but is not counted in its own group. */
	uint64_t total = read_key(l->work_fd, "cpu.stat", "throttled_usec");
	metrics->throttled_us = numbers[2] + (total > leaf->throttled_before ? total - leaf->throttled_before : 0);
}

static void read_storage(const struct leaf *leaf, struct initmsg_metrics *metrics)
{
	uint64_t number;

	if (cgroup_read_sum(leaf->fd, "io.stat", "rbytes", &number) == 0)
		metrics->read_bytes = number;
	if (cgroup_read_sum(leaf->fd, "io.stat", "wbytes", &number) == 0)
		metrics->written_bytes = number;
}

/* Whose limit it was: the kernel counts a want of memory where the limit is, and a kill where the process was. */
static enum initmsg_killed read_memory(const struct leaves *l, const struct leaf *leaf, struct initmsg_metrics *metrics)
{
	static const char *const keys[] = { "oom", "oom_kill" };
	uint64_t peak, numbers[] = { 0, 0 };
	enum initmsg_killed killed = INITMSG_NOT_KILLED;

	IGNORE_RESULT(cgroup_read_keys(leaf->fd, "memory.events", keys, numbers, ARRAY_LEN(keys)));
	if (numbers[1] > 0 && numbers[0] > 0)
		killed = INITMSG_KILLED_MEMORY;
	else if (numbers[1] > 0 && read_ooms(l) != leaf->ooms_before)
		killed = INITMSG_KILLED_MEMORY_ALL;
	if (numbers[1] > 0)
		metrics->oom_kills = without_own(l, numbers[1]);
	if (cgroup_read_number(leaf->fd, "memory.peak", &peak) == 0)
		metrics->memory_peak = peak;
	else if (killed == INITMSG_KILLED_MEMORY) /* Linux before 5.19; but it had all that it may have */
		metrics->memory_peak = leaf->limits.memory;
	return killed;
}

enum initmsg_killed leaf_read(const struct leaves *l, const struct leaf *leaf, struct initmsg_metrics *metrics)
{
	read_times(l, leaf, metrics);
	if (l->controllers & CGROUP_PIDS)
		read_processes(l, leaf, metrics);
	if (l->controllers & CGROUP_IO)
		read_storage(leaf, metrics);
	return l->controllers & CGROUP_MEMORY ? read_memory(l, leaf, metrics) : INITMSG_NOT_KILLED;
}

static void try_to_remove(struct leaves *l, struct leaf *leaf)
{
	if (unlinkat(l->work_fd, leaf->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return;
	leaf->fd = fd_close(leaf->fd);
	leaf->state = LEAF_NONE;
	l->leaving--;
}

void leaf_drop(struct leaves *l, struct leaf *leaf)
{
	leaf->state = LEAF_LEAVING;
	l->leaving++;
}

void leaves_sweep(struct leaves *l)
{
	for (size_t i = 0; i < ARRAY_LEN(l->rows) && l->leaving > 0; i++)
		if (l->rows[i].state == LEAF_LEAVING)
			try_to_remove(l, &l->rows[i]);
}
