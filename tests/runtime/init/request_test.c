/*
 * SPAWN requests taken apart: what fits exactly is taken, everything else refused. Messages lie in memory of exactly their length,
 * so that the sanitizer sees one byte read too many.
 */
#include "runtime/init/request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum { ROUNDS = 200000, MUTATIONS_MAX = 4 };

static const char *const no_env[] = { NULL };

/* A message: a head and its strings, with their final NUL. */
struct message {
	unsigned char *bytes; /* owned */
	size_t len;
};

static void message_done(struct message *m)
{
	free(m->bytes);
}

#define _cleanup_message_ _cleanup_(message_done)

static struct message message_of(uint32_t argc, uint32_t envc, const char *strings, size_t size)
{
	struct initmsg_spawn head = {
		.head = { INITMSG_SPAWN, 5 }, .argc = argc, .envc = envc, .strings_size = (uint32_t) size,
		.limits = { .memory = 1 << 20, .cpu_milli = 500, .pids = 6 } };
	struct message m = { .bytes = malloc(sizeof(head) + size), .len = sizeof(head) + size };

	ck_assert_ptr_nonnull(m.bytes);
	memcpy(m.bytes, &head, sizeof(head));
	memcpy(m.bytes + sizeof(head), strings, size);
	return m;
}

/* Of a string literal with inner NULs; the last one is its own. */
#define MESSAGE(argc, envc, literal) message_of(argc, envc, literal, sizeof(literal))

static struct request req;

static int parse(const struct message *m, const char *const *env)
{
	memset(&req, 0xa5, sizeof(req));
	return request_parse(&req, m->bytes, m->len, env);
}

START_TEST(test_exact_fit)
{
	static const char *const env[] = { "PATH=/bin", "A=0", NULL };
	_cleanup_message_ struct message m = MESSAGE(3, 1, "/workspace\0sh\0-c\0\0B=2");

	ck_assert_int_eq(parse(&m, env), 0);
	ck_assert_uint_eq(req.id, 5);
	ck_assert_uint_eq(req.limits.memory, 1 << 20);
	ck_assert_uint_eq(req.limits.cpu_milli, 500);
	ck_assert_uint_eq(req.limits.pids, 6);
	ck_assert_str_eq(req.cwd, "/workspace");
	ck_assert_str_eq(req.argv[0], "sh");
	ck_assert_str_eq(req.argv[1], "-c");
	ck_assert_str_eq(req.argv[2], "");
	ck_assert_ptr_null(req.argv[3]);
	ck_assert_str_eq(req.envp[0], "PATH=/bin");
	ck_assert_str_eq(req.envp[1], "A=0");
	ck_assert_str_eq(req.envp[2], "B=2");
	ck_assert_ptr_null(req.envp[3]);
}
END_TEST

START_TEST(test_environment)
{
	static const char *const env[] = { "AB=0", "A=0", "C=0", NULL };
	static const char *const wanted[] = { "AB=0", "A=", "C=2=3", "B=1" };
	_cleanup_message_ struct message m = MESSAGE(1, 4, "/\0x\0C=1\0B=1\0C=2=3\0A=");

	ck_assert_int_eq(parse(&m, env), 0);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		ck_assert_str_eq(req.envp[i], wanted[i]);
	ck_assert_ptr_null(req.envp[ARRAY_LEN(wanted)]);
}
END_TEST

