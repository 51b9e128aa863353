/*
 * Docker's seccomp JSON: what is refused, and with which words; that no input harms the reader; what the notes tell. What an accepted
 * filter means is tested in tests/filter/user.c.
 */
#include "runtime/compile/docker.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/compile/filter_code.h"
#include "runtime/spec/filterform.h"
#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum { CHANGED_FILTERS = 4000, BIG = 200000 };

#define RULE(name, action, args) "{\"names\":[\"" name "\"],\"action\":\"SCMP_ACT_" action "\",\"args\":[" args "]}"
#define ARG(index, op, value, two) \
	"{\"index\":" #index ",\"op\":\"SCMP_CMP_" op "\",\"value\":" #value ",\"valueTwo\":" #two "}"
#define FILTER(action, rules) "{\"defaultAction\":\"SCMP_ACT_" action "\",\"syscalls\":[" rules "]}"

/* With all that the form knows. */
static const char valid[] =
	"{\n\t\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 1, \"defaultErrno\": \"EPERM\",\n"
	"\t\"archMap\": [{ \"architecture\": \"SCMP_ARCH_X86_64\", \"subArchitectures\": [\"SCMP_ARCH_X86\"] }],\n"
	"\t\"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"],\n\t\"syscalls\": [\n"
	"\t\t{ \"names\": [\"read\", \"write\", \"a_call_of_the_future\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": null, \"comment\": \"\" },\n"
	"\t\t{ \"name\": \"clone\", \"action\": \"SCMP_ACT_ALLOW\", \"args\": [\n"
	"\t\t\t{ \"index\": 0, \"value\": 2114060288, \"valueTwo\": 0, \"op\": \"SCMP_CMP_MASKED_EQ\" }],\n"
	"\t\t  \"excludes\": { \"caps\": [\"CAP_SYS_ADMIN\"], \"arches\": [\"s390\"] } },\n"
	"\t\t{ \"names\": [\"bpf\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": { \"caps\": [\"CAP_BPF\"] } },\n"
	"\t\t{ \"names\": [\"sync\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": { \"arches\": [\"s390x\"] } },\n"
	"\t\t{ \"names\": [\"kcmp\"], \"action\": \"SCMP_ACT_ALLOW\", \"includes\": { \"minKernel\": \"99.1\" } },\n"
	"\t\t{ \"names\": [\"mkdir\"], \"action\": \"SCMP_ACT_ERRNO\", \"errno\": \"ENOSPC\" }\n\t]\n}\n";

static const struct {
	const char *text;
	const char *because;
} wrongs[] = {
	{ "", "line 1" },
	{ "[]", "is not an object" },
	{ "{\"defaultAction\":", "not JSON" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\"} {}", "not one JSON value" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\"},", "not one JSON value" },
	{ "{}", "has no 'defaultAction'" },
	{ "{\n\"defaultAction\":\"SCMP_ACT_ALLOW\",\n\"calls\":[]}", "line 3: the member 'calls'" },
	{ "{\"DefaultAction\":\"SCMP_ACT_ALLOW\"}", "'DefaultAction' of the filter is not known" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"defaultAction\":\"SCMP_ACT_ERRNO\"}", "is there twice" },
	{ "{\"defaultAction\":1}", "must be a string" },
	{ "{\"defaultAction\":\"SCMP_ACT_NO\"}", "use SCMP_ACT_ALLOW" },
	{ "{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}", "needs a program that answers" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", "{\"index\":0,\"op\":\"EQ\",\"value\":1}")), "use SCMP_CMP_EQ" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", ARG(6, "EQ", 1, 0))), "0 to 5" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", ARG(0, "EQ", -1, 0))), "whole number" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", ARG(0, "EQ", 1.5, 0))), "whole number" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", ARG(0, "EQ", 1e3, 0))), "whole number" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", ARG(0, "EQ", 18446744073709551616, 0))), "whole number" },
	{ FILTER("ALLOW", RULE("read", "ERRNO", ARG(0, "EQ", 1e999, 0))), "whole number" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":4096}", "0 to 4095" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":1,\"defaultErrno\":\"ENOSYS\"}", "by its name" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrno\":\"EWHAT\"}", "no errno 'EWHAT'" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"action\":\"SCMP_ACT_LOG\"}]}", "needs 'names'" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[1],\"action\":\"SCMP_ACT_LOG\"}]}",
	  "must hold strings" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[],\"action\":\"SCMP_ACT_LOG\",\"includes\":{\"minKernel\":\"x\"}}]}",
	  "as in 5.19" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_ARM\"],\"archMap\":[{\"architecture\":\"SCMP_ARCH_ARM\"}]}",
	  "either" },
	{ "{\"defaultAction\":[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]}", "nested too deeply" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\\u0000x\"}", "holds a NUL" },
	{ "{\"defaultAction\":\"SCMP_ACT\n_ALLOW\"}", "goes over the end of the line" },
	{ "{\"defaultAction\":\"\xff\"}", "not UTF-8" },
};

static struct filter_profile profile; /* megabytes */

static int read_text(const char *text, size_t len, struct buf *notes, struct err *err)
{
	return docker_filter(text, len, &filter_arches[0], filterform_kernel(6, 1), &profile, notes, err);
}

