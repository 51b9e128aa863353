/*
 * Limits and figures of commands: see govern.h. Runs in cloche-init.
 */
#include "runtime/init/govern.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "runtime/base/fd.h"
#include "runtime/base/wall.h"
#include "runtime/init/cpus.h"
#include "runtime/init/oomscore.h"
#include "runtime/kern/cgroup.h"

enum {
	PIDS_RESERVE = 8,   /* this part of the processes is left to the next command, when one starts all it may */
	SWEEP_PAUSE_MS = 50,
	SWEEP_PAUSE_MAX_MS = 3200,
	TASKS_OF_OURS = 8,  /* init, the server and its threads, a shim */
	TASKS_NEAR_PART = 16, /* less than this part of a limit is left when it is all but met */
};

/* No more CPUs than the share needs, where no cgroup measures it out: honest programs are then never stopped for a whole number. */
static int bind_cpus(const struct govern *g)
{
	uint32_t milli = g->wishes.sandbox.cpu_milli;

	return milli == 0 || (g->leaves.controllers & CGROUP_CPU) ? 0 : cpus_bind((milli + 999) / 1000);
}

/* What cgroups do not hold, such as the CPUs where that controller is not handed down, init does itself. */
static int open_watch(struct govern *g)
{
	bool watches = !(g->leaves.controllers & CGROUP_MEMORY), throttles = !(g->leaves.controllers & CGROUP_CPU);

	if (g->wishes.shared_proc || (!watches && !throttles))
		return 0;
	int r = watchdog_open(&g->watchdog, watches ? g->wishes.sandbox.memory : 0);
	if (r < 0)
		return r;
	for (size_t i = 0; i < g->wishes.folder_count; i++)
		watch_tmpfs_add(&g->watchdog.folders, g->wishes.folders[i]);
	throttle_open(&g->throttle, g->watchdog.proc_fd, g->wishes.sandbox.cpu_milli);
	g->watches = watches;
	g->throttles = throttles;
	return 0;
}

int govern_open(struct govern *g, const struct govern_wishes *wishes, int node_fd)
{
	g->wishes = *wishes;
	g->leaves.work_fd = -EBADF;
	for (size_t i = 0; i < GOVERN_COMMANDS; i++)
		g->trees[i] = (struct watchdog_tree) WATCHDOG_TREE_NONE;
	if (!wall_stands(WALL_LIMITS)) {
		g->wishes.sandbox = g->wishes.command = (struct initmsg_limits) { 0 };
		return 0;
	}
	int r = leaves_open(&g->leaves, node_fd, wishes->single ? 0 : 1);
	/* A cgroup that was given must hold: init has not kept what it takes to watch instead, and whoever asked was told so. */
	if (r == 0 && (g->leaves.controllers & (CGROUP_MEMORY | CGROUP_PIDS)) != (CGROUP_MEMORY | CGROUP_PIDS))
		r = -EOPNOTSUPP;
	if (r < 0 && r != -EBADF)
		return r;
	if (r < 0 && wishes->shared_proc)
		/* Each process has a limit of its own then, from the launcher; nobody holds their sum. */
		g->wishes.sandbox.memory = g->wishes.command.memory = 0;
	r = bind_cpus(g);
	return r < 0 ? r : open_watch(g);
}

const char *govern_manner(const struct govern *g)
{
	const struct initmsg_limits *s = &g->wishes.sandbox;
	unsigned int needed = CGROUP_MEMORY | CGROUP_PIDS | (s->cpu_milli ? CGROUP_CPU : 0);

	if ((g->leaves.controllers & needed) == needed)
		return "exact";
	return g->watches || s->memory || s->cpu_milli || s->pids ? "approximate" : NULL;
}

/* The lower one of two limits of which 0 is none. */
static uint64_t lower(uint64_t a, uint64_t b)
{
	return a == 0 || b == 0 ? MAX(a, b) : MIN(a, b);
}

/* What one command may use: what it asks for, or what is usual, and never more than all together. */
static struct initmsg_limits settle(const struct govern *g, const struct initmsg_limits *wanted)
{
	const struct initmsg_limits *usual = &g->wishes.command, *all = &g->wishes.sandbox;
	uint32_t share = g->wishes.single ? all->pids : all->pids - all->pids / PIDS_RESERVE;
	struct initmsg_limits limits = {
		.memory = lower(wanted->memory ? wanted->memory : usual->memory, all->memory),
		.cpu_milli = (uint32_t) lower(wanted->cpu_milli ? wanted->cpu_milli : usual->cpu_milli, all->cpu_milli),
		.pids = (uint32_t) lower(wanted->pids ? wanted->pids : usual->pids ? usual->pids : share, all->pids),
	};

	if (g->wishes.shared_proc && !(g->leaves.controllers & CGROUP_MEMORY))
		limits.memory = 0;
	return limits;
}

static size_t count_alive(const struct govern *g)
{
	size_t count = 0;

	for (size_t i = 0; i < GOVERN_COMMANDS; i++)
		count += g->commands[i].alive;
	return count;
}

