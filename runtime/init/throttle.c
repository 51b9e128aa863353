/*
 * Holds commands to a share of the CPUs: see throttle.h. Runs in cloche-init, which may signal everything inside.
 *
 * A tick adds up the CPU time of each command: what its processes used, from the clock of each in nanoseconds, and what those that
 * ended had used, which the kernel gives to the parents that waited for them (/proc/PID/stat). Who ends between two ticks and has a
 * parent that ignores SIGCHLD is in neither; therefore ticks also take samples of who is running, and when these tell of much more, they
 * are believed.
 *
 * Parents are stopped before their children and let go on after them, so that none sees a child stopped that it did not stop itself.
 * The shim of a command is never stopped: it uses next to nothing, and init talks with it. Whom others stop is not ours to let go on,
 * also when their signal comes while ours holds.
 */
#include "runtime/init/throttle.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/init/cpus.h"
#include "runtime/init/watch_read.h"

enum {
	ROWS_MAX = 4096,
	ANCESTORS_MAX = 4096,
	PASSES_MAX = 4, /* over new processes, while the old ones are being stopped */
	STAT_MAX = 1024,
	STATUS_MAX = 4096,
	TICK_MIN_US = 2000,
	TICK_MAX_US = 50000,
	COST_SHARE = 20,        /* ticks take a twentieth of the time at most */
	FULL_US = 100000,       /* a share is full after this time */
	ENOUGH_US = 50000,      /* what has been stopped goes on with what is earned in this time */
	DEBT_US = 1000000,      /* no more is paid back than is earned in this time */
	YOUNG_US = 100000,      /* a command this young is not stopped because of others: most are over by then */
	WINDOW_TICKS = 24,      /* so many samples are compared with what was measured … */
	BELIEVED = 250,         /* … and believed when they tell of this many percent of it */
	SAMPLES_MAX = 64,
	NS_PER_TICK_OF_STAT = 10000000, /* sysconf(_SC_CLK_TCK) is 100 everywhere */
};

struct row {
	pid_t pid, parent;
	uint64_t own_ns, waited_ns; /* CPU time of its own, and of children that it waited for */
	uint64_t used_ns; /* of its own since the read before */
	struct throttle_command *command;
	size_t depth; /* how many of its ancestors have rows */
	char state;         /* proc(5): of its first thread */
	int threads;
	bool stopped;       /* by us */
	bool stopped_twice; /* and each of its threads */
};

static struct row tables[2][ROWS_MAX]; /* of this tick and the one before; ascending */
static size_t counts[2];
static size_t order[ROWS_MAX]; /* the rows of this tick, parents before children */
static unsigned int current;

