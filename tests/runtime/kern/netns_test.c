/*
 * The ready-made request that sets the loopback interface up: its bytes mean RTM_NEWLINK, interface 1, IFF_UP and nothing else.
 */
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "gen/loopback.h"
#include "tests/harness/unit.h"

START_TEST(test_request)
{
	struct nlmsghdr head;
	struct ifinfomsg link;

	ck_assert_uint_eq(sizeof(loopback_up), NLMSG_LENGTH(sizeof(link))); /* no attributes */
	memcpy(&head, loopback_up, sizeof(head));
	memcpy(&link, loopback_up + NLMSG_HDRLEN, sizeof(link));
	ck_assert_uint_eq(head.nlmsg_len, sizeof(loopback_up));
	ck_assert_uint_eq(head.nlmsg_type, RTM_NEWLINK);
	ck_assert_uint_eq(head.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK); /* not NLM_F_CREATE */
	ck_assert_uint_eq(head.nlmsg_pid, 0);
	ck_assert_uint_eq(link.ifi_family, AF_UNSPEC);
	ck_assert_int_eq(link.ifi_index, 1);
	ck_assert_uint_eq(link.ifi_flags, IFF_UP);
	ck_assert_uint_eq(link.ifi_change, IFF_UP);
}
END_TEST

UNIT_MAIN("runtime/kern/netns", test_request)
