/*
 * Open files and what they hold: see watch_files.h. Runs in cloche-init.
 *
 * The links in /proc/PID/fd tell what an open file is. Of a process that made itself undumpable they cannot be read by anybody inside;
 * its /proc/PID/fdinfo can be, with CAP_SYS_PTRACE of the sandbox's user namespace: it names the mount on which an open file lives, and
 * each kind that matters here has one of its own.
 */
#include "runtime/init/watch_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/init/watch_read.h"

enum {
	SEEN_BITS = 14,
	SEEN_MAX = 1 << SEEN_BITS,  /* open files that are remembered; those beyond count in each descriptor */
	KINDS = WATCH_LIST + 1,
	BYTES_PER_FILE = 264,       /* an open file and its descriptor, in the table of a thread */
	BYTES_PER_SOCKET = 1536,    /* without its buffers */
	PIPE_BYTES = 64 << 10,      /* what a pipe can hold … */
	PIPES_FULL = 1024,          /* … as long as a user has not this many: pipe(7), pipe-user-pages-soft */
	PIPE_BYTES_THEN = 8 << 10,
	LISTS_READ = 4,             /* lists of watches of a process that are read; when there are more, any of them */
	BYTES_PER_WATCH = 192,      /* of epoll(7) … */
	WATCHES_PER_INODE = 4,      /* … and as many times that of inotify(7), mostly for the inode */
	INFO_MAX = 512,
	PROCESS_BUDGET_US = 25000,  /* for one process; what it has beyond that is not found */
	DESCRIPTORS_AT_ONCE = 64,   /* then the clock is asked */
};

struct seen {
	uint64_t inode;
	uint32_t look; /* in which it was seen */
	uint32_t kind;
	pid_t holder;
};

static struct seen seen[SEEN_MAX];
static uint32_t look; /* number of this look */
static size_t counts[KINDS], remembered;
static uint64_t memory; /* of all memfds */

static pid_t suspect;

static uint64_t mounts[KINDS]; /* where files of a kind live: mnt_id of fdinfo */
static dev_t device;

/* What each process held the last time, in the order of their ids. */
static struct {
	pid_t pid;
	uint64_t bytes;
} before[WATCH_PROCESSES_MAX];
static size_t before_count;
static pid_t next_pid; /* where the next look begins */

struct walk {
	int proc_fd;
	char table[WATCH_NAME_MAX]; /* "12" or "12/task/14" */
	int pid_fd; /* of the process, once it was needed */
	struct watch_process *process;
	uint64_t start_us; /* in CPU time: on a busy machine others have their turn in between */
	size_t descriptors;
	size_t lists; /* of watches */
	struct {
		char table[WATCH_NAME_MAX];
		unsigned int number;
	} sample[LISTS_READ];
	bool queues; /* see watch_files_read() */
	bool over;   /* the budget of this process is used up */
};

static struct seen *place(enum watch_file_kind kind, uint64_t inode)
{
	size_t at = (size_t) ((inode * 4 + kind) * 0x9e3779b97f4a7c15U >> (64 - SEEN_BITS));

	while (seen[at].look == look && (seen[at].inode != inode || seen[at].kind != kind))
		at = (at + 1) % SEEN_MAX;
	return &seen[at];
}

/* Whether this is the first descriptor of an open file that this look comes upon. */
static bool is_first(enum watch_file_kind kind, uint64_t inode, pid_t holder)
{
	struct seen *s = place(kind, inode);

	if (s->look == look)
		return false;
	if (remembered < SEEN_MAX * 3 / 4) {
		remembered++;
		*s = (struct seen) { .inode = inode, .look = look, .kind = kind, .holder = holder };
	}
	counts[kind]++;
	return true;
}

static void count_memory(struct walk *w, const struct stat *st)
{
	if (!is_first(WATCH_MEMORY, st->st_ino, w->process->pid))
		return;
	w->process->files += (uint64_t) st->st_blocks * 512;
	memory += (uint64_t) st->st_blocks * 512;
}

