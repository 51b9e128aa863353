/*
 * The sandbox's network namespace: see netns.h. Runs in the launcher's child, which holds CAP_NET_ADMIN over the new
 * namespace until it drops its capabilities.
 */
#include "runtime/kern/netns.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "gen/loopback.h"
#include "runtime/base/fd.h"

enum { REPLY_MAX = 1024 };

int netns_loopback_up(void)
{
	union {
		struct nlmsghdr head;
		unsigned char bytes[REPLY_MAX];
	} reply;
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	_cleanup_fd_ int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (sock < 0)
		return -errno;
	if (sendto(sock, loopback_up, sizeof(loopback_up), 0, (const struct sockaddr *) &kernel, sizeof(kernel)) < 0)
		return -errno;
	ssize_t n = recv(sock, &reply, sizeof(reply), 0);
	if (n < 0)
		return -errno;
	if ((size_t) n < NLMSG_LENGTH(sizeof(struct nlmsgerr)) || reply.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	const struct nlmsgerr *verdict = NLMSG_DATA(&reply.head);
	return verdict->error;
}
