/*
 * Refused system calls in words.
 */
#include "runtime/spec/denial_text.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "runtime/spec/denial.h"
#include "tests/harness/unit.h"

static struct buf text = BUF_INIT(DENIAL_TEXT_MAX);

static const char *written(const struct initmsg_denials *list, unsigned int lines)
{
	buf_clear(&text);
	ck_assert_uint_eq(denial_text(&text, list, "<", ">\n"), lines);
	ck_assert_int_eq(buf_error(&text), 0);
	return buf_cstr(&text);
}

#define ck_assert_has(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text)

START_TEST(test_nothing)
{
	struct initmsg_denials list = { 0 };

	ck_assert_str_eq(written(&list, 0), "");
}
END_TEST

START_TEST(test_calls)
{
	struct initmsg_denials list = {
		.kinds = 3,
		.rows = { { SYS_mount, EPERM, 1 }, { SYS_socket, EAFNOSUPPORT, 3 }, { SYS_unshare, EPERM, UINT32_MAX } },
	};
	const char *s = written(&list, 3);

	ck_assert(strncmp(s, "<mount (EPERM). ", 16) == 0);
	ck_assert_has(s, ">\n<socket (EAFNOSUPPORT, 3 times). ");
	ck_assert_has(s, ">\n<unshare (EPERM, 4294967295 times). ");
	ck_assert_has(s, denial_advice(SYS_mount, EPERM));
	ck_assert_has(s, denial_advice(SYS_socket, EAFNOSUPPORT));
	ck_assert_str_eq(s + strlen(s) - 3, ".>\n");
}
END_TEST

START_TEST(test_unknown)
{
	/* read(2) is refused by no filter of ours: a user's own, then. */
	struct initmsg_denials list = { .kinds = 2, .rows = { { 99999, 4000, 2 }, { SYS_read, EPERM, 1 } } };
	const char *s = written(&list, 2);

	ck_assert_has(s, "<system call 99999 (errno 4000, 2 times). A rule of the filter");
	ck_assert_has(s, "<read (EPERM). A rule of the filter");
}
END_TEST

/* Counts and numbers from another process: nothing is read that is not there. */
START_TEST(test_limits)
{
	struct initmsg_denials list;

	memset(&list, 0xFF, sizeof(list));
	const char *s = written(&list, INITMSG_DENIALS_MAX + 1);
	ck_assert_has(s, "<system call 4294967295 (errno 4294967295, 4294967295 times). ");
	ck_assert_has(s, "<calls of other kinds, 4294967295 times. ");
}
END_TEST

/* The longest text there can be fits, and every call that has a reason has a name. */
START_TEST(test_all_fit)
{
	struct initmsg_denials list = { .kinds = INITMSG_DENIALS_MAX, .others = UINT32_MAX };
	size_t longest = 0, explained = 0;
	uint32_t worst = 0;

	for (uint32_t nr = 0; nr < 1000; nr++) {
		const char *advice = denial_advice(nr, EPERM);
		if (!advice)
			continue;
		explained++;
		ck_assert_ptr_nonnull(denial_call_name(nr));
		ck_assert_msg(advice[strlen(advice) - 1] == '.', "no full stop: %s", advice);
		if (strlen(advice) > longest) {
			longest = strlen(advice);
			worst = nr;
		}
	}
	ck_assert_uint_gt(explained, 40);
	for (size_t i = 0; i < INITMSG_DENIALS_MAX; i++)
		list.rows[i] = (struct initmsg_denial) { worst, EPERM, UINT32_MAX };
	(void) written(&list, INITMSG_DENIALS_MAX + 1);
}
END_TEST

START_TEST(test_errno_names)
{
	ck_assert_str_eq(denial_errno_name(EPERM), "EPERM");
	ck_assert_str_eq(denial_errno_name(EAFNOSUPPORT), "EAFNOSUPPORT");
	ck_assert_str_eq(denial_errno_name(ENOENT), "");
}
END_TEST

UNIT_MAIN("runtime/spec/denial_text", test_nothing, test_calls, test_unknown, test_limits, test_all_fit, test_errno_names)
