/*
 * Watches how much memory the commands use: see watchdog.h. Runs in cloche-init, with CAP_SYS_PTRACE of the sandbox's user namespace,
 * without which those who make themselves undumpable could hide what they hold.
 *
 * A look adds up the quick figures: they count some memory twice or more, but none too little. Only when they are above a limit, or
 * would be a new peak, is the kernel asked for the exact ones. Only numbers that the kernel printed are parsed.
 */
#include "runtime/init/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/init/cpus.h"
#include "runtime/init/watch_files.h"
#include "runtime/init/watch_maps.h"
#include "runtime/init/watch_processes.h"
#include "runtime/init/watch_sockets.h"
#include "runtime/kern/procfs.h"

enum {
	ANCESTORS_MAX = 4096,
	PAUSE_MIN_MS = 5,
	PAUSE_MAX_MS = 1000,
	COST_SHARE = 20,            /* looking may take a twentieth of the time … */
	CREDIT_MAX_US = 250000,     /* … and what it did not take until now */
	NEAR_SHARE = 4,             /* near the limit it may take a quarter: the look that comes late is the one that counts */
	NEAR_PART = 4,              /* near: from this part of the limit on */
	FILES_BUDGET_US = 4000,     /* of one look, for open files: a sandbox may have a million of them */
	BYTES_PER_MS_OF_CPU = 4 << 20, /* one CPU fills 2 to 4 GB a second with new pages */
	SAME_WORTH = 64,            /* from this part of the limit on a process is asked whether its memory is its parent's */
	SAME_WORTH_BYTES = 16 << 20, /* … and without a limit */
	PEAK_STEP = 16,             /* a peak that is higher by less than this part is not worth an exact look */
	TURN_NS = 100000,           /* the shortest that the kernel takes */
	LITTLE = 16,                /* nobody is killed who uses less than this part of the limit */
	WAIT_MAX_US = 20000,        /* a look for a peak waits no longer for the processes … */
	WAIT_REST = 10,             /* … and when it did, so many times as long there is none */
};

static struct watch_table table;

/*
 * On a busy machine who looks for a short time is let in sooner when he says so (Linux 6.12; earlier ones take no notice). Children do not
 * inherit it; but they would lose a better priority than usual with it.
 */
static void ask_for_short_turns(void)
{
	struct sched_attr attr = {
		.size = sizeof(attr), .sched_policy = SCHED_NORMAL, .sched_flags = SCHED_FLAG_RESET_ON_FORK,
		.sched_nice = getpriority(PRIO_PROCESS, 0), .sched_runtime = TURN_NS,
	};

	if (attr.sched_nice >= 0 && syscall(SYS_sched_getscheduler, 0) == SCHED_NORMAL)
		(void) syscall(SYS_sched_setattr, 0, &attr, 0);
}

int watchdog_open(struct watchdog *w, uint64_t limit)
{
	*w = (struct watchdog) { .limit = limit, .credit_us = CREDIT_MAX_US };
	w->bytes_per_ms = (uint64_t) cpus_reachable() * BYTES_PER_MS_OF_CPU;
	w->proc_fd = procfs_open_detached();
	if (w->proc_fd < 0) /* a host where no procfs can be mounted: those who hide from this one are not seen */
		w->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->proc_fd < 0)
		return -errno;
	ask_for_short_turns();
	watch_tmpfs_open(&w->folders);
	return watch_ipc_open_home(&w->home_fd, w->proc_fd);
}

int watchdog_enter(struct watchdog *w, struct watchdog_tree *tree)
{
	return w->proc_fd < 0 ? -EBADF : watch_ipc_enter(&tree->ipc, w->proc_fd);
}

void watchdog_leave(struct watchdog *w)
{
	/* Should it stay there, what the command has in that namespace only lasts until the next one begins. */
	IGNORE_RESULT(watch_ipc_leave(w->home_fd));
}

void watchdog_begin(struct watchdog *w, struct watchdog_tree *tree, pid_t root, uint64_t limit)
{
	struct watch_ipc ipc = tree->ipc;

	*tree = (struct watchdog_tree) { .root = root, .limit = limit, .ipc = ipc };
	tree->ipc.is_own = root == 1;
	uint64_t contents;
	tree->folders_before = watch_tmpfs_bytes(&w->folders, &contents);
	if (w->commands == 0) { /* what a command of before cost, and how long looks waited for it, says nothing about this one */
		w->cost_us = 0;
		w->peaks_ms = 0;
	}
	if (w->commands++ > 0)
		return;
	w->in_folders = tree->folders_before;
	watch_hidden_begin(&w->hidden, w->proc_fd, contents);
}

void watchdog_end(struct watchdog *w, struct watchdog_tree *tree)
{
	watch_ipc_close(&tree->ipc);
	w->commands -= tree->root != 0;
	tree->root = 0;
}

/* The tree that a process belongs to: orphans hang on the first process of their command's namespace, which is the root. -1: none. */
static int tree_of(const struct watch_process *p, const struct watchdog_tree *trees, size_t count)
{
	for (int step = 0; p && step < ANCESTORS_MAX; step++) {
		for (size_t i = 0; i < count; i++)
			if (trees[i].root == p->pid || trees[i].root == 1)
				return (int) i;
		p = watch_process_find(&table, p->parent);
	}
	return -1;
}

