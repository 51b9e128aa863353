/*
 * Options as a table: every accepted spelling, every refusal, where operands go, and the texts made from the table.
 */
#include "runtime/base/opt.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum { GROUP_A = 1 << 0, GROUP_B = 1 << 1, ARGS_MAX = 16, TRACE_MAX = 256, ROUNDS = 100000 };

/* What the setters saw, as "name=value " in order. */
static char trace[TRACE_MAX];

static int record(void *target, const struct opt *opt, const char *value, struct err *err)
{
	char *to = target;
	size_t len = strlen(to);

	if (value && strcmp(value, "bad") == 0)
		return err_set(err, ERR_USAGE, ERANGE, "--%s does not like '%s'", opt->name, value);
	(void) snprintf(to + len, TRACE_MAX - len, "%s=%s ", opt->name, value ? value : "NULL");
	return 0;
}

static const struct opt table[] = {
	{ .name = "memory", .letter = 'm', .alias = "mem", .arg = "SIZE", .groups = GROUP_A, .set = record,
	  .help = "the memory limit", .detail = "As in 512m." },
	{ .name = "verbose", .letter = 'v', .groups = GROUP_A | GROUP_B, .set = record, .help = "say more" },
	{ .name = "tty", .letter = 't', .groups = GROUP_A, .set = record, .help = ".starts with a dot" },
	{ .name = "a-rather-long-name-for-one", .arg = "ARGUMENT", .groups = GROUP_A, .set = record, .help = "two lines" },
	{ .name = "hidden", .groups = GROUP_A, .set = record },
	{ .name = "other", .letter = 'o', .groups = GROUP_B, .set = record, .help = "of the other group" },
	{ .name = NULL },
};

/* Parses the words of @line, split at single blanks ("_" stands for an empty word). Operands come back joined in @operands. */
static int parse(enum opt_order order, const char *line, char operands[static TRACE_MAX], struct err *err)
{
	static char words[TRACE_MAX];
	char *argv[ARGS_MAX] = { NULL };
	int argc = 0;

	trace[0] = operands[0] = '\0';
	ck_assert_uint_lt(strlen(line), sizeof(words));
	memcpy(words, line, strlen(line) + 1);
	for (char *p = words; *p && argc < ARGS_MAX; argc++) {
		char *blank = strchrnul(p, ' ');
		argv[argc] = p;
		p = *blank ? blank + 1 : blank;
		*blank = '\0';
		if (strcmp(argv[argc], "_") == 0)
			argv[argc][0] = '\0';
	}
	int r = opt_parse(table, GROUP_A, order, trace, argc, argv, err);
	for (int i = 0; i < r; i++) {
		size_t len = strlen(operands);
		(void) snprintf(operands + len, TRACE_MAX - len, "[%s]", argv[i]);
	}
	return r;
}

START_TEST(test_spellings)
{
	static const struct {
		const char *line, *trace, *operands;
	} cases[] = {
		{ "--memory 1g", "memory=1g ", "" },
		{ "--memory=1g", "memory=1g ", "" },
		{ "--memory=", "memory= ", "" },
		{ "--memory=a=b", "memory=a=b ", "" },
		{ "--mem 1g", "memory=1g ", "" }, /* the alias */
		{ "-m 1g", "memory=1g ", "" },
		{ "-m1g", "memory=1g ", "" },
		{ "-m=1g", "memory==1g ", "" }, /* as everywhere: the sign belongs to the value */
		{ "-vt", "verbose=NULL tty=NULL ", "" },
		{ "-vtm1g", "verbose=NULL tty=NULL memory=1g ", "" },
		{ "-vtm 1g", "verbose=NULL tty=NULL memory=1g ", "" },
		{ "--memory -1", "memory=-1 ", "" }, /* an argument may look like an option */
		{ "--memory -- x", "memory=-- ", "[x]" },
		{ "--memory _ x", "memory= ", "[x]" },
		{ "--verbose=true --tty=false", "verbose=true tty=false ", "" },
		{ "--memory 1 --memory 2", "memory=1 memory=2 ", "" },
		{ "--hidden", "hidden=NULL ", "" },
		{ "- x", "", "[-][x]" },
		{ "_", "", "[]" },
		{ "", "", "" },
	};
	char operands[TRACE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		int r = parse(OPT_PERMUTE, cases[i].line, operands, &err);
		ck_assert_msg(r >= 0, "'%s': %s", cases[i].line, err.text);
		ck_assert_str_eq(trace, cases[i].trace);
		ck_assert_str_eq(operands, cases[i].operands);
	}
}
END_TEST

