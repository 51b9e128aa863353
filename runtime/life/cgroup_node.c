/*
 * One sandbox's cgroup: see cgroup_node.h. Runs in the launcher and supervisor as the invoking user, as real root before that is
 * given up, in the janitor, and in `cloche gc`.
 */
#include "runtime/life/cgroup_node.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/spec/initmsg.h"

#define NAME_PREFIX "cloche-"

enum {
	TRIES = 8,            /* a sweeper may take a node for a leftover before it is locked */
	RANDOM_LEN = 16,
	SWEEP_MAX = 8,        /* nodes that one launch looks at */
	SWEEP_NAMES = 256,    /* among which it chooses them */
	ENTRIES_MAX = 4096,   /* of a base: a user's manager may have many groups beside ours */
	REMOVE_TRIES = 100,   /* one a millisecond */
	SPARE_PIDS = 64,      /* of init and the server, beside the commands' */
	INIT_WEIGHT = 1000,   /* init and the server answer while commands compute */
	GROUPS_MAX = 2 + 2 * INITMSG_COMMANDS_MAX, /* init/, work/, and what init makes there: init/leaf.h */
	DEPTH_MAX = 2,
};

#define SPARE_MEMORY ((uint64_t) 256 << 20) /* of init, the server, and the kernel's own for them */
#define INIT_MEMORY ((uint64_t) 64 << 20)   /* that is not taken back from init and the server for the sake of commands */

uint64_t cgroup_node_weight(uint64_t shares)
{
	return shares == 0 ? 0 : 1 + (MIN(MAX(shares, (uint64_t) 2), (uint64_t) 262144) - 2) * 9999 / 262142;
}

uint64_t cgroup_node_backstop(const struct spec *spec)
{
	uint64_t sum = spec->memory;
	uint64_t sizes[4] = { spec->tmp_size, spec->home_size, spec->shm_size,
			      spec->workspace == SPEC_WORKSPACE_NONE ? spec->workspace_size : 0 };

	if (sum == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		sum = sum > UINT64_MAX - sizes[i] ? UINT64_MAX : sum + sizes[i];
	for (size_t i = 0; i < spec->mount_count; i++) {
		uint64_t size = spec->mounts[i].kind == SPEC_TMPFS ? spec->mounts[i].size : 0;
		sum = sum > UINT64_MAX - size ? UINT64_MAX : sum + size;
	}
	return sum > UINT64_MAX - SPARE_MEMORY ? UINT64_MAX : sum + SPARE_MEMORY;
}

/* --- making ------------------------------------------------------------------------------------------------------------ */

static void choose_name(char ret[static CGROUP_NODE_NAME_MAX])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t) sizeof(random))
		random = (uint64_t) time(NULL); /* at boot: with the pid, unique among the living */
	(void) snprintf(ret, CGROUP_NODE_NAME_MAX, NAME_PREFIX "%d-%016llx", (int) getpid(), (unsigned long long) random);
}