/* Roots are shims, and what belongs to no command is the server: neither is a program of the agent's. */
static void find_trees(const struct watchdog_tree *trees, size_t count)
{
	for (size_t i = 0; i < table.count; i++) {
		struct watch_process *p = &table.rows[i];
		p->tree = tree_of(p, trees, count);
		p->trusted = p->tree < 0 || trees[p->tree].root == p->pid;
	}
}

/* Bytes of shared memory that the sandbox is known to have, @contents of them in folders. */
static uint64_t known_shared(const struct watchdog_tree *trees, size_t count, uint64_t contents)
{
	uint64_t bytes = contents + watch_files_memory();

	for (size_t i = 0; i < count; i++)
		if (trees[i].root)
			bytes += trees[i].ipc.shared;
	for (size_t i = 0; i < table.count; i++)
		bytes += table.rows[i].shared;
	return bytes;
}

/* Bytes that belong to no process. */
struct unowned {
	uint64_t contents; /* of folders in memory */
	uint64_t sockets;
};

/*
 * Adds up the rows of the table, and what belongs to no process: sockets to the only command when there is one, else to none. Contents
 * of folders may be mapped, too, and then are counted twice, like whatever has several users, unless this is @exact; but there cannot
 * be more than the whole machine has.
 */
static void add_up(struct watchdog *w, struct watchdog_tree *trees, size_t count, const struct unowned *unowned,
		   bool exact)
{
	uint64_t known = known_shared(trees, count, unowned->contents);

	watch_hidden_add(&w->hidden, w->proc_fd, &table, known, w->limit, exact);
	w->total = w->in_folders + unowned->sockets + table.beyond;
	for (size_t i = 0; i < count; i++) {
		struct watchdog_tree *t = &trees[i];
		t->bytes = t->root ? t->ipc.shared + t->ipc.others : 0;
		t->tasks = 0;
		w->total += t->bytes;
		if (t->root)
			t->bytes += t->folders + (w->commands == 1 ? unowned->sockets : 0);
	}
	for (size_t i = 0; i < table.count; i++) {
		const struct watch_process *p = &table.rows[i];
		struct watchdog_tree *tree = p->tree < 0 ? NULL : &trees[p->tree];
		uint64_t bytes = p->kernel + p->own + p->shared + p->files + p->hidden;

		w->total += bytes;
		if (!tree)
			continue;
		tree->bytes += bytes;
		tree->tasks += p->tasks;
	}
	w->total -= known - MIN(known, w->hidden.most);
}

/* Bytes that the quick figures may have counted more than once. */
static uint64_t doubtful(void)
{
	uint64_t all = 0, largest = 0;

	for (size_t i = 0; i < table.count; i++) {
		all += table.rows[i].own + table.rows[i].shared;
		largest = MAX(largest, table.rows[i].own);
	}
	return all - MIN(all, largest);
}

static bool is_above(const struct watchdog *w, const struct watchdog_tree *trees, size_t count)
{
	if (w->limit && w->total > w->limit)
		return true;
	for (size_t i = 0; i < count; i++)
		if (trees[i].root && trees[i].limit && trees[i].bytes > trees[i].limit)
			return true;
	return false;
}

static bool is_new_peak(const struct watchdog_tree *trees, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (trees[i].root && trees[i].bytes > trees[i].peak + trees[i].peak / PEAK_STEP)
			return true;
	return false;
}

static bool may_ask_for_peak(const struct watchdog *w)
{
	return w->credit_us > CREDIT_MAX_US / 2 && clock_now_ms() >= w->peaks_ms;
}

/* Microseconds since @start, when this process had used @cpu_us of CPU time, in which it did not run. */
static uint64_t waited_us(const struct timespec *start, uint64_t cpu_us)
{
	uint64_t passed = clock_us_since(start), used = clock_cpu_us() - cpu_us;

	return passed - MIN(passed, used);
}

/*
 * The kernel locks the mappings of a process for its exact figures. Who forks holds that lock, also while it waits for a CPU; and in a
 * crowd this process waits for one, too, and sees nothing meanwhile. Only for a limit it goes on: false when it gave up, for a while.
 *
 * With one command it is enough to know that it is above the limit, not by how much: the rest keeps the quick figures.
 */
static bool read_exact(struct watchdog *w, bool for_limit)
{
	struct timespec start = clock_now();
	uint64_t sum = 0, cpu_us = clock_cpu_us();

	for (size_t i = 0; i < table.count && (w->commands != 1 || !w->limit || sum <= w->limit); i++) {
		struct watch_process *p = &table.rows[i];
		watch_process_read_exact(p, w->proc_fd);
		if (p->shared > 0)
			p->shared = MIN(p->shared, watch_maps_shared(w->proc_fd, p));
		sum += p->kernel + p->own + p->shared;
		uint64_t waited = for_limit ? 0 : waited_us(&start, cpu_us);
		if (waited > WAIT_MAX_US) {
			w->peaks_ms = clock_now_ms() + (int64_t) (waited * WAIT_REST / 1000);
			return false;
		}
	}
	return true;
}