static bool is_any_alive(const struct govern *g)
{
	return count_alive(g) > 0;
}

/* The kernel counts processes of all the sandbox for RLIMIT_NPROC, so one command's own come on top of those that are there. */
static void limit_tasks(const struct govern *g, struct governed *c, struct command_request *request)
{
	request->tasks_limit = request->tasks_near = 0;
	if (c->limits.pids == 0 || (g->leaves.controllers & CGROUP_PIDS))
		return;
	if (!g->wishes.single)
		c->tasks_before = g->watches && is_any_alive(g) ? watchdog_tasks(&g->watchdog) : TASKS_OF_OURS;
	uint64_t limit = lower((uint64_t) c->limits.pids + c->tasks_before, g->wishes.sandbox.pids);
	request->tasks_limit = (uint32_t) MIN(limit, (uint64_t) UINT32_MAX);
	request->tasks_near = request->tasks_limit - c->limits.pids / TASKS_NEAR_PART;
}

int govern_begin(struct govern *g, size_t i, const struct initmsg_limits *wanted, struct command_request *request)
{
	struct governed *c = &g->commands[i];

	*c = (struct governed) { .limits = settle(g, wanted), .start = clock_now() };
	request->cgroup_fd = -EBADF;
	if (leaves_are_used(&g->leaves)) {
		/* Also what is the sandbox's: then it is known whose limit was met, and programs see what they may use. */
		c->leaf = leaf_take(&g->leaves, &c->limits, c->limits.memory != g->wishes.sandbox.memory);
		if (!c->leaf)
			return -errno;
		request->cgroup_fd = c->leaf->fd;
	}
	limit_tasks(g, c, request);
	c->entered = g->watches && !g->wishes.single && wall_stands(WALL_IPCNS) && watchdog_enter(&g->watchdog, &g->trees[i]) == 0;
	request->has_ipcns = c->entered;
	oomscore_raise();
	return 0;
}

void govern_begun(struct govern *g, size_t i, pid_t root)
{
	struct governed *c = &g->commands[i];
	bool was_idle = !is_any_alive(g);

	oomscore_restore();
	if (c->entered)
		watchdog_leave(&g->watchdog);
	if (root < 0)
		return govern_forget(g, i);
	c->alive = true;
	c->root = root;
	if (g->watches)
		watchdog_begin(&g->watchdog, &g->trees[i], root, c->limits.memory != g->wishes.sandbox.memory ? c->limits.memory : 0);
	if (g->throttles) {
		uint32_t own = c->limits.cpu_milli != g->wishes.sandbox.cpu_milli ? c->limits.cpu_milli : 0;
		throttle_begin(&g->throttle, &g->shares[i], root, own);
		g->next_tick_ms = 0;
	}
	if (was_idle && g->watches) /* the time of the next look is an old one */
		g->next_look_ms = clock_now_ms() + watchdog_pause_ms(&g->watchdog, g->trees, GOVERN_COMMANDS);
}

/* The first process of a PID namespace takes all others with it. */
static void kill_all(struct governed *c, enum initmsg_killed why)
{
	c->killed = why;
	(void) kill(c->root == 1 ? -1 : c->root, SIGKILL);
	if (c->leaf)
		leaf_kill(c->leaf);
}

void govern_kill(struct govern *g, size_t i)
{
	if (g->commands[i].alive)
		kill_all(&g->commands[i], INITMSG_KILLED_ON_REQUEST);
}

static void look(struct govern *g)
{
	bool all = false;

	(void) watchdog_look(&g->watchdog, g->trees, GOVERN_COMMANDS);
	const struct watchdog_tree *offender = watchdog_offender(&g->watchdog, g->trees, GOVERN_COMMANDS, &all);
	if (offender) {
		struct governed *c = &g->commands[offender - g->trees];
		all = all && (c->limits.memory == 0 || offender->bytes <= c->limits.memory);
		kill_all(c, all ? INITMSG_KILLED_MEMORY_ALL : INITMSG_KILLED_MEMORY);
	}
	g->next_look_ms = clock_now_ms() + watchdog_pause_ms(&g->watchdog, g->trees, GOVERN_COMMANDS);
}

/* The nearer one of two times to wait, of which -1 is for ever. */
static int nearer(int64_t a, int64_t b)
{
	return (int) (a < 0 || b < 0 ? MAX(a, b) : MIN(a, b));
}

static int tick_watch(struct govern *g)
{
	int wait = -1;

	/* The clock decides, not poll: commands that keep us busy are watched all the same. */
	if (g->watches) {
		if (clock_now_ms() >= g->next_look_ms)
			look(g);
		wait = (int) MAX(g->next_look_ms - clock_now_ms(), (int64_t) 0);
	}
	if (!g->throttles || g->next_tick_ms < 0)
		return wait;
	int64_t left = g->next_tick_ms - clock_now_ms();
	if (left <= 0) {
		left = throttle_tick(&g->throttle, g->shares, GOVERN_COMMANDS);
		g->next_tick_ms = left < 0 ? -1 : clock_now_ms() + left;
	}
	return nearer(wait, left);
}

