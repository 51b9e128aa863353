/*
 * Kinds of memory that the kernel holds for a process: page tables, buffers of sockets and pipes, messages, open files. See
 * bomb.h. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/limits/bomb.h"

enum {
	PAGE = 4096,
	TABLE_SPAN = 2 * MIB, /* what one page of a page table describes */
	DATAGRAM = 32 * 1024,
	MESSAGE = 8192,       /* kernel.msgmax */
	QUEUES = 64,          /* in one step; each takes 16 KiB, kernel.msgmnb */
	SEMAPHORES = 16000,   /* in one set; kernel.sem allows 32000 */
	SEMAPHORE_SIZE = 64,  /* a cache line each, in the kernel */
	FILE_SIZE = 256,      /* about what the kernel keeps for an open file */
	FILES = 256,          /* in one step */
	WATCH_SIZE = 128,     /* about, of an epoll */
};

/* What is read goes back at once, be it the page of zeros or, on machines that do without, one for each: nothing but tables stays. */
static int64_t take_page_tables(void)
{
	const size_t tables = MIB / PAGE, size = tables * TABLE_SPAN;
	char *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, size, MADV_NOHUGEPAGE) < 0 && errno != EINVAL) /* EINVAL: a kernel without huge pages */
		return -errno;
	for (size_t i = 0; i < tables; i++) {
		(void) *(const volatile char *) (p + i * TABLE_SPAN);
		if (madvise(p + i * TABLE_SPAN, PAGE, MADV_DONTNEED) < 0)
			return -errno;
	}
	return MIB;
}

/* What the kernel says that a socket's queues take, or a negative errno. */
static int64_t socket_memory(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &size) < 0)
		return -errno;
	return (int64_t) info[SK_MEMINFO_RMEM_ALLOC] + info[SK_MEMINFO_WMEM_ALLOC] + info[SK_MEMINFO_WMEM_QUEUED];
}

