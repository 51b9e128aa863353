/*
 * Processes and their memory: see watch_processes.h. Runs in cloche-init.
 */
#include "runtime/init/watch_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/init/watch_read.h"

enum {
	STATUS_MAX = 4096,
	BYTES_PER_TASK = 32 << 10, /* a stack, and what else the kernel has of a thread or a process */
	FILES_FREE = 256,          /* descriptors that are not counted: many are inherited, or copies */
	BYTES_PER_FILE = 264,      /* an open file and its descriptor */
};

void watch_process_name(const struct watch_process *p, char ret[static WATCH_NAME_MAX])
{
	if (p->thread == p->pid)
		(void) snprintf(ret, WATCH_NAME_MAX, "%d", (int) p->pid);
	else
		(void) snprintf(ret, WATCH_NAME_MAX, "%d/task/%d", (int) p->pid, (int) p->thread);
}

static bool read_file(int proc_fd, const struct watch_process *p, const char *name, char *ret)
{
	char path[WATCH_NAME_MAX + 32], process[WATCH_NAME_MAX];

	watch_process_name(p, process);
	(void) snprintf(path, sizeof(path), "%s/%s", process, name);
	return watch_read(proc_fd, path, ret, STATUS_MAX);
}

/*
 * A process whose first thread has ended (pthread_exit(3) in main) lives on in the others, and only their files tell of its memory.
 * Finds one that has it, and reads its status into @text.
 */
static void find_living_thread(int proc_fd, struct watch_process *p, char *text)
{
	struct watch_dir list;
	char path[WATCH_NAME_MAX];
	unsigned int thread;

	(void) snprintf(path, sizeof(path), "%d/task", (int) p->pid);
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list.fd = fd;
	list.at = list.len = 0;
	while (fd >= 0 && watch_next(&list, &thread)) {
		p->thread = (pid_t) thread;
		if (read_file(proc_fd, p, "status", text) && strstr(text, "\nRssAnon:"))
			return;
	}
	p->thread = p->pid;
}

static void measure(int proc_fd, struct watch_process *p)
{
	static char text[STATUS_MAX];

	if (!read_file(proc_fd, p, "status", text))
		return;
	p->tasks = (uint32_t) watch_number(text, "\nThreads:");
	const char *rss = strstr(text, "\nRssAnon:");
	if (!rss && p->tasks > 1) {
		find_living_thread(proc_fd, p, text);
		rss = strstr(text, "\nRssAnon:");
	}
	p->parent = (pid_t) watch_number(text, "\nPPid:");
	uint64_t files = watch_number(text, "\nFDSize:"); /* room for so many */
	p->kernel = (uint64_t) p->tasks * BYTES_PER_TASK + (files - MIN(files, (uint64_t) FILES_FREE)) * BYTES_PER_FILE;
	if (!rss)
		return;
	p->kernel += watch_bytes(rss, "\nVmPTE:");
	p->own = watch_bytes(rss, "\nRssAnon:") + watch_bytes(rss, "\nVmSwap:") + watch_bytes(rss, "\nHugetlbPages:");
	p->shared = watch_bytes(rss, "\nRssShmem:");
	p->seen = p->own + p->shared;
}

/*
 * A child of vfork(2) or posix_spawn(3) has the memory of its parent until its exec: it is counted once. Where the kernel does not
 * say (a container's filter), twice.
 */
static void forget_borrowed(struct watch_table *t, uint64_t worth)
{
	for (size_t i = 0; i < t->count; i++) {
		struct watch_process *p = &t->rows[i];
		const struct watch_process *parent = p->seen > worth ? watch_process_find(t, p->parent) : NULL;

		/* The parent's own must have been seen: it may have ended meanwhile. */
		if (parent && parent->seen >= p->seen / 2 && syscall(SYS_kcmp, p->pid, parent->pid, KCMP_VM, 0, 0) == 0)
			p->own = p->shared = 0;
	}
}

void watch_processes_read(struct watch_table *t, int proc_fd, uint64_t worth)
{
	struct watch_dir list;
	unsigned int pid;

	t->count = 0;
	t->beyond = 0;
	list.fd = proc_fd;
	list.at = list.len = 0;
	if (lseek(proc_fd, 0, SEEK_SET) < 0)
		return;
	while (watch_next(&list, &pid)) {
		struct watch_process p = { .pid = (pid_t) pid, .thread = (pid_t) pid };
		if (pid == 1)
			continue;
		measure(proc_fd, &p);
		if (t->count < ARRAY_LEN(t->rows))
			t->rows[t->count++] = p;
		else
			t->beyond += p.kernel + p.own + p.shared;
	}
	forget_borrowed(t, worth);
}

void watch_process_read_exact(struct watch_process *p, int proc_fd)
{
	static char text[STATUS_MAX];

	if (p->own + p->shared == 0)
		return;
	if (!read_file(proc_fd, p, "smaps_rollup", text)) {
		/* One that may not be looked into keeps the quick figure; another is about to end, and has no memory any more. */
		if (errno != EACCES && errno != EPERM && p->tasks == 1)
			p->own = p->shared = 0;
		return;
	}
	p->own = watch_bytes(text, "\nPss_Anon:") + watch_bytes(text, "\nSwapPss:") + watch_bytes(text, "\nShared_Hugetlb:") +
		 watch_bytes(text, "\nPrivate_Hugetlb:");
	p->shared = watch_bytes(text, "\nPss_Shmem:");
}

struct watch_process *watch_process_find(const struct watch_table *t, pid_t pid)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->rows[middle].pid == pid)
			return (struct watch_process *) (uintptr_t) &t->rows[middle];
		if (t->rows[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
