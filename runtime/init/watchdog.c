/*
 * Watches how much memory the commands use: see watchdog.h. Runs in cloche-init.
 *
 * What counts is anonymous memory, swap and page tables of every process, and its share of shared memory (System V, memfd,
 * shared anonymous, mapped files of a tmpfs). Read from a procfs in which nobody can hide. Only numbers that the kernel
 * printed are parsed. tmpfs file systems have sizes of their own and are not counted.
 *
 * The quick figure counts a page in every process that maps it, so it is never too small. Only when it is above the limit is the
 * kernel asked for the exact one, in which a page is divided among its users: that takes it about 10 ms for each gigabyte.
 */
#include "runtime/init/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/kern/procfs.h"

enum {
	PROCESSES_MAX = 4096, /* more are counted, but belong to no tree */
	ANCESTORS_MAX = 4096,
	STATUS_MAX = 4096,
	THREAD_NAME_MAX = 32, /* "1234567890/task/1234567890" */
	PAUSE_MIN_MS = 5,
	PAUSE_MAX_MS = 1000,
	COST_SHARE = 20,            /* looking may take a twentieth of the time */
	BYTES_PER_MS_OF_CPU = 2 << 20, /* one CPU fills about 2 GB a second with new pages */
	SAME_WORTH = 64,            /* from this part of the limit on a process is asked whether its memory is its parent's */
};

struct process {
	pid_t pid, parent;
	uint64_t bytes, seen; /* what counts, and what the kernel says: more, where the memory is another process's */
};

static struct process processes[PROCESSES_MAX]; /* ascending, as the kernel lists them */
static size_t process_count;

int watchdog_open(struct watchdog *w, uint64_t limit)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

	w->limit = limit;
	w->proc_fd = -EBADF;
	w->bytes_per_ms = (uint64_t) MAX(count, 1) * BYTES_PER_MS_OF_CPU;
	if (limit == 0)
		return 0;
	w->proc_fd = procfs_open_detached();
	if (w->proc_fd < 0) /* a host where no procfs can be mounted: those who hide from this one are not seen */
		w->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return w->proc_fd < 0 ? -errno : 0;
}

/* The kernel's number behind @name (with its line break before and its colon), 0 when it is not there. */
static uint64_t number(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	uint64_t value = 0;

	if (!at)
		return 0;
	for (at += strlen(name); *at == ' ' || *at == '\t';)
		at++;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t) (*at - '0');
	return value;
}

static uint64_t kilobytes(const char *text, const char *name)
{
	return number(text, name) * 1024;
}

static bool read_file(const struct watchdog *w, const char *pid, const char *name, char *ret)
{
	char path[64];
	int n = snprintf(path, sizeof(path), "%s/%s", pid, name);

	return n > 0 && (size_t) n < sizeof(path) && fd_read_text(w->proc_fd, path, ret, STATUS_MAX) > 0;
}

struct entry { /* struct linux_dirent64 of getdents64(2) */
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

/*
 * A process whose first thread has ended (pthread_exit(3) in main) lives on in the others, and only their files tell of its memory.
 * Finds one that has it: reads its status into @text, and makes @ret its name, as in "12/task/14". False when there is none.
 */
static bool find_living_thread(const struct watchdog *w, const char *pid, char ret[static THREAD_NAME_MAX], char *text)
{
	_Alignas(struct entry) char list[1024];
	char path[THREAD_NAME_MAX];
	long n;

	(void) snprintf(path, sizeof(path), "%.10s/task", pid);
	_cleanup_fd_ int fd = openat(w->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, list, sizeof(list))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *) (const void *) (list + at);
			at += e->length;
			if (e->name[0] < '1' || e->name[0] > '9')
				continue;
			(void) snprintf(ret, THREAD_NAME_MAX, "%.10s/task/%.10s", pid, e->name);
			if (read_file(w, ret, "status", text) && strstr(text, "\nRssAnon:"))
				return true;
		}
	}
	return false;
}