/* Where folders grow while there is only one command, it is the one that fills them. */
static uint64_t look_at_folders(struct watchdog *w, struct watchdog_tree *trees, size_t count)
{
	uint64_t contents, before = w->in_folders;

	w->in_folders = watch_tmpfs_bytes(&w->folders, &contents);
	for (size_t i = 0; i < count && w->commands == 1; i++)
		if (trees[i].root && w->in_folders >= before)
			trees[i].folders += w->in_folders - before;
		else if (trees[i].root)
			trees[i].folders -= MIN(trees[i].folders, before - w->in_folders);
	return contents;
}

uint64_t watchdog_look(struct watchdog *w, struct watchdog_tree *trees, size_t count)
{
	uint64_t worth = w->limit ? w->limit / SAME_WORTH : SAME_WORTH_BYTES;

	uint64_t start = clock_cpu_us();
	watch_processes_read(&table, w->proc_fd, worth);
	find_trees(trees, count);
	watch_files_read(&table, w->proc_fd, FILES_BUDGET_US, w->hidden.is_sought);
	for (size_t i = 0; i < count; i++)
		if (trees[i].root)
			watch_ipc_look(&trees[i].ipc, w->home_fd);
	struct unowned unowned = { .contents = look_at_folders(w, trees, count) };
	if (watch_files_count(WATCH_SOCKET) > 0)
		unowned.sockets = watch_sockets_read(w->proc_fd, &table);
	add_up(w, trees, count, &unowned, false);
	bool trusted = doubtful() <= w->total / PEAK_STEP, above = is_above(w, trees, count);
	if (above || (!trusted && may_ask_for_peak(w) && is_new_peak(trees, count))) {
		trusted = read_exact(w, above);
		if (trusted)
			add_up(w, trees, count, &unowned, true);
	}
	w->cost_us = clock_cpu_us() - start;
	for (size_t i = 0; i < count; i++) {
		trees[i].tasks_peak = MAX(trees[i].tasks_peak, trees[i].tasks);
		if (trusted)
			trees[i].peak = MAX(trees[i].peak, trees[i].bytes);
	}
	return w->total;
}

/*
 * How much a command is to blame for: its own, and what the folders in memory have grown by since it began. What an earlier one has
 * left there is not its fault.
 */
static uint64_t blame(const struct watchdog *w, const struct watchdog_tree *tree)
{
	return tree->bytes - tree->folders + (w->in_folders - MIN(w->in_folders, tree->folders_before));
}

struct watchdog_tree *watchdog_offender(const struct watchdog *w, struct watchdog_tree *trees, size_t count, bool *ret_all)
{
	struct watchdog_tree *own = NULL, *largest = NULL;
	uint64_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct watchdog_tree *t = &trees[i];
		if (!t->root)
			continue;
		used += t->bytes;
		if (t->limit && t->bytes > t->limit && (!own || t->bytes - t->limit > own->bytes - own->limit))
			own = t;
		if (!largest || blame(w, t) > blame(w, largest))
			largest = t;
	}
	*ret_all = !own;
	if (own || !largest || !w->limit || w->total <= w->limit)
		return own;
	/* When all commands use little, what is above lies in folders that were given more than fits: ending one would free nothing. */
	return used > w->limit / LITTLE || blame(w, largest) > w->limit / LITTLE ? largest : NULL;
}

/* Bytes until the first limit, or all there are. */
static uint64_t left_of(const struct watchdog *w, const struct watchdog_tree *trees, size_t count)
{
	uint64_t left = w->limit ? w->limit - MIN(w->limit, w->total) : UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		uint64_t own = trees[i].limit - MIN(trees[i].limit, trees[i].bytes);
		if (trees[i].root && trees[i].limit)
			left = MIN(left, own);
	}
	return left;
}

int watchdog_pause_ms(struct watchdog *w, const struct watchdog_tree *trees, size_t count)
{
	uint64_t left = left_of(w, trees, count);
	uint64_t share = w->limit && left < w->limit - w->limit / NEAR_PART ? NEAR_SHARE : COST_SHARE;
	uint64_t pause = MAX(left / w->bytes_per_ms / 2, (uint64_t) PAUSE_MIN_MS);
	int64_t now = clock_now_ms();

	w->credit_us = MIN(w->credit_us + (uint64_t) (now - w->paused_ms) * 1000 / COST_SHARE, (uint64_t) CREDIT_MAX_US);
	w->credit_us -= MIN(w->credit_us, w->cost_us);
	w->paused_ms = now;
	pause = MAX(pause, (w->credit_us > 0 ? w->cost_us : w->cost_us * share) / 1000);
	return (int) MIN(pause, (uint64_t) PAUSE_MAX_MS);
}

uint32_t watchdog_tasks(const struct watchdog *w)
{
	uint32_t tasks = 0;

	watch_processes_read(&table, w->proc_fd, UINT64_MAX);
	for (size_t i = 0; i < table.count; i++)
		tasks += table.rows[i].tasks;
	return tasks;
}