/* Most leaves go when their shim is reaped; here is tried again what did not, less and less often. */
static int tick_leaves(struct govern *g)
{
	int64_t now = clock_now_ms();

	if (g->leaves.leaving > 0 && g->sweep_pause_ms > 0 && now >= g->next_sweep_ms) {
		leaves_sweep(&g->leaves);
		g->sweep_pause_ms = MIN(2 * g->sweep_pause_ms, (int64_t) SWEEP_PAUSE_MAX_MS);
		g->next_sweep_ms = now + g->sweep_pause_ms;
	}
	if (g->leaves.leaving == 0) {
		g->sweep_pause_ms = 0;
		return -1;
	}
	if (g->sweep_pause_ms == 0) {
		g->sweep_pause_ms = SWEEP_PAUSE_MS;
		g->next_sweep_ms = now + SWEEP_PAUSE_MS;
	}
	return (int) (g->next_sweep_ms - now);
}

int govern_tick(struct govern *g)
{
	int wait = is_any_alive(g) ? tick_watch(g) : -1;

	if (!leaves_are_used(&g->leaves))
		return wait;
	if (!g->wishes.single) {
		struct initmsg_limits usual = settle(g, &(struct initmsg_limits) { 0 }); /* what most commands ask for */
		leaves_prepare(&g->leaves, &usual);
	}
	return nearer(wait, tick_leaves(g));
}

/* How many tasks that are not the command's the kernel counted at its end: what is left now, or was there when it began. */
static uint32_t tasks_of_others(struct govern *g, size_t i)
{
	uint32_t before = g->commands[i].tasks_before;

	if (count_alive(g) == 1)
		return before;
	return g->watches ? MAX(before, watchdog_tasks(&g->watchdog) + 1) : UINT32_MAX;
}

/*
 * What init saw in its looks, and what the shim asked the kernel about at the end: a look at a crowd that forks takes its time, and one
 * that is over soon is seen when it was still small, or not at all.
 */
static uint32_t processes_peak(struct govern *g, size_t i, const struct command_report *report)
{
	uint32_t seen = g->watches ? g->trees[i].tasks_peak : 0;
	uint32_t others = report->tasks_least ? tasks_of_others(g, i) : 0;

	return report->tasks_least > others ? MAX(seen, report->tasks_least - others) : seen;
}

/* What the shim tells of its command, and init of its looks. */
static void read_watch(struct govern *g, size_t i, const struct command_report *report, struct initmsg_metrics *metrics)
{
	*metrics = (struct initmsg_metrics) {
		.cpu_user_us = report->cpu_user_us, .cpu_system_us = report->cpu_system_us, .max_rss = report->max_rss_kib * 1024,
		.memory_peak = MAX(report->max_rss_kib * 1024, g->watches ? g->trees[i].peak : 0),
		.read_bytes = report->read_bytes, .written_bytes = report->written_bytes,
		.processes_peak = processes_peak(g, i, report),
		.throttled_us = g->throttles ? g->shares[i].held_us : g->commands[i].limits.cpu_milli ? INITMSG_UNKNOWN : 0,
		.measured = INITMSG_APPROXIMATE,
	};
}

/* Each figure that the kernel has; the peak of memory is one that it must have, for all to be called exact. */
static void read_leaf(const struct govern *g, struct governed *c, struct initmsg_metrics *metrics)
{
	uint64_t seen = metrics->memory_peak;

	metrics->memory_peak = 0;
	metrics->measured = INITMSG_EXACT;
	enum initmsg_killed killed = leaf_read(&g->leaves, c->leaf, metrics);
	if (killed != INITMSG_NOT_KILLED)
		c->killed = killed;
	if (metrics->memory_peak == 0) {
		metrics->memory_peak = seen;
		metrics->measured = INITMSG_APPROXIMATE;
	}
}

void govern_end(struct govern *g, size_t i, const struct command_report *report, struct initmsg_exited *exited)
{
	struct governed *c = &g->commands[i];

	read_watch(g, i, report, &exited->metrics);
	if (c->leaf)
		read_leaf(g, c, &exited->metrics);
	exited->metrics.wall_us = clock_us_since(&c->start);
	exited->killed = c->killed;
	exited->limits = c->limits;
	exited->sandbox = g->wishes.sandbox;
	govern_forget(g, i);
}

void govern_forget(struct govern *g, size_t i)
{
	struct governed *c = &g->commands[i];

	watchdog_end(&g->watchdog, &g->trees[i]);
	g->shares[i].root = 0;
	if (c->leaf)
		leaf_drop(&g->leaves, c->leaf);
	*c = (struct governed) { .alive = false };
}

void govern_reaped(struct govern *g)
{
	if (leaves_are_used(&g->leaves))
		leaves_sweep(&g->leaves);
}
