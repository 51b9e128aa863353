/*
 * The list of refused calls: bounded whatever comes.
 */
#include "runtime/init/notify.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "tests/harness/unit.h"

START_TEST(test_rows)
{
	struct initmsg_denials list = { 0 };

	notify_count(&list, 165, EPERM);
	notify_count(&list, 41, EAFNOSUPPORT);
	notify_count(&list, 165, EPERM);
	notify_count(&list, 41, EPERM); /* another answer is another kind */
	ck_assert_uint_eq(list.kinds, 3);
	ck_assert_uint_eq(list.rows[0].nr, 165);
	ck_assert_uint_eq(list.rows[0].errnum, EPERM);
	ck_assert_uint_eq(list.rows[0].times, 2);
	ck_assert_uint_eq(list.rows[1].nr, 41);
	ck_assert_uint_eq(list.rows[1].times, 1);
	ck_assert_uint_eq(list.rows[2].errnum, EPERM);
	ck_assert_uint_eq(list.others, 0);
}
END_TEST

START_TEST(test_full)
{
	struct initmsg_denials list = { 0 };

	for (int round = 0; round < 2; round++)
		for (uint32_t nr = 0; nr < INITMSG_DENIALS_MAX + 5; nr++)
			notify_count(&list, nr, EPERM);
	ck_assert_uint_eq(list.kinds, INITMSG_DENIALS_MAX);
	ck_assert_uint_eq(list.others, 10);
	for (uint32_t i = 0; i < INITMSG_DENIALS_MAX; i++)
		ck_assert_uint_eq(list.rows[i].times, 2);
}
END_TEST

START_TEST(test_counts_stay)
{
	struct initmsg_denials list = { .kinds = INITMSG_DENIALS_MAX, .others = UINT32_MAX };

	for (uint32_t i = 0; i < INITMSG_DENIALS_MAX; i++)
		list.rows[i] = (struct initmsg_denial) { i, EPERM, UINT32_MAX - 1 };
	for (int i = 0; i < 3; i++) {
		notify_count(&list, 0, EPERM);
		notify_count(&list, 99, EPERM);
	}
	ck_assert_uint_eq(list.rows[0].times, UINT32_MAX);
	ck_assert_uint_eq(list.rows[1].times, UINT32_MAX - 1);
	ck_assert_uint_eq(list.others, UINT32_MAX);
}
END_TEST

/* The list lies in shared memory: a number of rows that cannot be harms nobody. */
START_TEST(test_broken_list)
{
	struct {
		struct initmsg_denials list;
		unsigned char behind[64];
	} memory;

	memset(&memory, 0xA5, sizeof(memory));
	notify_count(&memory.list, 165, EPERM);
	for (size_t i = 0; i < sizeof(memory.behind); i++)
		ck_assert_uint_eq(memory.behind[i], 0xA5);
	ck_assert_uint_eq(memory.list.others, 0xA5A5A5A6);
}
END_TEST

START_TEST(test_no_listener)
{
	struct initmsg_denials list = { 0 };
	struct notify n = { .listener = -EBADF, .denials = &list };

	notify_ready(&n, 0);
	ck_assert_int_eq(n.listener, -EBADF);
	n.listener = 1 << 20; /* no such descriptor: as the last process of the command is gone */
	notify_ready(&n, POLLHUP);
	ck_assert_int_eq(n.listener, -EBADF);
	ck_assert_uint_eq(list.kinds, 0);
}
END_TEST

UNIT_MAIN("runtime/init/notify", test_rows, test_full, test_counts_stay, test_broken_list, test_no_listener)
