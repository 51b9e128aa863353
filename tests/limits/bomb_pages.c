/*
 * Kinds of memory that are pages of a process or of shared memory: see bomb.h. Some are told by the process' own figures, some
 * only by its descriptors or mappings, some by neither. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/limits/bomb.h"

enum {
	STEP = MIB,
	FILE_STEP = 8 * MIB, /* for kinds of which each piece is an object of its own */
	SMALL = 2 * MIB,
};

static char block[STEP];

static int64_t take_heap(void)
{
	char *p = malloc(STEP);

	if (!p)
		return -ENOMEM;
	memset(p, 1, STEP);
	__asm__ volatile("" : : "r"(p) : "memory"); /* what nobody reads is written all the same */
	return STEP;
}

static int64_t take_shared(void)
{
	char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	memset(p, 1, STEP);
	return STEP;
}

/* The pages leave the process but not the mapping: in the process' figures they do not appear. */
static int64_t take_shared_dropped(void)
{
	char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	memset(p, 1, STEP);
	return madvise(p, STEP, MADV_DONTNEED) < 0 ? -errno : STEP;
}

static int64_t fill(int fd, size_t size)
{
	memset(block, 1, sizeof(block));
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, block, MIN(size - done, sizeof(block)));
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t) n;
	}
	return (int64_t) size;
}

/* One file that grows, open and not mapped. */
static int64_t take_memfd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("bomb", MFD_CLOEXEC);
	return fd < 0 ? -errno : fill(fd, STEP);
}

static int64_t take_memfd_mapped(void)
{
	int fd = memfd_create("bomb", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, FILE_STEP) < 0)
		return -errno;
	char *p = mmap(NULL, FILE_STEP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	memset(p, 1, FILE_STEP);
	(void) close(fd);
	return FILE_STEP;
}

/* Written, mapped without touching it, closed: neither a descriptor nor a figure of the process tells of it. */
static int64_t take_memfd_untouched(void)
{
	int fd = memfd_create("bomb", MFD_CLOEXEC);
	int64_t n = fd < 0 ? -errno : fill(fd, FILE_STEP);

	if (n > 0 && mmap(NULL, FILE_STEP, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		n = -errno;
	if (fd >= 0)
		(void) close(fd);
	return n;
}

static int send_descriptor(int socket, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec byte = { block, 1 };
	struct msghdr msg = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(socket, &msg, MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Sent into a socket that nobody reads, and closed: it is open nowhere but in the queue. */
static int64_t take_memfd_queued(void)
{
	static int pair[2] = { -1, -1 };

	if (pair[0] < 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	int fd = memfd_create("bomb", MFD_CLOEXEC);
	int64_t n = fd < 0 ? -errno : fill(fd, FILE_STEP);
	int r = n > 0 ? send_descriptor(pair[0], fd) : 0;
	if (fd >= 0)
		(void) close(fd);
	return r < 0 ? r : n;
}

/* Runs in a thread with a table of descriptors of its own, which is not the one that /proc/PID/fd shows. */
static int hold_in_thread(void *ret)
{
	int64_t n = 0;
	int fd = memfd_create("bomb", MFD_CLOEXEC);

	while (fd >= 0 && n >= 0 && atomic_load(&bomb->got) < bomb->amount) {
		n = fill(fd, STEP);
		if (n > 0)
			bomb_add(n);
	}
	*(_Atomic(int64_t) *) ret = fd < 0 ? -errno : MIN(n, (int64_t) 0);
	bomb_sleep(1e6);
	return 0;
}

/* All of it at once, since it is the thread that holds it. Ends the program. */
static int64_t take_memfd_thread(void)
{
	static _Atomic(int64_t) result = 1;
	static char stack[64 * 1024] __attribute__((aligned(16)));
	const int flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	if (clone(hold_in_thread, stack + sizeof(stack), flags, &result) < 0)
		return -errno;
	while (atomic_load(&result) > 0)
		bomb_sleep(0.001);
	if (atomic_load(&result) < 0)
		return atomic_load(&result);
	bomb_sleep(bomb->seconds);
	bomb_say("got %lld bytes", (long long) atomic_load(&bomb->got));
	exit(GOT_ALL);
}

/* Fills one folder in memory after the other. */
static int64_t take_tmpfs(void)
{
	static const char *const folders[] = { "/tmp", "/dev/shm", "/home/agent" };
	static size_t at;
	static int fd = -1;

	while (at < ARRAY_LEN(folders)) {
		if (fd < 0)
			fd = open(folders[at], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		int64_t n = fd < 0 ? -errno : fill(fd, STEP);
		if (n > 0)
			return n;
		bomb_say("%s is full at %lld MiB: %s", folders[at], (long long) atomic_load(&bomb->got) / MIB, strerrorname_np((int) -n));
		fd = -1;
		at++;
	}
	return -ENOSPC;
}

static int64_t take_segment(char **ret)
{
	int id = shmget(IPC_PRIVATE, FILE_STEP, IPC_CREAT | 0600);
	char *p = id < 0 ? (char *) MAP_FAILED : shmat(id, NULL, 0); /* NOLINT(performance-no-int-to-ptr) */

	if (p == MAP_FAILED) /* NOLINT(performance-no-int-to-ptr) */
		return -errno;
	memset(p, 1, FILE_STEP);
	*ret = p;
	return FILE_STEP;
}

static int64_t take_sysv(void)
{
	char *p;

	return take_segment(&p);
}

static int64_t take_sysv_unattached(void)
{
	char *p = NULL;
	int64_t n = take_segment(&p);

	if (n > 0 && shmdt(p) < 0)
		return -errno;
	return n;
}

static int64_t take_process(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		return SMALL;
	char *p = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		_exit(REFUSED);
	memset(p, 1, SMALL);
	bomb_add(SMALL);
	while (!atomic_load(&bomb->stop)) /* until the bomb is over */
		bomb_sleep(0.05);
	_exit(0);
}

const struct memory_kind page_kinds[] = {
	{ "heap", "private memory of a process", take_heap, false },
	{ "shared", "anonymous shared mappings", take_shared, false },
	{ "shared-dropped", "the same, with their pages no longer in the process", take_shared_dropped, false },
	{ "memfd", "one file in memory, open, not mapped", take_memfd, false },
	{ "memfd-mapped", "files in memory, mapped, not open", take_memfd_mapped, false },
	{ "memfd-untouched", "files in memory, written, mapped without use, closed", take_memfd_untouched, false },
	{ "memfd-queued", "files in memory that lie in the queue of a socket, open nowhere", take_memfd_queued, false },
	{ "memfd-thread", "files in memory that only a thread with descriptors of its own has open", take_memfd_thread, true },
	{ "tmpfs", "files without names in /tmp, /dev/shm and the home", take_tmpfs, false },
	{ "sysv", "System V segments, attached", take_sysv, false },
	{ "sysv-unattached", "System V segments that nobody is attached to", take_sysv_unattached, false },
	{ "small-processes", "many processes of 2 MiB each", take_process, true },
	{ NULL, NULL, NULL, false },
};
