/*
 * gen-loopback: prints, as a C header, the rtnetlink(7) request that sets the loopback interface of a network namespace up.
 *
 *     gen-loopback > gen/loopback.h
 *
 * Runs while cloche is built. The request is made by libnl, so that its layout is the library's knowledge; at run time it
 * is sent as it is, and the library stays out of the start of a sandbox.
 */
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include <netlink/msg.h>

enum { LOOPBACK_INDEX = 1 }; /* the first interface of every network namespace */

int main(void)
{
	struct ifinfomsg link = {
		.ifi_family = AF_UNSPEC, .ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);

	if (!msg || nlmsg_append(msg, &link, sizeof(link), NLMSG_ALIGNTO) < 0) {
		(void) fprintf(stderr, "gen-loopback: out of memory\n");
		return EXIT_FAILURE;
	}
	const struct nlmsghdr *head = nlmsg_hdr(msg);
	const unsigned char *bytes = (const unsigned char *) head;
	(void) printf("/* Made by gen-loopback: RTM_NEWLINK, interface %d, IFF_UP. */\nstatic const unsigned char loopback_up[] = {",
		      LOOPBACK_INDEX);
	for (unsigned int i = 0; i < head->nlmsg_len; i++)
		(void) printf("%s0x%02x,", i % 16 ? " " : "\n\t", bytes[i]);
	(void) printf("\n};\n");
	nlmsg_free(msg);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