static void count_pipe(struct walk *w, uint64_t inode)
{
	if (is_first(WATCH_PIPE, inode, w->process->pid))
		w->process->files += counts[WATCH_PIPE] <= PIPES_FULL ? PIPE_BYTES : PIPE_BYTES_THEN;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static int open_info(const struct walk *w, const char *table, unsigned int number)
{
	char path[WATCH_NAME_MAX + 32];

	(void) snprintf(path, sizeof(path), "%s/fdinfo/%u", table, number);
	return openat(w->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

/* A socket, in whose queue descriptors may lie that are open nowhere else. */
static void count_socket(struct walk *w, unsigned int number, uint64_t inode)
{
	char text[INFO_MAX];

	if (!is_first(WATCH_SOCKET, inode, w->process->pid))
		return;
	w->process->files += BYTES_PER_SOCKET;
	if (!w->queues || suspect)
		return;
	_cleanup_fd_ int fd = open_info(w, w->table, number);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[MAX(len, (ssize_t) 0)] = '\0';
	if (watch_number(text, "\nscm_fds:") > 0)
		suspect = w->process->pid;
}

static uint32_t any_number(void)
{
	static uint32_t state = 1;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* A list of watches, or something like it. To read all would take too long: each has the same chance to be in the sample. */
static void note_list(struct walk *w, unsigned int number)
{
	size_t at = w->lists < LISTS_READ ? w->lists : any_number() % (w->lists + 1);

	w->lists++;
	if (at >= LISTS_READ)
		return;
	memcpy(w->sample[at].table, w->table, sizeof(w->table));
	w->sample[at].number = number;
}

static void count_lists(struct walk *w)
{
	size_t read = MIN(w->lists, (size_t) LISTS_READ);
	uint64_t watches = 0;
	const char *line;

	for (size_t i = 0; i < read; i++) {
		_cleanup_fd_ int fd = open_info(w, w->sample[i].table, w->sample[i].number);
		struct watch_lines lines = { .fd = fd };
		while (fd >= 0 && (line = watch_line(&lines)))
			watches += starts_with(line, "tfd:") ? 1 : starts_with(line, "inotify wd:") ? WATCHES_PER_INODE : 0;
	}
	if (read > 0)
		w->process->files += watches * BYTES_PER_WATCH * w->lists / read;
}

/* By the link in /proc/PID/fd: "/memfd:name (deleted)", "pipe:[123]", "socket:[123]", "anon_inode:[eventpoll]", "anon_inode:inotify" */
static void count_link(struct walk *w, int dir_fd, unsigned int number)
{
	char name[16], link[32];
	struct stat st;

	(void) snprintf(name, sizeof(name), "%u", number);
	ssize_t len = readlinkat(dir_fd, name, link, sizeof(link) - 1);
	if (len <= 0)
		return;
	link[len] = '\0';
	if (starts_with(link, "/memfd:") && fstatat(dir_fd, name, &st, 0) == 0)
		count_memory(w, &st);
	else if (starts_with(link, "pipe:["))
		count_pipe(w, watch_number(link, "["));
	else if (starts_with(link, "socket:["))
		count_socket(w, number, watch_number(link, "["));
	else if (starts_with(link, "anon_inode:[eventpoll]") || starts_with(link, "anon_inode:inotify"))
		note_list(w, number);
}

/* A memfd is the one kind that must be had to tell its size. Closing it again writes nothing. */
static void count_hidden_memory(struct walk *w, unsigned int number)
{
	struct stat st;

	if (w->pid_fd < 0)
		w->pid_fd = sysx_pidfd_open(w->process->pid);
	_cleanup_fd_ int fd = w->pid_fd < 0 ? -EBADF : (int) syscall(SYS_pidfd_getfd, w->pid_fd, (int) number, 0);
	if (fd < 0)
		suspect = w->process->pid;
	else if (fstat(fd, &st) == 0 && st.st_dev == device)
		count_memory(w, &st);
}

/* By the mount that an open file lives on, in /proc/PID/fdinfo. */
static void count_info(struct walk *w, _unused_ int dir_fd, unsigned int number)
{
	char text[INFO_MAX];

	_cleanup_fd_ int fd = open_info(w, w->table, number);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return;
	text[len] = '\0';
	uint64_t mount = watch_number(text, "\nmnt_id:");
	if (mount == mounts[WATCH_MEMORY])
		count_hidden_memory(w, number);
	else if (mount == mounts[WATCH_PIPE])
		count_pipe(w, watch_number(text, "\nino:"));
	else if (mount == mounts[WATCH_SOCKET])
		count_socket(w, number, watch_number(text, "\nino:"));
	else if (mount == mounts[WATCH_LIST])
		note_list(w, number);
}

/* One table of descriptors, that of @w->table. */
static void walk_table(struct walk *w)
{
	char path[WATCH_NAME_MAX + 16];
	struct watch_dir list;
	unsigned int number;

	(void) snprintf(path, sizeof(path), "%s/fd", w->table);
	_cleanup_fd_ int fd = openat(w->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool hidden = fd < 0 && errno == EACCES;
	if (hidden) {
		(void) snprintf(path, sizeof(path), "%s/fdinfo", w->table);
		fd = openat(w->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 && errno == EACCES && w->process->seen > 0) /* one that has no memory any more is about to end */
			suspect = w->process->pid;
	}
	list.fd = fd;
	list.at = list.len = 0;
	while (fd >= 0 && watch_next(&list, &number)) {
		(hidden ? count_info : count_link)(w, fd, number);
		w->over = ++w->descriptors % DESCRIPTORS_AT_ONCE == 0 && clock_cpu_us() - w->start_us > PROCESS_BUDGET_US;
		if (w->over)
			return;
	}
}

/* Threads may have tables of their own, though hardly any have. Only the process's own is in the size that it tells. */
static void walk_threads(struct walk *w)
{
	char path[WATCH_NAME_MAX];
	pid_t walked = w->process->pid;
	struct watch_dir list;
	unsigned int thread;

	(void) snprintf(path, sizeof(path), "%d/task", (int) w->process->pid);
	_cleanup_fd_ int fd = openat(w->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list.fd = fd;
	list.at = list.len = 0;
	w->descriptors = 0;
	while (fd >= 0 && !w->over && watch_next(&list, &thread)) {
		if ((pid_t) thread == walked || syscall(SYS_kcmp, walked, (pid_t) thread, KCMP_FILES, 0, 0) == 0)
			continue;
		(void) snprintf(w->table, sizeof(w->table), "%d/task/%u", (int) w->process->pid, thread);
		walk_table(w);
		walked = (pid_t) thread;
	}
	w->process->files += w->descriptors * BYTES_PER_FILE;
}

static void walk_process(struct walk *w, struct watch_process *p)
{
	w->process = p;
	w->pid_fd = -EBADF;
	w->start_us = clock_cpu_us();
	w->descriptors = w->lists = 0;
	w->over = false;
	(void) snprintf(w->table, sizeof(w->table), "%d", (int) p->pid);
	walk_table(w);
	if (p->tasks > 1)
		walk_threads(w);
	count_lists(w);
	w->pid_fd = fd_close(w->pid_fd);
}

/* The figures of the last time, for those which this look may not reach. Both lists are in the order of process ids. */
static void recall(struct watch_table *t)
{
	size_t at = 0;

	for (size_t i = 0; i < t->count; i++) {
		while (at < before_count && before[at].pid < t->rows[i].pid)
			at++;
		t->rows[i].files = at < before_count && before[at].pid == t->rows[i].pid ? before[at].bytes : 0;
	}
}

static void remember(const struct watch_table *t)
{
	before_count = t->count;
	for (size_t i = 0; i < t->count; i++) {
		before[i].pid = t->rows[i].pid;
		before[i].bytes = t->rows[i].files;
	}
}

static uint64_t mount_of(int proc_fd, int fd)
{
	char path[48], text[512];

	(void) snprintf(path, sizeof(path), "%d/fdinfo/%d", (int) getpid(), fd);
	return watch_read(proc_fd, path, text, sizeof(text)) ? watch_number(text, "\nmnt_id:") : 0;
}

/* Learns on what mounts the kinds of files live that matter here, by making one of each. What fails is tried again. */
static int learn(int proc_fd)
{
	int pipes[2], sockets[2];
	struct stat st;

	_cleanup_fd_ int fd = memfd_create("", MFD_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	_cleanup_fd_ int pipe_read = pipes[0];
	_cleanup_fd_ int pipe_write = pipes[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	_cleanup_fd_ int socket_one = sockets[0];
	_cleanup_fd_ int socket_two = sockets[1];
	_cleanup_fd_ int list = epoll_create1(EPOLL_CLOEXEC);
	device = st.st_dev;
	mounts[WATCH_MEMORY] = mount_of(proc_fd, fd);
	mounts[WATCH_PIPE] = mount_of(proc_fd, pipe_read);
	mounts[WATCH_SOCKET] = mount_of(proc_fd, socket_one);
	mounts[WATCH_LIST] = mount_of(proc_fd, list);
	return 0;
}

void watch_files_read(struct watch_table *t, int proc_fd, uint64_t budget_us, bool queues)
{
	struct walk w = { .proc_fd = proc_fd, .queues = queues };
	uint64_t start_us = clock_cpu_us();
	size_t first = 0;

	if (!device)
		IGNORE_RESULT(learn(proc_fd));
	look++;
	remembered = 0;
	memory = 0;
	suspect = 0;
	memset(counts, 0, sizeof(counts));
	recall(t);
	while (first < t->count && t->rows[first].pid < next_pid)
		first++;
	for (size_t i = 0; i < t->count; i++) {
		struct watch_process *p = &t->rows[(first + i) % t->count];
		next_pid = p->pid;
		if (i > 0 && clock_cpu_us() - start_us >= budget_us)
			break;
		p->files = 0;
		if (!p->trusted)
			walk_process(&w, p);
		next_pid = p->pid + 1;
	}
	remember(t);
}

size_t watch_files_count(enum watch_file_kind kind)
{
	return counts[kind];
}

pid_t watch_files_holder(enum watch_file_kind kind, uint64_t inode)
{
	const struct seen *s = place(kind, inode);

	return s->look == look ? s->holder : 0;
}

pid_t watch_files_suspect(void)
{
	return suspect;
}

dev_t watch_files_device(void)
{
	return device;
}

uint64_t watch_files_memory(void)
{
	return memory;
}