/* One field of a good message changed by a little. */
START_TEST(test_every_field)
{
	static const struct {
		const char *what;
		size_t offset;
		uint32_t value;
	} cases[] = {
		{ "type - 1", offsetof(struct initmsg_spawn, head.type), INITMSG_SPAWN - 1 },
		{ "type + 1", offsetof(struct initmsg_spawn, head.type), INITMSG_SPAWN + 1 },
		{ "id 0", offsetof(struct initmsg_spawn, head.id), 0 },
		{ "argc - 1", offsetof(struct initmsg_spawn, argc), 1 },
		{ "argc + 1", offsetof(struct initmsg_spawn, argc), 3 }, /* takes the variable for an argument */
		{ "argc + 2", offsetof(struct initmsg_spawn, argc), 4 },
		{ "argc 0", offsetof(struct initmsg_spawn, argc), 0 },
		{ "argc huge", offsetof(struct initmsg_spawn, argc), UINT32_MAX },
		{ "envc - 1", offsetof(struct initmsg_spawn, envc), 0 },
		{ "envc + 1", offsetof(struct initmsg_spawn, envc), 2 },
		{ "envc huge", offsetof(struct initmsg_spawn, envc), UINT32_MAX },
		{ "size - 1", offsetof(struct initmsg_spawn, strings_size), 12 },
		{ "size + 1", offsetof(struct initmsg_spawn, strings_size), 14 },
		{ "size 0", offsetof(struct initmsg_spawn, strings_size), 0 },
		{ "size huge", offsetof(struct initmsg_spawn, strings_size), UINT32_MAX },
		{ "reserved", offsetof(struct initmsg_spawn, reserved), 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_message_ struct message m = MESSAGE(2, 1, "/w\0ls\0-l\0A=1");
		ck_assert_uint_eq(m.len, sizeof(struct initmsg_spawn) + 13);
		ck_assert_int_eq(parse(&m, no_env), 0);
		memcpy(m.bytes + cases[i].offset, &cases[i].value, sizeof(cases[i].value));
		ck_assert_msg(parse(&m, no_env) == -EPROTO, "%s was taken", cases[i].what);
	}
}
END_TEST

START_TEST(test_strings)
{
	static const struct {
		const char *what;
		uint32_t argc, envc;
		const char *strings;
		size_t size;
	} cases[] = {
#define CASE(what, argc, envc, literal) { what, argc, envc, literal, sizeof(literal) }
		CASE("relative folder", 1, 0, "w\0ls"),
		CASE("no folder", 1, 0, "\0ls"),
		CASE("no command", 1, 0, "/\0"),
		CASE("one string too many", 1, 0, "/\0ls\0"),
		CASE("variable without a value", 1, 1, "/\0ls\0A"),
		CASE("variable without a name", 1, 1, "/\0ls\0=1"),
		CASE("empty variable", 1, 1, "/\0ls\0"),
		{ "no strings", 1, 0, "", 0 },
		{ "folder without NUL", 1, 0, "/w", 2 },
		{ "argument without NUL", 1, 0, "/\0ls", 4 },
		{ "variable without NUL", 1, 1, "/\0ls\0A=1", 8 },
#undef CASE
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_message_ struct message m =
			message_of(cases[i].argc, cases[i].envc, cases[i].strings, cases[i].size);
		ck_assert_msg(parse(&m, no_env) == -EPROTO, "%s", cases[i].what);
	}
}
END_TEST

/* Every beginning of a good message is refused, down to nothing. */
START_TEST(test_cut_short)
{
	_cleanup_message_ struct message whole = MESSAGE(2, 1, "/w\0ls\0-l\0A=1");

	for (size_t len = 0; len < whole.len; len++) {
		_cleanup_message_ struct message m = { .bytes = malloc(len ? len : 1), .len = len };
		memcpy(m.bytes, whole.bytes, len);
		ck_assert_int_eq(parse(&m, no_env), -EPROTO);
		if (len < sizeof(struct initmsg_spawn))
			continue;
		uint32_t size = (uint32_t) (len - sizeof(struct initmsg_spawn)); /* an honest length does not help */
		memcpy(m.bytes + offsetof(struct initmsg_spawn, strings_size), &size, sizeof(size));
		ck_assert_int_eq(parse(&m, no_env), -EPROTO);
	}
}
END_TEST

/* The folder "/", then @count times @text. */
static struct message repeated(uint32_t argc, uint32_t envc, size_t count, const char *text)
{
	size_t len = strlen(text) + 1;
	char *strings = malloc(2 + count * len);

	ck_assert_ptr_nonnull(strings);
	memcpy(strings, "/", 2);
	for (size_t i = 0; i < count; i++)
		memcpy(strings + 2 + i * len, text, len);
	struct message m = message_of(argc, envc, strings, 2 + count * len);
	free(strings);
	return m;
}

START_TEST(test_counts)
{
	static const struct {
		uint32_t argc, envc;
		bool taken;
	} cases[] = {
		{ INITMSG_ARGC_MAX, 0, true },
		{ INITMSG_ARGC_MAX + 1, 0, false },
		{ 1, INITMSG_ENVC_MAX, true },
		{ 1, INITMSG_ENVC_MAX + 1, false },
		{ INITMSG_ARGC_MAX, INITMSG_ENVC_MAX, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_message_ struct message m =
			repeated(cases[i].argc, cases[i].envc, (size_t) cases[i].argc + cases[i].envc, "A=1");
		ck_assert_msg((parse(&m, no_env) == 0) == cases[i].taken, "%u and %u", cases[i].argc, cases[i].envc);
	}
}
END_TEST

START_TEST(test_length_of_a_string)
{
	static char text[INITMSG_STRING_MAX + 2];

	for (size_t len = INITMSG_STRING_MAX - 2; len <= INITMSG_STRING_MAX + 1; len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		_cleanup_message_ struct message m = repeated(1, 0, 1, text);
		ck_assert_msg(parse(&m, no_env) == (len < INITMSG_STRING_MAX ? 0 : -EPROTO), "%zu bytes", len);
	}
}
END_TEST

/* A base environment that fills the request: replacing works, adding is refused; nothing is written behind the end. */
START_TEST(test_full_environment)
{
	static char names[ARRAY_LEN(req.envp)][16];
	static const char *env[ARRAY_LEN(req.envp) + 1];

	for (size_t i = 0; i < ARRAY_LEN(req.envp) - 1; i++) {
		(void) snprintf(names[i], sizeof(names[i]), "V%zu=", i);
		env[i] = names[i];
	}
	_cleanup_message_ struct message replacing = MESSAGE(1, 1, "/\0x\0V7=new");
	ck_assert_int_eq(parse(&replacing, env), 0);
	ck_assert_str_eq(req.envp[7], "V7=new");
	ck_assert_ptr_null(req.envp[ARRAY_LEN(req.envp) - 1]);
	_cleanup_message_ struct message adding = MESSAGE(1, 1, "/\0x\0W=new");
	ck_assert_int_eq(parse(&adding, env), -EPROTO);
}
END_TEST

/* A taken message holds everything that the request points to, in order, without a gap and to its last byte. */
static void check_fits(const struct message *m, const char *const *env)
{
	const char *at = (const char *) m->bytes + sizeof(struct initmsg_spawn), *end = (const char *) m->bytes + m->len;
	struct initmsg_spawn head;

	memcpy(&head, m->bytes, sizeof(head));
	ck_assert(head.head.type == INITMSG_SPAWN && head.head.id == req.id && req.id != 0);
	ck_assert(head.argc >= 1 && head.argc <= INITMSG_ARGC_MAX && head.envc <= INITMSG_ENVC_MAX);
	ck_assert(req.cwd == at && req.cwd[0] == '/');
	at += strnlen(at, (size_t) (end - at)) + 1;
	for (uint32_t i = 0; i < head.argc; i++) {
		ck_assert(req.argv[i] == at && at < end);
		at += strnlen(at, (size_t) (end - at)) + 1;
	}
	ck_assert(req.argv[0][0] && !req.argv[head.argc]);
	size_t count = 0;
	for (; req.envp[count]; count++) {
		bool is_base = false;
		for (size_t i = 0; env[i]; i++)
			is_base |= req.envp[count] == env[i];
		ck_assert(is_base || (req.envp[count] >= at && req.envp[count] < end));
		ck_assert(strchr(req.envp[count], '=') > req.envp[count]);
	}
	for (uint32_t i = 0; i < head.envc; i++) {
		ck_assert(at < end);
		at += strnlen(at, (size_t) (end - at)) + 1;
	}
	ck_assert(at == end);
}

/* Changes bytes, numbers of the head and the length, most often by a little. */
static void mutate(struct seeded *random, struct message *m)
{
	static const uint32_t numbers[] = { 0, 1, 2, 3, 4, INITMSG_ENVC_MAX, INITMSG_ARGC_MAX, INT32_MAX, UINT32_MAX };

	for (size_t n = 1 + seeded_below(random, MUTATIONS_MAX); n > 0 && m->len > 0; n--) {
		size_t at = seeded_below(random, m->len);
		uint32_t number = numbers[seeded_below(random, ARRAY_LEN(numbers))];
		size_t field = 4 * seeded_below(random, sizeof(struct initmsg_spawn) / 4);

		switch (seeded_below(random, 6)) {
		case 0:
			m->bytes[at] = (unsigned char) seeded_next(random);
			break;
		case 1:
			m->bytes[at] = (unsigned char) "\0=/A"[seeded_below(random, 4)];
			break;
		case 2:
			m->bytes[at] ^= (unsigned char) (1 << seeded_below(random, 8));
			break;
		case 3:
			if (field + 4 <= m->len)
				memcpy(m->bytes + field, &number, 4);
			break;
		case 4: /* cut, honestly or not */
			m->len = at;
			if (seeded_below(random, 2) || at < sizeof(struct initmsg_spawn))
				break;
			number = (uint32_t) (at - sizeof(struct initmsg_spawn));
			memcpy(m->bytes + offsetof(struct initmsg_spawn, strings_size), &number, 4);
			break;
		default:
			memmove(m->bytes + at, m->bytes + at / 2, m->len - at);
			break;
		}
	}
}

START_TEST(test_random_mutations)
{
	static const char *const env[] = { "PATH=/bin", "HOME=/", "A=0", NULL };
	struct seeded random = { .state = 4 };
	size_t taken = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		_cleanup_message_ struct message m = round % 2 ? MESSAGE(2, 2, "/w\0ls\0-l\0A=1\0B=2")
								: MESSAGE(4, 1, "/workspace/a\0sh\0-c\0true\0\0HOME=/x");
		mutate(&random, &m);
		/* Cut messages move to memory of their own length. */
		_cleanup_message_ struct message exact = { .bytes = malloc(m.len ? m.len : 1), .len = m.len };
		memcpy(exact.bytes, m.bytes, m.len);
		int r = parse(&exact, env);
		if (r != 0 && r != -EPROTO) /* an assertion each time would take seconds */
			ck_abort_msg("round %zu: %d", round, r);
		if (r == 0) {
			check_fits(&exact, env);
			taken++;
		}
	}
	/* The mutations are mild enough for some to pass, and wild enough for most not to. */
	ck_assert_msg(taken > ROUNDS / 50 && taken < ROUNDS / 2, "%zu of %d were taken", taken, ROUNDS);
}
END_TEST

UNIT_MAIN("runtime/init/request", test_exact_fit, test_environment, test_every_field, test_strings, test_cut_short,
	  test_counts, test_length_of_a_string, test_full_environment, test_random_mutations)