START_TEST(test_operands)
{
	static const struct {
		enum opt_order order;
		const char *line, *trace, *operands;
	} cases[] = {
		{ OPT_PERMUTE, "a -v b --tty c", "verbose=NULL tty=NULL ", "[a][b][c]" },
		{ OPT_PERMUTE, "a -v -- -t --bogus", "verbose=NULL ", "[a][-t][--bogus]" },
		{ OPT_PERMUTE, "-- --", "", "[--]" },
		{ OPT_STOP_AT_OPERAND, "-v ls -l --bogus", "verbose=NULL ", "[ls][-l][--bogus]" },
		{ OPT_STOP_AT_OPERAND, "-v ls -- -l", "verbose=NULL ", "[ls][--][-l]" },
		{ OPT_STOP_AT_OPERAND, "-v -- ls -l", "verbose=NULL ", "[ls][-l]" },
	};
	char operands[TRACE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		ck_assert_msg(parse(cases[i].order, cases[i].line, operands, &err) >= 0, "'%s'", cases[i].line);
		ck_assert_str_eq(trace, cases[i].trace);
		ck_assert_str_eq(operands, cases[i].operands);
	}
}
END_TEST

START_TEST(test_refusals)
{
	static const struct {
		const char *line, *message; /* a part of it */
	} cases[] = {
		{ "--memroy 1", "did you mean '--memory'" },
		{ "--verbos", "did you mean '--verbose'" }, /* no abbreviations */
		{ "--xyzzy", "unknown option '--xyzzy'" },
		{ "--other", "unknown option '--other'" }, /* another group's */
		{ "-o", "unknown option '-o'" },
		{ "-vx", "unknown option '-x' in '-vx'" },
		{ "--memory", "needs an argument (SIZE)" },
		{ "-m", "needs an argument (SIZE)" },
		{ "-vm", "needs an argument (SIZE)" },
		{ "--verbose=yes", "takes no argument" },
		{ "--verbose=", "takes no argument" },
		{ "--=1", "unknown option '--'" },
		{ "--memory bad", "does not like 'bad'" },
	};
	char operands[TRACE_MAX];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		ck_assert_msg(parse(OPT_PERMUTE, cases[i].line, operands, &err) < 0, "'%s' was taken", cases[i].line);
		ck_assert_int_eq(err.code, ERR_USAGE);
		ck_assert_msg(strstr(err.text, cases[i].message) != NULL, "'%s': '%s'", cases[i].line, err.text);
	}
}
END_TEST

/* A word far longer than any option is refused without being copied whole. */
START_TEST(test_very_long_word)
{
	char word[5000], *argv[] = { word, NULL };
	struct err err = { 0 };

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	word[0] = word[1] = '-';
	ck_assert_int_eq(opt_parse(table, GROUP_A, OPT_PERMUTE, trace, 1, argv, &err), -EINVAL);
	ck_assert_int_eq(strncmp(err.text, "unknown option '--xxx", 21), 0);
}
END_TEST

START_TEST(test_nearest)
{
	static const char *const names[] = { "read_file", "write_file", "run_bash" };

	ck_assert_str_eq(opt_nearest("read_fil", names, 3), "read_file");
	ck_assert_str_eq(opt_nearest("wirte_file", names, 3), "write_file");
	ck_assert_str_eq(opt_nearest("run_bash", names, 3), "run_bash");
	ck_assert_ptr_null(opt_nearest("banana", names, 3));
	ck_assert_ptr_null(opt_nearest("run_bash", names, 0));

	/* Nothing resembles a word of hundreds of letters. */
	char word[400];
	memset(word, 'x', sizeof(word) - 1);
	for (size_t len = 0; len < sizeof(word); len++) {
		word[len] = '\0';
		ck_assert_msg(opt_nearest(word, names, 3) == NULL, "%zu letters", len);
		word[len] = 'x';
	}
}
END_TEST