bool cgroup_node_is_name(const char *name)
{
	const char *pid = name + strlen(NAME_PREFIX);

	if (strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
		return false;
	size_t digits = strspn(pid, "0123456789");
	const char *random = pid + digits + 1;
	return digits > 0 && digits <= 10 && pid[digits] == '-' && strlen(random) == RANDOM_LEN &&
	       strspn(random, "0123456789abcdef") == RANDOM_LEN;
}

/* Whether the open group @fd is still the one called @name. */
static bool is_linked(int base_fd, const char *name, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(base_fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* 0, -EAGAIN when a sweeper was faster, or -errno. */
static int make_locked(struct cgroup_node *n)
{
	choose_name(n->name);
	_cleanup_fd_ int fd = cgroup_make(n->base_fd, n->name);
	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_linked(n->base_fd, n->name, fd))
		return -EAGAIN;
	n->fd = TAKE_FD(fd);
	return 0;
}

int cgroup_node_make(struct cgroup_node *n, int base_fd)
{
	int r = -EAGAIN;

	n->base_fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 0);
	if (n->base_fd < 0)
		return -errno;
	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = make_locked(n);
	if (r < 0)
		n->name[0] = '\0';
	else
		n->init_fd = cgroup_make(n->fd, CGROUP_NODE_INIT);
	if (r == 0 && n->init_fd < 0)
		r = n->init_fd;
	if (r < 0)
		(void) cgroup_node_finish(n);
	return r;
}

unsigned int cgroup_node_enable(struct cgroup_node *n, unsigned int controllers)
{
	n->controllers = cgroup_enable(n->fd, controllers);
	return n->controllers;
}

/* --- limits ------------------------------------------------------------------------------------------------------------ */

/* One number of one group. Those of no account where they cannot be set, for an old kernel or one without swap, are optional. */
struct setting {
	unsigned int controller; /* only with it; 0: always */
	const char *group;
	const char *file;
	uint64_t value;
	bool is_limited; /* else nothing is written */
	bool is_optional;
};

static int apply(int fd, const struct setting *s)
{
	int r = strcmp(s->file, "cpu.max") == 0 ? cgroup_write_cpu(fd, s->value) : cgroup_write_number(fd, s->file, s->value);

	return s->is_optional ? 0 : r;
}

static uint64_t swap_of(const struct spec *spec)
{
	if (spec->memory_swap == UINT64_MAX)
		return CGROUP_MAX;
	return spec->memory_swap > spec->memory ? spec->memory_swap - spec->memory : 0;
}

/*
 * What init needs of what root made: to make groups in work/, and to start a process there from init/, for which the kernel asks for the
 * group above both. All else stays root's; else the owner could take the controllers away, and with them the limits.
 */
static int give_away(const struct cgroup_node *n, int work_fd, const struct cgroup_owner *owner)
{
	if (fchownat(n->fd, "cgroup.procs", owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return fchown(work_fd, owner->uid, owner->gid) < 0 ? -errno : 0;
}

static int limit_groups(const struct cgroup_node *n, int work_fd, const struct spec *spec, struct cgroup_refusal *ret)
{
	uint64_t backstop = cgroup_node_backstop(spec), weight = cgroup_node_weight(spec->cpu_shares);
	bool swap_counts = spec->memory != 0;
	const struct setting settings[] = {
		{ 0, "", "cgroup.max.descendants", GROUPS_MAX, true, false },
		{ 0, "", "cgroup.max.depth", DEPTH_MAX, true, false },
		{ CGROUP_MEMORY, "", "memory.max", backstop, backstop != 0, false },
		{ CGROUP_PIDS, "", "pids.max", spec->pids + SPARE_PIDS, spec->pids != 0, false },
		{ CGROUP_CPU, "", "cpu.weight", weight, weight != 0, false },
		{ CGROUP_MEMORY, CGROUP_NODE_INIT, "memory.low", INIT_MEMORY, true, true },
		{ CGROUP_CPU, CGROUP_NODE_INIT, "cpu.weight", INIT_WEIGHT, true, true },
		{ CGROUP_MEMORY, CGROUP_NODE_WORK, "memory.max", spec->memory, spec->memory != 0, false },
		{ CGROUP_MEMORY, CGROUP_NODE_WORK, "memory.swap.max", swap_of(spec), swap_counts, true },
		{ CGROUP_PIDS, CGROUP_NODE_WORK, "pids.max", spec->pids, spec->pids != 0, false },
		{ CGROUP_CPU, CGROUP_NODE_WORK, "cpu.max", spec->cpu_milli, spec->cpu_milli != 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		const struct setting *s = &settings[i];
		if (!s->is_limited || (s->controller && !(n->controllers & s->controller)))
			continue;
		int fd = s->group[0] == '\0' ? n->fd : strcmp(s->group, CGROUP_NODE_INIT) == 0 ? n->init_fd : work_fd;
		int r = apply(fd, s);
		if (r < 0) {
			*ret = (struct cgroup_refusal) { s->group, s->file };
			return r;
		}
	}
	return 0;
}

int cgroup_node_limit(struct cgroup_node *n, const struct spec *spec, const struct cgroup_owner *owner, struct cgroup_refusal *ret)
{
	*ret = (struct cgroup_refusal) { CGROUP_NODE_WORK, "" };
	_cleanup_fd_ int work = cgroup_make(n->fd, CGROUP_NODE_WORK);
	if (work < 0)
		return work;
	if (cgroup_enable(work, n->controllers) != n->controllers) {
		ret->file = "cgroup.subtree_control";
		return -EBUSY;
	}
	int r = limit_groups(n, work, spec, ret);
	if (r < 0 || !owner->change)
		return r;
	*ret = (struct cgroup_refusal) { "", "cgroup.procs" };
	return give_away(n, work, owner);
}

/* --- the end ----------------------------------------------------------------------------------------------------------- */

int cgroup_node_remove(int base_fd, const char *name)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int r = -EBUSY;

	/* A process that was waited for may still have to leave its group. */
	for (int i = 0; i < REMOVE_TRIES && r == -EBUSY; i++) {
		r = cgroup_remove(base_fd, name);
		if (r == -EBUSY)
			(void) nanosleep(&moment, NULL);
	}
	return r;
}

int cgroup_node_finish(struct cgroup_node *n)
{
	int r = n->name[0] != '\0' && !n->is_kept ? cgroup_node_remove(n->base_fd, n->name) : 0;

	cgroup_node_forget(n);
	return r;
}

void cgroup_node_forget(struct cgroup_node *n)
{
	n->init_fd = fd_close(n->init_fd);
	n->fd = fd_close(n->fd);
	n->base_fd = fd_close(n->base_fd);
	n->name[0] = '\0';
	n->is_kept = false;
}

int cgroup_node_sweep(int base_fd, const char *name, bool dry_run)
{
	_cleanup_fd_ int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : -errno;
	if (!is_linked(base_fd, name, fd) || cgroup_is_populated(fd))
		return 0;
	if (dry_run)
		return 1;
	int r = cgroup_remove(base_fd, name);
	return r < 0 ? r : 1;
}

void cgroup_node_sweep_some(int base_fd, const char *own)
{
	_cleanup_list_ DIR *list = base_fd < 0 ? NULL : fd_list(base_fd);
	char names[SWEEP_NAMES][CGROUP_NODE_NAME_MAX];
	const struct dirent *entry;
	uint32_t first = 0; /* anywhere, so that each is looked at sooner or later */
	size_t count = 0;

	for (int i = 0; list && i < ENTRIES_MAX && count < SWEEP_NAMES && (entry = readdir(list)) != NULL; i++)
		if (entry->d_type == DT_DIR && cgroup_node_is_name(entry->d_name) && strcmp(entry->d_name, own) != 0)
			(void) snprintf(names[count++], CGROUP_NODE_NAME_MAX, "%.*s", CGROUP_NODE_NAME_MAX - 1, entry->d_name);
	if (getrandom(&first, sizeof(first), GRND_NONBLOCK) != (ssize_t) sizeof(first))
		first = (uint32_t) getpid();
	for (size_t i = 0; i < MIN(count, (size_t) SWEEP_MAX); i++)
		(void) cgroup_node_sweep(base_fd, names[(first + i) % count], false);
}