/* Reads a copy of just that length, so that a sanitizer sees a byte too far. */
static int read_copy(const char *text, size_t len, struct err *err)
{
	_cleanup_buf_ struct buf notes = BUF_INIT(FILTERFORM_NOTES_MAX);
	char *copy = malloc(len + 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	copy[len] = '\0';
	int r = read_text(copy, len, &notes, err);
	free(copy);
	return r;
}

static bool names_its_line(const struct err *err)
{
	return strncmp(err->text, "line ", strlen("line ")) == 0;
}

START_TEST(test_wrong)
{
	for (size_t i = 0; i < ARRAY_LEN(wrongs); i++) {
		struct err err = { 0 };
		int r = read_copy(wrongs[i].text, strlen(wrongs[i].text), &err);

		ck_assert_msg(r < 0 && strstr(err.text, wrongs[i].because) && names_its_line(&err), "%s: %d, %s", wrongs[i].text, r, err.text);
	}
}
END_TEST

START_TEST(test_beginnings)
{
	size_t whole = strlen(valid) - 1; /* without the last line break it is as good */

	for (size_t len = 0; len < whole; len++) {
		struct err err = { 0 };
		int r = read_copy(valid, len, &err);

		ck_assert_msg(r < 0 && names_its_line(&err), "%zu bytes: %d, %s", len, r, err.text);
	}
	struct err err = { 0 };
	ck_assert_msg(read_copy(valid, whole, &err) == 0, "%s", err.text);
}
END_TEST

/* What is left when bytes are changed is refused with its line, or can be compiled. */
START_TEST(test_changed)
{
	static const char alphabet[] = "{}[]\",:0123456789-eE.\\u\n tfn\x80\xff";
	static struct sock_filter prog[BPF_MAXINSNS];
	struct seeded s = { .state = 7 };
	unsigned int refused = 0;
	char text[sizeof(valid)];

	for (unsigned int i = 0; i < CHANGED_FILTERS; i++) {
		struct err err = { 0 };

		memcpy(text, valid, sizeof(valid));
		for (size_t changes = 1 + seeded_below(&s, 4); changes > 0; changes--)
			text[seeded_below(&s, sizeof(valid) - 1)] = alphabet[seeded_below(&s, sizeof(alphabet) - 1)];
		if (read_copy(text, sizeof(valid) - 1, &err) < 0) {
			ck_assert_msg(names_its_line(&err), "%s\n%s", text, err.text);
			refused++;
		} else {
			ck_assert_int_gt(filter_compile(&profile, true, prog, ARRAY_LEN(prog)), 0);
		}
	}
	ck_assert_uint_gt(refused, CHANGED_FILTERS / 10);
	ck_assert_uint_lt(refused, CHANGED_FILTERS);
}
END_TEST

static void expect_big(char c, const char *because)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BIG + 100);
	struct err err = { 0 };

	buf_add_str(&text, "{\"defaultAction\":");
	for (size_t i = 0; i < BIG; i++)
		buf_add_char(&text, c);
	ck_assert_int_lt(read_copy(text.p, text.len, &err), 0);
	ck_assert_msg(strstr(err.text, because) != NULL, "%s", err.text);
}

START_TEST(test_big)
{
	_cleanup_buf_ struct buf many = BUF_INIT(2 * BIG);
	struct err err = { 0 };

	expect_big('[', "nested too deeply");
	expect_big('{', "nested too deeply");
	expect_big('1', "");
	expect_big('"', "");
	buf_add_str(&many, "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[");
	for (size_t i = 0; i < BIG / 2; i++)
		buf_add_str(&many, "1,");
	ck_assert_int_lt(read_copy(many.p, many.len, &err), 0);
	ck_assert_msg(strstr(err.text, "too many values") != NULL, "%s", err.text);
}
END_TEST

START_TEST(test_too_many_rules)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BIG);
	struct err err = { 0 };

	buf_add_str(&text, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[");
	for (unsigned int i = 0; i <= FILTER_RULES_MAX; i++)
		buf_addf(&text, "%s{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":%u,\"op\":\"SCMP_CMP_EQ\"}]}",
			 i ? "," : "", i);
	buf_add_str(&text, "]}");
	ck_assert_int_lt(read_copy(text.p, text.len, &err), 0);
	ck_assert_msg(strstr(err.text, "more than 40 rules for 'read'") != NULL, "%s", err.text);
}
END_TEST

START_TEST(test_notes)
{
	static const char *const expected[] = {
		"1 of the names are no system calls that are known here: a_call_of_the_future\n",
		"1 of the rules need a capability", "1 of the rules are for other architectures", "1 of the rules are for other kernels",
	};
	_cleanup_buf_ struct buf notes = BUF_INIT(FILTERFORM_NOTES_MAX);
	struct err err = { 0 };

	ck_assert_int_eq(read_text(valid, strlen(valid), &notes, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		ck_assert_msg(strstr(buf_cstr(&notes), expected[i]) != NULL, "%s", buf_cstr(&notes));
}
END_TEST

UNIT_MAIN("runtime/compile/docker", test_wrong, test_beginnings, test_changed, test_big, test_too_many_rules, test_notes)