START_TEST(test_texts)
{
	_cleanup_buf_ struct buf help = BUF_INIT(4096);
	_cleanup_buf_ struct buf man = BUF_INIT(4096);
	_cleanup_buf_ struct buf words = BUF_INIT(4096);

	opt_help(table, GROUP_A, &help);
	ck_assert_str_eq(buf_cstr(&help), "  -m, --memory SIZE           the memory limit\n"
					  "  -v, --verbose               say more\n"
					  "  -t, --tty                   .starts with a dot\n"
					  "      --a-rather-long-name-for-one ARGUMENT\n"
					  "                              two lines\n");
	opt_man(table, GROUP_A, &man);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&man), ".It Fl m , Fl \\-memory Ar SIZE\nThe memory limit.\nAs in 512m.\n"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&man), "\n\\&.starts with a dot.\n"));
	ck_assert_ptr_null(strstr(buf_cstr(&man), "hidden"));
	opt_words(table, GROUP_B, &words);
	ck_assert_str_eq(buf_cstr(&words), "--verbose -v --other -o");
}
END_TEST

/* Any command line is parsed or refused with a text; operands stay the words that were given, in their order. */
START_TEST(test_random_words)
{
	static const char *const parts[] = {
		"--", "-", "=", "memory", "mem", "verbose", "tty", "hidden", "m", "v", "t", "x", "true", "bad", "1g", "", " ",
	};
	struct seeded random = { .state = 3 };
	size_t taken = 0, refused = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		char words[ARGS_MAX][64], *argv[ARGS_MAX];
		int argc = (int) seeded_below(&random, ARGS_MAX);
		enum opt_order order = seeded_below(&random, 2) ? OPT_PERMUTE : OPT_STOP_AT_OPERAND;
		struct err err = { 0 };

		for (int i = 0; i < argc; i++) {
			words[i][0] = '\0';
			for (size_t n = 1 + seeded_below(&random, 4); n > 0; n--) {
				size_t len = strlen(words[i]);
				(void) snprintf(words[i] + len, sizeof(words[i]) - len, "%s",
						parts[seeded_below(&random, ARRAY_LEN(parts))]);
			}
			argv[i] = words[i];
		}
		trace[0] = '\0';
		int r = opt_parse(table, GROUP_A, order, trace, argc, argv, &err);
		if (r < 0) {
			if (err.code != ERR_USAGE || strlen(err.text) < 10) /* an assertion each time would take seconds */
				ck_abort_msg("'%s'", err.text);
			refused++;
			continue;
		}
		taken++;
		for (int i = 0; i < r; i++)
			if (r > argc || argv[i] < words[i] || (i > 0 && argv[i] <= argv[i - 1]))
				ck_abort_msg("operand %d of %d moved", i, r);
	}
	ck_assert_uint_gt(taken, ROUNDS / 100);
	ck_assert_uint_gt(refused, ROUNDS / 100);
}
END_TEST

static void see(void *userdata, const struct opt *opt, const char *value)
{
	IGNORE_RESULT(record(userdata, opt, value && strcmp(value, "bad") == 0 ? "worse" : value, NULL));
}

/* A visit sees what a parse would set, up to the first mistake, and moves nothing. */
START_TEST(test_visit)
{
	static const struct {
		enum opt_order order;
		const char *words[6];
		const char *trace;
	} cases[] = {
		{ OPT_PERMUTE, { "a", "-v", "b", "--memory=1", "c" }, "verbose=NULL memory=1 " },
		{ OPT_STOP_AT_OPERAND, { "-v", "ls", "--memory=1" }, "verbose=NULL " },
		{ OPT_PERMUTE, { "-v", "--", "--memory=1" }, "verbose=NULL " },
		{ OPT_PERMUTE, { "-vm", "bad", "-t" }, "verbose=NULL memory=worse tty=NULL " },
		{ OPT_PERMUTE, { "-v", "--bogus", "-t" }, "verbose=NULL " },
		{ OPT_PERMUTE, { "-v", "--memory" }, "verbose=NULL " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *argv[ARRAY_LEN(cases[0].words) + 1] = { NULL };
		int argc = 0;
		for (; cases[i].words[argc]; argc++)
			argv[argc] = (char *) (uintptr_t) cases[i].words[argc];
		trace[0] = '\0';
		opt_visit(table, GROUP_A, cases[i].order, see, trace, argc, argv);
		ck_assert_str_eq(trace, cases[i].trace);
		for (int j = 0; j < argc; j++)
			ck_assert_ptr_eq(argv[j], cases[i].words[j]);
	}
}
END_TEST

UNIT_MAIN("runtime/base/opt", test_spellings, test_operands, test_visit, test_refusals, test_very_long_word, test_nearest, test_texts,
	  test_random_words)