static int64_t now_us(void)
{
	struct timespec now = clock_now();

	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct row *find(unsigned int table, pid_t pid)
{
	size_t low = 0, high = counts[table];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tables[table][middle].pid == pid)
			return &tables[table][middle];
		if (tables[table][middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static uint64_t clock_of(pid_t pid)
{
	struct timespec used;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &used) < 0)
		return 0;
	return (uint64_t) used.tv_sec * 1000000000 + (uint64_t) used.tv_nsec;
}

/* "12 (name) S 1 …": the fields of proc(5), counted from 3, the state. False when the process is gone. */
static bool read_stat(int proc_fd, struct row *row)
{
	char path[32], text[STAT_MAX];
	long long cutime, cstime;
	int parent;

	(void) snprintf(path, sizeof(path), "%d/stat", (int) row->pid);
	const char *at = watch_read(proc_fd, path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
	if (!at || sscanf(at, ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld %lld %*s %*s %d", &row->state, &parent, &cutime,
			  &cstime, &row->threads) != 5)
		return false;
	row->parent = (pid_t) parent;
	row->waited_ns = (uint64_t) (cutime + cstime) * NS_PER_TICK_OF_STAT;
	row->own_ns = clock_of(row->pid);
	return true;
}

/* All processes but this one. What we had stopped is still known to be ours. */
static void read_rows(int proc_fd)
{
	struct watch_dir list = { .fd = proc_fd };
	unsigned int pid;

	current = !current;
	counts[current] = 0;
	if (lseek(proc_fd, 0, SEEK_SET) < 0)
		return;
	while (counts[current] < ROWS_MAX && watch_next(&list, &pid)) {
		struct row row = { .pid = (pid_t) pid };
		if (pid == 1 || !read_stat(proc_fd, &row))
			continue;
		const struct row *before = find(!current, row.pid);
		row.used_ns = row.own_ns - (before && before->own_ns <= row.own_ns ? before->own_ns : 0);
		row.stopped = before && before->stopped;
		row.stopped_twice = before && before->stopped_twice;
		tables[current][counts[current]++] = row;
	}
}

static struct throttle_command *command_of(const struct row *row, struct throttle_command *commands, size_t count)
{
	for (int step = 0; row && step < ANCESTORS_MAX; step++) {
		for (size_t i = 0; i < count; i++)
			if (commands[i].root == row->pid || commands[i].root == 1)
				return &commands[i];
		row = find(current, row->parent);
	}
	return NULL;
}

static size_t depth_of(const struct row *row)
{
	size_t depth = 0;

	while (depth < ANCESTORS_MAX && (row = find(current, row->parent)))
		depth++;
	return depth;
}

/* Numbers do not tell who came first: they begin again when all have been used. */
static void sort_by_depth(void)
{
	static size_t next[ANCESTORS_MAX + 2];
	size_t deepest = 0;

	for (size_t i = 0; i < counts[current]; i++) {
		tables[current][i].depth = depth_of(&tables[current][i]);
		deepest = MAX(deepest, tables[current][i].depth);
	}
	memset(next, 0, (deepest + 2) * sizeof(next[0]));
	for (size_t i = 0; i < counts[current]; i++)
		next[tables[current][i].depth + 1]++;
	for (size_t depth = 1; depth <= deepest; depth++)
		next[depth] += next[depth - 1];
	for (size_t i = 0; i < counts[current]; i++)
		order[next[tables[current][i].depth]++] = i;
}

static uint64_t nanoseconds(const struct timeval *tv)
{
	return (uint64_t) tv->tv_sec * 1000000000 + (uint64_t) tv->tv_usec * 1000;
}

/*
 * What the commands have used, of which two things are known for certain: no less than before and what the living used since then; and
 * no less than the living and those that they waited for used in all.
 */
static void account(struct throttle *t, struct throttle_command *commands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		commands[i].certain_ns = 0;
	for (size_t i = 0; i < counts[current]; i++) {
		struct row *row = &tables[current][i];
		row->command = command_of(row, commands, count);
		if (!row->command)
			continue;
		row->command->since_ns += row->used_ns;
		row->command->certain_ns += row->own_ns + row->waited_ns;
	}
	for (size_t i = 0; i < count; i++) {
		struct throttle_command *c = &commands[i];
		struct rusage ended;
		if (!c->root)
			continue;
		if (c->root == 1 && getrusage(RUSAGE_CHILDREN, &ended) == 0)
			c->certain_ns += nanoseconds(&ended.ru_utime) + nanoseconds(&ended.ru_stime);
		uint64_t used = MAX(c->since_ns, c->certain_ns > c->used_ns ? c->certain_ns - c->used_ns : 0);
		c->since_ns = 0;
		c->used_ns += used;
		c->share.left -= (int64_t) used;
		t->all.left -= (int64_t) used;
		t->used_ns += used;
	}
}

/* Nanoseconds that a process ran for, of @elapsed_ns in which it would have liked to. On a busy machine it is not all. */
static uint64_t ran_ns(int proc_fd, pid_t pid, uint64_t elapsed_ns)
{
	unsigned long long ran, waited;
	char path[32], text[128];

	(void) snprintf(path, sizeof(path), "%d/schedstat", (int) pid);
	if (!watch_read(proc_fd, path, text, sizeof(text)) || sscanf(text, "%llu %llu", &ran, &waited) != 2 || ran + waited == 0)
		return 0;
	return (uint64_t) ((double) elapsed_ns * (double) ran / (double) (ran + waited));
}

/* A sample of who is running. After some the commands are charged for what they have used in secret. To be called after account(). */
static void sample(struct throttle *t, struct throttle_command *commands, size_t count, int64_t elapsed_us)
{
	uint64_t elapsed_ns = (uint64_t) elapsed_us * 1000;
	int samples = 0;

	for (size_t i = 0; i < counts[current] && samples < SAMPLES_MAX; i++) {
		const struct row *row = &tables[current][i];
		if (!row->command || row->state != 'R' || row->pid == row->command->root)
			continue;
		row->command->sampled_ns += ran_ns(t->proc_fd, row->pid, elapsed_ns);
		samples++;
	}
	for (size_t i = 0; i < count; i++) {
		struct throttle_command *c = &commands[i];
		c->window.sampled_ns += MIN(c->sampled_ns, elapsed_ns * t->cpus);
		c->sampled_ns = 0;
		if (!c->root || ++c->window.ticks < WINDOW_TICKS)
			continue;
		uint64_t measured = c->used_ns - c->window.used_before_ns;
		uint64_t secret = c->window.sampled_ns * 100 > measured * BELIEVED ? c->window.sampled_ns - measured : 0;
		c->secret_ns += secret;
		c->share.left -= (int64_t) secret;
		t->all.left -= (int64_t) secret;
		c->window.used_before_ns = c->used_ns;
		c->window.sampled_ns = 0;
		c->window.ticks = 0;
	}
}

static int64_t earned_ns(const struct throttle_share *share, int64_t us)
{
	return us * (int64_t) share->cpu_milli;
}

static void earn(struct throttle_share *share, int64_t us)
{
	share->left = MIN(share->left + earned_ns(share, us), earned_ns(share, FULL_US));
}

static void judge(struct throttle_share *share)
{
	share->left = MAX(share->left, -earned_ns(share, DEBT_US));
	share->is_spent = share->cpu_milli && share->left < (share->is_spent ? earned_ns(share, ENOUGH_US) : 0);
}

/* Microseconds after which this share may be spent, or may have enough again. */
static int64_t due_us(const struct throttle *t, const struct throttle_share *share)
{
	int64_t drain = (int64_t) t->cpus * 1000 - (int64_t) share->cpu_milli;

	if (!share->cpu_milli)
		return INT64_MAX;
	if (share->is_spent)
		return (earned_ns(share, ENOUGH_US) - share->left) / (int64_t) share->cpu_milli;
	return share->left / drain;
}

static void decide(const struct throttle *t, struct throttle_command *c, int64_t now, int64_t elapsed)
{
	bool is_young = c->root != 1 && now - c->began_us < YOUNG_US;

	if (c->held)
		c->held_us += (uint64_t) elapsed;
	c->held = c->share.is_spent || (t->all.is_spent && !is_young);
}

/* What stops a process, beside what we have done ourselves. Other signals that stop do not count: who blocks them may have one waiting. */
struct stops {
	bool is_stopped;
	bool is_sent; /* SIGSTOP, which nobody has taken yet */
};

static struct stops read_stops(int proc_fd, pid_t pid)
{
	static char text[STATUS_MAX];
	unsigned long long mask;
	char path[32], letter;

	(void) snprintf(path, sizeof(path), "%d/status", (int) pid);
	if (!watch_read(proc_fd, path, text, sizeof(text)))
		return (struct stops) { false, false };
	const char *state = strstr(text, "\nState:"), *pending = strstr(text, "\nShdPnd:");
	return (struct stops) {
		.is_stopped = state && sscanf(state, "\nState: %c", &letter) == 1 && letter == 'T',
		.is_sent = pending && sscanf(pending, "\nShdPnd: %llx", &mask) == 1 && (mask >> (SIGSTOP - 1) & 1),
	};
}

static void stop_threads(int proc_fd, pid_t pid)
{
	char path[32];

	(void) snprintf(path, sizeof(path), "%d/task", (int) pid);
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct watch_dir list = { .fd = fd };
	unsigned int tid;

	while (fd >= 0 && watch_next(&list, &tid))
		(void) sysx_tgkill(pid, (pid_t) tid, SIGSTOP);
}

/* Stops a process whose parent has been sent its stop. True when it has still to take it, and may start others until it does. */
static bool stop(int proc_fd, struct row *row)
{
	if (!row->stopped) {
		/* A debugger can hold the first thread alone. */
		if (row->state == 'T' || (row->state == 't' && row->used_ns == 0))
			return false;
		/* Somebody may have been faster than we, between our read of the row and the stop of its parent. */
		struct stops others = read_stops(proc_fd, row->pid);
		if (others.is_stopped)
			return false;
		row->stopped = !others.is_sent && kill(row->pid, SIGSTOP) == 0;
		if (row->stopped)
			return true;
	}
	if (row->state == 'T' || row->used_ns == 0)
		return false;
	/* While the first thread waits for its child of vfork(2), the kernel leaves it at that, and the others go on. */
	if (row->threads > 1) {
		stop_threads(proc_fd, row->pid);
		row->stopped_twice = row->stopped;
	}
	return true;
}

/* Stops what is to be held. True when that is to be done once more, for what it may have started meanwhile. */
static bool stop_held(int proc_fd)
{
	bool again = false;

	for (size_t i = 0; i < counts[current]; i++) {
		struct row *row = &tables[current][order[i]];
		if (row->command && row->command->held && row->pid != row->command->root)
			again = stop(proc_fd, row) || again;
	}
	return again;
}

static void let_go(int proc_fd)
{
	for (size_t i = counts[current]; i > 0; i--) {
		struct row *row = &tables[current][order[i - 1]];
		if (!row->stopped || (row->command && row->command->held))
			continue;
		/* One of ours has stopped it; another that waits is somebody's who wants it to stay as it is. */
		struct stops now = read_stops(proc_fd, row->pid);
		if (!now.is_stopped || !now.is_sent || row->stopped_twice)
			(void) kill(row->pid, SIGCONT);
		row->stopped = row->stopped_twice = false;
	}
}

void throttle_open(struct throttle *t, int proc_fd, uint64_t cpu_milli)
{
	*t = (struct throttle) { .proc_fd = proc_fd, .cpus = cpus_reachable(), .last_us = now_us() };
	t->all.cpu_milli = cpu_milli < (uint64_t) t->cpus * 1000 ? cpu_milli : 0;
	t->all.left = earned_ns(&t->all, FULL_US);
}

void throttle_begin(const struct throttle *t, struct throttle_command *c, pid_t root, uint64_t cpu_milli)
{
	*c = (struct throttle_command) { .root = root, .began_us = now_us() };
	c->share.cpu_milli = cpu_milli < (uint64_t) t->cpus * 1000 ? cpu_milli : 0;
	c->share.left = earned_ns(&c->share, FULL_US);
}

static bool is_needed(const struct throttle *t, const struct throttle_command *commands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (commands[i].root && (t->all.cpu_milli || commands[i].share.cpu_milli))
			return true;
	return false;
}

int throttle_tick(struct throttle *t, struct throttle_command *commands, size_t count)
{
	int64_t now = now_us(), elapsed = now - t->last_us, due;
	uint64_t start = clock_cpu_us();

	if (!is_needed(t, commands, count))
		return -1;
	t->last_us = now;
	earn(&t->all, elapsed);
	for (size_t i = 0; i < count; i++)
		if (commands[i].root)
			earn(&commands[i].share, MIN(elapsed, now - commands[i].began_us));
	for (int pass = 0; pass < PASSES_MAX; pass++) {
		read_rows(t->proc_fd);
		account(t, commands, count);
		sort_by_depth();
		if (pass == 0)
			sample(t, commands, count, elapsed);
		judge(&t->all);
		for (size_t i = 0; i < count; i++) {
			judge(&commands[i].share);
			decide(t, &commands[i], now, pass ? 0 : elapsed);
		}
		let_go(t->proc_fd);
		if (!stop_held(t->proc_fd))
			break;
	}
	due = due_us(t, &t->all);
	for (size_t i = 0; i < count; i++)
		if (commands[i].root)
			due = MIN(due, due_us(t, &commands[i].share));
	int64_t cost = (int64_t) (clock_cpu_us() - start); /* on a busy machine others have their turn in between */
	due = MIN(MAX(due, (int64_t) TICK_MIN_US), (int64_t) TICK_MAX_US);
	return (int) ((MAX(due, cost * COST_SHARE) + 999) / 1000);
}