/* The bytes of one process. With @exact, what it shares is divided among those who do, where the kernel lets us see. */
static uint64_t measure(const struct watchdog *w, const char *pid, pid_t *ret_parent, bool exact)
{
	static char text[STATUS_MAX], rollup[STATUS_MAX];
	char thread[THREAD_NAME_MAX];

	*ret_parent = 0;
	if (!read_file(w, pid, "status", text))
		return 0;
	*ret_parent = (pid_t) number(text, "\nPPid:");
	if (!strstr(text, "\nRssAnon:") && number(text, "\nThreads:") > 1 && find_living_thread(w, pid, thread, text))
		pid = thread;
	uint64_t tables = kilobytes(text, "\nVmPTE:");
	if (exact && read_file(w, pid, "smaps_rollup", rollup))
		return tables + kilobytes(rollup, "\nPss_Anon:") + kilobytes(rollup, "\nPss_Shmem:") + kilobytes(rollup, "\nSwapPss:");
	return tables + kilobytes(text, "\nRssAnon:") + kilobytes(text, "\nRssShmem:") + kilobytes(text, "\nVmSwap:");
}

static void add_process(const struct watchdog *w, const char *name, bool exact, uint64_t *total)
{
	pid_t parent;
	uint64_t bytes = measure(w, name, &parent, exact);

	*total += bytes;
	if (process_count < PROCESSES_MAX)
		processes[process_count++] =
			(struct process) { .pid = (pid_t) number(name, ""), .parent = parent, .bytes = bytes, .seen = bytes };
}

/* Reads every process but this one into the table. Returns the bytes of all. */
static uint64_t read_processes(const struct watchdog *w, bool exact)
{
	static _Alignas(struct entry) char list[16384];
	uint64_t total = 0;
	long n;

	process_count = 0;
	if (lseek(w->proc_fd, 0, SEEK_SET) < 0)
		return 0;
	while ((n = syscall(SYS_getdents64, w->proc_fd, list, sizeof(list))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *) (const void *) (list + at);
			if (e->name[0] >= '1' && e->name[0] <= '9' && strcmp(e->name, "1") != 0)
				add_process(w, e->name, exact, &total);
			at += e->length;
		}
	}
	return total;
}

static const struct process *find(pid_t pid)
{
	size_t low = 0, high = process_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (processes[middle].pid == pid)
			return &processes[middle];
		if (processes[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The tree that a process belongs to: orphans hang on the first process of their command's namespace, which is the root. */
static struct watchdog_tree *tree_of(const struct process *p, struct watchdog_tree *trees, size_t count)
{
	for (int step = 0; p && step < ANCESTORS_MAX; step++) {
		for (size_t i = 0; i < count; i++)
			if (trees[i].root == p->pid || trees[i].root == 1)
				return &trees[i];
		p = find(p->parent);
	}
	return NULL;
}

/*
 * A child of vfork(2) or posix_spawn(3) has the memory of its parent until its exec: it is counted once. Where the kernel does not
 * say (a process that made itself undumpable, a container's filter), twice. Returns the bytes that were too many.
 */
static uint64_t forget_borrowed(const struct watchdog *w)
{
	uint64_t borrowed = 0;

	for (size_t i = 0; i < process_count; i++) {
		struct process *p = &processes[i];
		const struct process *parent = p->seen > w->limit / SAME_WORTH ? find(p->parent) : NULL;

		/* The parent's own must have been seen: it may have ended meanwhile. */
		if (!parent || parent->seen < p->seen / 2 || syscall(SYS_kcmp, p->pid, parent->pid, KCMP_VM, 0, 0) != 0)
			continue;
		borrowed += p->bytes;
		p->bytes = 0;
	}
	return borrowed;
}

uint64_t watchdog_look(struct watchdog *w, struct watchdog_tree *trees, size_t count)
{
	uint64_t total = 0;

	for (int exact = 0; exact <= 1; exact++) {
		total = read_processes(w, exact);
		total -= forget_borrowed(w);
		if (total <= w->limit)
			break;
	}
	for (size_t i = 0; i < count; i++)
		trees[i].bytes = 0;
	for (size_t i = 0; i < process_count; i++) {
		struct watchdog_tree *tree = tree_of(&processes[i], trees, count);
		if (tree)
			tree->bytes += processes[i].bytes;
	}
	return total;
}

int watchdog_pause_ms(const struct watchdog *w, uint64_t used, uint64_t cost_us)
{
	uint64_t left = used < w->limit ? w->limit - used : 0;
	uint64_t pause = left / w->bytes_per_ms / 2;
	uint64_t least = MAX((uint64_t) PAUSE_MIN_MS, cost_us * COST_SHARE / 1000);

	return (int) MIN(MAX(pause, least), (uint64_t) PAUSE_MAX_MS);
}