/* Writes into @from until nothing fits. Returns what the two ends hold then, or -ENOBUFS when it is nothing. */
static int64_t fill_socket(int from, int to)
{
	static char data[DATAGRAM];
	const int most = 64 * MIB; /* the kernel takes as much of it as it allows */
	int64_t written = 0;
	ssize_t n;

	(void) setsockopt(from, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	(void) setsockopt(to, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
	/* UDP says that it sent what the other end then dropped: three times what a buffer holds is enough. */
	while ((n = send(from, data, sizeof(data), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0 && written < 16 * MIB)
		written += n;
	int64_t here = socket_memory(from), there = socket_memory(to);
	if (here < 0 || there < 0)
		return MIN(here, there);
	return here + there > 0 ? here + there : -ENOBUFS;
}

/* Descriptors have run out (EMFILE), or something else that a fresh process has not used up. */
static int more_descriptors(void)
{
	return errno == EMFILE ? bomb_go_on_in_child() : -errno;
}

static int64_t take_pair(int type)
{
	int pair[2];

	while (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0) {
		int r = more_descriptors();
		if (r < 0)
			return r;
	}
	return fill_socket(pair[0], pair[1]);
}

static int64_t take_unix_stream(void)
{
	return take_pair(SOCK_STREAM);
}

static int64_t take_unix_datagram(void)
{
	return take_pair(SOCK_DGRAM);
}

static int loopback_socket(int type, struct sockaddr_in *ret_address)
{
	socklen_t size = sizeof(*ret_address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (fd < 0 || bind(fd, (const struct sockaddr *) ret_address, size) < 0 ||
	    getsockname(fd, (struct sockaddr *) ret_address, &size) < 0)
		return -errno;
	return fd;
}

/* Two connected ends on the loopback. 0 or a negative errno. */
static int inet_pair(int type, int ret[2])
{
	struct sockaddr_in address;
	int r, listener = loopback_socket(type, &address);

	if (listener < 0)
		return listener;
	if (type == SOCK_STREAM && listen(listener, 1) < 0)
		return -errno;
	ret[0] = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	r = ret[0] < 0 || connect(ret[0], (const struct sockaddr *) &address, sizeof(address)) < 0 ? -errno : 0;
	ret[1] = type == SOCK_STREAM && r == 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : listener;
	if (r == 0 && ret[1] < 0)
		r = -errno;
	if (type == SOCK_STREAM || r < 0)
		(void) close(listener);
	return r;
}

static int64_t take_inet(int type)
{
	int pair[2] = { -1, -1 }, r;

	while ((r = inet_pair(type, pair)) < 0) {
		errno = -r;
		r = more_descriptors();
		if (r < 0)
			return r;
	}
	return fill_socket(pair[0], pair[1]);
}

static int64_t take_udp(void)
{
	return take_inet(SOCK_DGRAM);
}

static int64_t take_tcp(void)
{
	return take_inet(SOCK_STREAM);
}

static int64_t take_pipe(void)
{
	static char data[PAGE * 16];
	int64_t written = 0;
	ssize_t n;
	int fds[2];

	while (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		int r = more_descriptors();
		if (r < 0)
			return r;
	}
	(void) fcntl(fds[1], F_SETPIPE_SZ, MIB); /* once a user has 64 MiB of them, no more than the default */
	while ((n = write(fds[1], data, sizeof(data))) > 0)
		written += n;
	return MAX(written, (int64_t) 1);
}

static int64_t take_messages(void)
{
	struct {
		long type;
		char text[MESSAGE];
	} message = { .type = 1 };
	int64_t written = 0;

	for (int i = 0; i < QUEUES; i++) {
		int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
		if (id < 0)
			return -errno;
		while (msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) == 0)
			written += MESSAGE;
	}
	return written > 0 ? written : -EAGAIN;
}

static int64_t take_semaphores(void)
{
	return semget(IPC_PRIVATE, SEMAPHORES, IPC_CREAT | 0600) < 0 ? -errno : (int64_t) SEMAPHORES * SEMAPHORE_SIZE;
}

/* Open files, in as many processes as it needs. */
static int64_t take_files(void)
{
	for (int i = 0; i < FILES; i++) {
		if (eventfd(0, EFD_CLOEXEC) >= 0)
			continue;
		int r = more_descriptors();
		if (r < 0)
			return r;
	}
	atomic_fetch_add(&bomb->count, FILES);
	return FILES * FILE_SIZE;
}

/* Every epoll watches the same files; the kernel counts the watches per user of the host. */
static int64_t take_epoll(void)
{
	static int files[FILES], count;
	struct epoll_event event = { .events = EPOLLIN };

	for (; count < FILES; count++)
		if ((files[count] = eventfd(0, EFD_CLOEXEC)) < 0)
			return -errno;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0) {
		int r = more_descriptors();
		count = 0;
		return r < 0 ? r : 1;
	}
	for (int i = 0; i < count; i++)
		if (epoll_ctl(fd, EPOLL_CTL_ADD, files[i], &event) < 0)
			return -errno;
	return FILES * WATCH_SIZE;
}

const struct memory_kind kernel_kinds[] = {
	{ "page-tables", "tables that describe a terabyte of nothing", take_page_tables, false },
	{ "unix-stream", "buffers of Unix stream sockets", take_unix_stream, false },
	{ "unix-datagram", "buffers of Unix datagram sockets", take_unix_datagram, false },
	{ "udp", "buffers of UDP sockets on the loopback", take_udp, false },
	{ "tcp", "buffers of TCP connections on the loopback", take_tcp, false },
	{ "pipes", "buffers of pipes", take_pipe, false },
	{ "messages", "System V message queues", take_messages, false },
	{ "semaphores", "System V semaphores", take_semaphores, false },
	{ "files", "open files: --mib of what the kernel keeps for them", take_files, false },
	{ "epoll", "watches of epoll", take_epoll, false },
	{ NULL, NULL, NULL, false },
};
