/*
 * The built-in filters against tables of calls: tests/filter/NAME.tests for profiles/seccomp/NAME.json, compiled for every
 * architecture and evaluated in a simulator.
 *
 *     tables TESTS PROFILES      the two folders
 *
 * A row is `CALL [ARGUMENT...] VERDICT`, split at blanks; `#` begins a comment. CALL is a name, `x32:NAME` for the
 * same number in the x32 range, `foreign:NUMBER` for a call of another ABI of the machine, or `nr:NUMBER`. A row whose call an
 * architecture lacks, or which has arguments of 64 bits where there are none, is left out there. Numbers
 * are decimal, 0x… or octal 0…, joined by `|`. An argument `-` or one that is not given does not matter: the row is
 * evaluated with it 0, all ones, and a pattern. VERDICT is ALLOW, KILL, TRACE, SUCCESS
 * (an errno of 0) or the name of an errno.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "runtime/compile/filter_code.h"
#include "tests/filter/bpf_sim.h"
#include "tests/harness/tap.h"
#include "tools/build/filter_profile.h"

enum { ARGS = 6, WORDS_MAX = ARGS + 2, LINE_CAP = 512, X32 = 0x40000000 };

static const char *const filters[] = { "compiler", "debug", "default", "floor", "init", "scope", "server" };

/* The filter at hand. */
static struct filter_profile profile;
static struct sock_filter prog[BPF_MAXINSNS];
static size_t prog_len;

/* One row. Bit n of @any: argument n does not matter. */
struct row {
	struct seccomp_data data;
	unsigned int any;
	uint32_t verdict;
};

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -EINVAL;
}

/* One number at *@p; moves *@p behind it. */
static int read_number(const char **p, uint64_t *ret)
{
	const char *s = *p;
	unsigned int base = 10;
	uint64_t v = 0;

	if (s[0] == '0' && s[1] == 'x') {
		base = 16;
		s += 2;
	} else if (s[0] == '0') {
		base = 8;
	}
	if (digit_value(*s) < 0)
		return -EINVAL;
	for (; digit_value(*s) >= 0; s++) {
		if (digit_value(*s) >= (int) base)
			return -EINVAL;
		v = v * base + (unsigned int) digit_value(*s);
	}
	*p = s;
	*ret = v;
	return 0;
}

static int read_value(const char *s, uint64_t *ret)
{
	uint64_t sum = 0;

	for (;;) {
		uint64_t v;
		int r = read_number(&s, &v);

		if (r < 0)
			return r;
		sum |= v;
		if (*s == '\0')
			break;
		if (*s++ != '|')
			return -EINVAL;
	}
	*ret = sum;
	return 0;
}

static int read_verdict(const char *s, uint32_t *ret)
{
	if (strcmp(s, "ALLOW") == 0) {
		*ret = SECCOMP_RET_ALLOW;
		return 0;
	}
	if (strcmp(s, "KILL") == 0) {
		*ret = SECCOMP_RET_KILL_PROCESS;
		return 0;
	}
	if (strcmp(s, "TRACE") == 0) {
		*ret = SECCOMP_RET_TRACE;
		return 0;
	}
	if (strcmp(s, "SUCCESS") == 0) { /* not made, but the caller hears that it was */
		*ret = SECCOMP_RET_ERRNO;
		return 0;
	}
	for (int e = 1; e < 134; e++) {
		const char *name = strerrorname_np(e);

		if (name && strcmp(name, s) == 0) {
			*ret = SECCOMP_RET_ERRNO | (uint32_t) e;
			return 0;
		}
	}
	return -EINVAL;
}

/* 0, 1 when this machine has no such call, -EINVAL. */
static int read_call(const struct filter_arch *arch, const char *s, struct seccomp_data *data)
{
	uint64_t v;
	int nr;

	data->arch = arch->audit;
	if (strncmp(s, "nr:", 3) == 0) {
		if (read_value(s + 3, &v) < 0)
			return -EINVAL;
		data->nr = (int) (uint32_t) v;
		return 0;
	}
	if (strncmp(s, "foreign:", 8) == 0) {
		if (read_value(s + 8, &v) < 0)
			return -EINVAL;
		data->arch = arch->foreign;
		data->nr = (int) v;
		return 0;
	}

	bool x32 = strncmp(s, "x32:", 4) == 0;

	if (x32 && !arch->has_x32)
		return 1;
	nr = filter_call_number(arch, x32 ? s + 4 : s);
	if (nr == FILTER_CALL_ELSEWHERE)
		return 1;
	data->nr = x32 ? nr | X32 : nr;
	return nr < 0 ? -EINVAL : 0;
}

