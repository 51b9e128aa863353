/*
 * Socket buffers, as the kernel tells of them over NETLINK_SOCK_DIAG: see watch_sockets.h. Runs in cloche-init.
 */
#include "runtime/init/watch_sockets.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "runtime/init/watch_files.h"
#include "runtime/init/watch_read.h"

enum {
	ANSWER_MAX = 32 << 10,
	LEFT_FREE = 16,           /* so many queues may … */
	BYTES_PER_MESSAGE = 768,  /* the least that the kernel uses for one */
};

struct dump {
	int diag_fd;
	struct watch_table *table;
	uint64_t unowned;
	unsigned int left; /* queues of which the sender is gone */
};

static uint64_t send_max; /* the most that one socket may have sent and nobody received */

/* A socket to ask the kernel with. */
static int open_diag(void)
{
	int size = INT32_MAX;
	socklen_t len = sizeof(size);
	_cleanup_fd_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	_cleanup_fd_ int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* The kernel takes as much of the size as anybody may have. */
	if (fd < 0 || local < 0 || setsockopt(local, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0 ||
	    getsockopt(local, SOL_SOCKET, SO_SNDBUF, &size, &len) < 0)
		return -errno;
	send_max = (uint64_t) size;
	return TAKE_FD(fd);
}

/*
 * What somebody sent and then closed is in no figure; of the receiver's queue only @queued bytes are told. They may be in messages of
 * one byte each, which is believed of those who have many such queues.
 */
static uint64_t left_behind(struct dump *d, uint32_t queued)
{
	return ++d->left <= LEFT_FREE ? (uint64_t) queued * 2 : MIN((uint64_t) queued * BYTES_PER_MESSAGE, send_max);
}

static void add(struct dump *d, uint64_t inode, uint64_t bytes)
{
	pid_t holder = inode ? watch_files_holder(WATCH_SOCKET, inode) : 0;
	struct watch_process *p = holder ? watch_process_find(d->table, holder) : NULL;

	if (p)
		p->files += bytes;
	else
		d->unowned += bytes;
}

/* Copies the payload of one attribute as far as there is room for it. */
static void copy(void *to, size_t size, const struct rtattr *a)
{
	memcpy(to, (const char *) a + RTA_LENGTH(0), MIN(size, (size_t) a->rta_len - RTA_LENGTH(0)));
}

static uint64_t sum(const struct rtattr *a)
{
	uint32_t v[SK_MEMINFO_VARS] = { 0 };

	copy(v, sizeof(v), a);
	return (uint64_t) v[SK_MEMINFO_RMEM_ALLOC] + v[SK_MEMINFO_FWD_ALLOC] + v[SK_MEMINFO_OPTMEM] + v[SK_MEMINFO_BACKLOG] +
	       MAX(v[SK_MEMINFO_WMEM_ALLOC], v[SK_MEMINFO_WMEM_QUEUED]);
}

/* One socket of the answer, of whichever family. */
static void take(struct dump *d, const struct nlmsghdr *m)
{
	const struct unix_diag_msg *local = NLMSG_DATA(m);
	const struct inet_diag_msg *internet = NLMSG_DATA(m);
	bool is_local = local->udiag_family == AF_UNIX;
	size_t head = NLMSG_ALIGN(is_local ? sizeof(*local) : sizeof(*internet));

	if (m->nlmsg_len < NLMSG_LENGTH(head))
		return;
	uint64_t bytes = 0;
	uint32_t peer = 0, queued = 0;
	for (size_t at = NLMSG_LENGTH(head); at + RTA_LENGTH(0) <= m->nlmsg_len;) {
		const struct rtattr *a = (const struct rtattr *) (const void *) ((const char *) m + at);
		if (a->rta_len < RTA_LENGTH(0) || a->rta_len > m->nlmsg_len - at)
			break;
		if (a->rta_type == (is_local ? (int) UNIX_DIAG_MEMINFO : (int) INET_DIAG_SKMEMINFO))
			bytes = sum(a);
		else if (is_local && a->rta_type == UNIX_DIAG_PEER)
			copy(&peer, sizeof(peer), a);
		else if (is_local && a->rta_type == UNIX_DIAG_RQLEN)
			copy(&queued, sizeof(queued), a); /* udiag_rqueue, the first member */
		at += RTA_ALIGN(a->rta_len);
	}
	if (is_local && peer == 0 && queued > 0)
		bytes += left_behind(d, queued);
	add(d, is_local ? local->udiag_ino : internet->idiag_inode, bytes);
}

/* Reads the answer to one request. What is left of an earlier one that failed has another number. */
static void receive(struct dump *d, uint32_t number)
{
	static _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	ssize_t n;

	while ((n = recv(d->diag_fd, answer, sizeof(answer), 0)) > 0 || (n < 0 && errno == EINTR)) {
		unsigned int left = n > 0 ? (unsigned int) n : 0;
		const struct nlmsghdr *m = (const struct nlmsghdr *) (const void *) answer;
		for (; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
			if (m->nlmsg_seq != number)
				continue;
			if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR)
				return;
			take(d, m);
		}
	}
}

static void ask(struct dump *d, const void *request, size_t len)
{
	static uint32_t number;
	struct {
		struct nlmsghdr head;
		char body[64];
	} message = { .head = { .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = ++number } };

	message.head.nlmsg_len = (uint32_t) NLMSG_LENGTH(len);
	memcpy(message.body, request, len);
	if (send(d->diag_fd, &message, message.head.nlmsg_len, 0) > 0)
		receive(d, number);
}

static void ask_local(struct dump *d)
{
	struct unix_diag_req request = {
		.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_MEMINFO | UDIAG_SHOW_RQLEN | UDIAG_SHOW_PEER,
	};

	ask(d, &request, sizeof(request));
}

static void ask_internet(struct dump *d, uint8_t family, uint8_t protocol)
{
	struct inet_diag_req_v2 request = {
		.sdiag_family = family, .sdiag_protocol = protocol, .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
		.idiag_states = UINT32_MAX,
	};

	ask(d, &request, sizeof(request));
}

/* How many there are the kernel tells for less: an answer about TCP takes it longer, since it searches a table of the whole machine. */
static const struct protocol {
	const char *file, *name;
	uint8_t family, protocol;
} protocols[] = {
	{ "net/sockstat", "TCP: inuse", AF_INET, IPPROTO_TCP },
	{ "net/sockstat", "UDP: inuse", AF_INET, IPPROTO_UDP },
	{ "net/sockstat6", "TCP6: inuse", AF_INET6, IPPROTO_TCP },
	{ "net/sockstat6", "UDP6: inuse", AF_INET6, IPPROTO_UDP },
};

uint64_t watch_sockets_read(int proc_fd, struct watch_table *t)
{
	static int diag_fd = -EBADF; /* kept open */
	struct dump d = { .table = t };
	char path[48], text[512];

	if (diag_fd < 0)
		diag_fd = open_diag();
	if (diag_fd < 0)
		return 0;
	d.diag_fd = diag_fd;
	ask_local(&d);
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
		(void) snprintf(path, sizeof(path), "%d/%s", (int) getpid(), protocols[i].file);
		if (!watch_read(proc_fd, path, text, sizeof(text)) || watch_number(text, protocols[i].name) > 0)
			ask_internet(&d, protocols[i].family, protocols[i].protocol);
	}
	return d.unowned;
}
