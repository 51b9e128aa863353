/*
 * The message of `cloche run`: what it says, byte by byte, and what is too much for it.
 */
#include "runtime/life/spawnmsg.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/unit.h"

static const int stdio[INITMSG_SPAWN_FDS] = { 7, 8, 9 };

/* @count arguments "a", then NULL. */
static char *const *arguments(size_t count)
{
	static char word[] = "a", *argv[INITMSG_ARGC_MAX + 3];

	ck_assert_uint_lt(count, ARRAY_LEN(argv));
	for (size_t i = 0; i < ARRAY_LEN(argv); i++)
		argv[i] = i < count ? word : NULL;
	return argv;
}

/* A string of @len bytes "x". */
static char *long_string(size_t len)
{
	char *s = malloc(len + 1);

	ck_assert_ptr_nonnull(s);
	memset(s, 'x', len);
	s[len] = '\0';
	return s;
}

START_TEST(test_message)
{
	static char command[] = "ls", option[] = "-l", empty[] = "", *const argv[] = { command, option, empty, NULL };
	static const char strings[] = "/workspace\0ls\0-l\0"; /* and the empty one */
	_cleanup_spawnmsg_ struct spawnmsg msg = { 0 };
	struct initmsg_spawn head;

	ck_assert_int_eq(spawnmsg_make(&msg, "/workspace", argv, stdio, NULL), 0);
	ck_assert_uint_eq(msg.bytes.len, sizeof(head) + sizeof(strings));
	memcpy(&head, msg.bytes.p, sizeof(head));
	ck_assert_uint_eq(head.head.type, INITMSG_SPAWN);
	ck_assert_uint_eq(head.head.id, SPAWNMSG_ID);
	ck_assert_uint_ne(head.head.id, 0);
	ck_assert_uint_eq(head.argc, 3);
	ck_assert_uint_eq(head.envc, 0);
	ck_assert_uint_eq(head.strings_size, sizeof(strings));
	ck_assert_uint_eq(head.reserved, 0);
	ck_assert_mem_eq(msg.bytes.p + sizeof(head), strings, sizeof(strings));
	ck_assert_mem_eq(msg.stdio, stdio, sizeof(stdio));
}
END_TEST

START_TEST(test_number_of_arguments)
{
	for (size_t count = INITMSG_ARGC_MAX - 1; count <= INITMSG_ARGC_MAX + 2; count++) {
		_cleanup_spawnmsg_ struct spawnmsg msg = { 0 };
		struct err err = { 0 };
		int r = spawnmsg_make(&msg, "/", arguments(count), stdio, &err);
		ck_assert_msg(r == (count <= INITMSG_ARGC_MAX ? 0 : -E2BIG), "%zu arguments: %d", count, r);
		ck_assert_int_eq(err.code, r == 0 ? ERR_NONE : ERR_USAGE);
	}
}
END_TEST

START_TEST(test_length_of_an_argument)
{
	for (size_t len = INITMSG_STRING_MAX - 2; len <= INITMSG_STRING_MAX; len++) {
		_cleanup_spawnmsg_ struct spawnmsg msg = { 0 };
		char *argv[] = { long_string(1), long_string(len), NULL };
		struct err err = { 0 };
		int r = spawnmsg_make(&msg, "/", argv, stdio, &err);
		ck_assert_msg(r == (len < INITMSG_STRING_MAX ? 0 : -E2BIG), "%zu bytes: %d", len, r);
		ck_assert(r == 0 || strstr(err.text, "argument 1 "));
		free(argv[0]);
		free(argv[1]);
	}
}
END_TEST

START_TEST(test_length_of_the_message)
{
	/* With the head, "/" and the first argument exactly as long as a message may be. */
	const size_t rest = INITMSG_MAX - sizeof(struct initmsg_spawn) - 2 - INITMSG_STRING_MAX;

	for (size_t more = 0; more < 2; more++) {
		_cleanup_spawnmsg_ struct spawnmsg msg = { 0 };
		char *argv[] = { long_string(INITMSG_STRING_MAX - 1), long_string(rest - 1 + more), NULL };
		struct err err = { 0 };
		int r = spawnmsg_make(&msg, "/", argv, stdio, &err);
		ck_assert_int_eq(r, more ? -E2BIG : 0);
		ck_assert(more ? err.code == ERR_USAGE : msg.bytes.len == INITMSG_MAX);
		free(argv[0]);
		free(argv[1]);
	}
}
END_TEST

UNIT_MAIN("runtime/life/spawnmsg", test_message, test_number_of_arguments, test_length_of_an_argument,
	  test_length_of_the_message)