static int read_row(const struct filter_arch *arch, char *const *word, unsigned int n, struct row *row)
{
	int absent;

	if (n < 2 || read_verdict(word[n - 1], &row->verdict) < 0)
		return -EINVAL;
	absent = read_call(arch, word[0], &row->data);
	if (absent < 0)
		return -EINVAL;
	for (unsigned int i = 0; i < ARGS; i++) {
		uint64_t v = 0;

		if (i + 2 >= n || strcmp(word[i + 1], "-") == 0)
			row->any |= 1U << i;
		else if (read_value(word[i + 1], &v) < 0)
			return -EINVAL;
		row->data.args[i] = v;
		absent |= arch->is_32bit && v > UINT32_MAX;
	}
	return absent;
}

/* Whether the filter gives the row's verdict; else @got is what it gave. */
static bool check_row(const struct row *row, uint32_t *got)
{
	static const uint64_t fillers[] = { 0, UINT64_MAX, 0xdeadbeefcafef00d };

	for (size_t f = 0; f < ARRAY_LEN(fillers); f++) {
		struct seccomp_data data = row->data;

		for (unsigned int i = 0; i < ARGS; i++)
			if (row->any & (1U << i))
				data.args[i] = profile.arch->is_32bit ? (uint32_t) fillers[f] : fillers[f];
		data.instruction_pointer = fillers[f];
		if (bpf_sim_run(prog, prog_len, &data, got) < 0) {
			*got = SECCOMP_RET_TRAP; /* in no table: the program itself is broken */
			return false;
		}
		if (*got != row->verdict)
			return false;
	}
	return true;
}

static unsigned int split(char *line, char **word)
{
	unsigned int n = 0;

	for (char *p = line; *p != '\0' && *p != '#' && n < WORDS_MAX;) {
		size_t len = strcspn(p, " \t\n");

		if (len > 0)
			word[n++] = p;
		p += len;
		if (*p == '#')
			break;
		while (*p == ' ' || *p == '\t' || *p == '\n')
			*p++ = '\0';
	}
	return n;
}

/* Returns how many rows were tried: none or one. */
static unsigned int run_line(struct tap *t, const char *filter, const struct filter_arch *arch, unsigned int number, char *line)
{
	char *word[WORDS_MAX];
	char text[LINE_CAP];
	struct row row = { 0 };
	uint32_t got = 0;

	(void) snprintf(text, sizeof(text), "%s %s:%u %.*s", arch->name, filter, number, (int) strcspn(line, "#\n"),
			line);

	unsigned int n = split(line, word);
	if (n == 0)
		return 0;

	int r = read_row(arch, word, n, &row);
	if (r < 0) {
		tap_ok(t, false, "%s (the row is wrong)", text);
		return 1;
	}
	if (r > 0)
		return 0; /* the same calls by other names are in the tables too */

	bool ok = check_row(&row, &got);

	tap_ok(t, ok, "%s", text);
	if (!ok)
		printf("# the filter says 0x%08x, the table 0x%08x\n", got, row.verdict);
	return 1;
}

static void run_table(struct tap *t, const char *folder, const char *filter, const struct filter_arch *arch)
{
	char path[4096];
	char line[LINE_CAP / 2];
	unsigned int number = 0, tried = 0;

	(void) snprintf(path, sizeof(path), "%s/%s.tests", folder, filter);
	FILE *f = fopen(path, "re");
	if (!f) {
		tap_ok(t, false, "cannot open '%s': %s", path, strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), f))
		tried += run_line(t, filter, arch, ++number, line);
	(void) fclose(f);
	tap_ok(t, tried * 2 > number / 2, "%s: %s.tests has rows for it: %u", arch->name, filter, tried);
}

static void run_filter(struct tap *t, char *const *folders, const char *filter, const struct filter_arch *arch)
{
	struct err err = { 0 };
	char path[4096];
	int n;

	(void) snprintf(path, sizeof(path), "%s/%s.json", folders[1], filter);
	if (filter_profile_load(path, arch, &profile, &err) < 0 ||
	    (n = filter_compile(&profile, false, prog, ARRAY_LEN(prog))) < 0) {
		tap_ok(t, false, "%s for %s is compiled: %s", path, arch->name, err.text);
		return;
	}
	prog_len = (size_t) n;
	run_table(t, folders[0], filter, arch);
}

int main(int argc, char *argv[])
{
	struct tap t = { 0 };

	if (argc != 3) {
		(void) fprintf(stderr, "usage: tables TESTS PROFILES\n");
		return 2;
	}
	for (size_t a = 0; a < ARRAY_LEN(filter_arches); a++)
		for (size_t i = 0; i < ARRAY_LEN(filters); i++)
			run_filter(&t, argv + 1, filters[i], &filter_arches[a]);
	return tap_end(&t);
}
