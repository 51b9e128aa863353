/*
 * A user's own filter: that Docker's JSON means here what it means there.
 *
 *     user FILE...      complete filters, beside the ones that are written and made up here
 *
 * Meaning. Each filter is read three times: by cloche's compiler; by this file, which turns it into calls of libseccomp as runc
 * does, and takes the program that libseccomp makes; and by this file once more, rule by rule, without any program. All three are
 * asked about every call and every argument that may matter (sweep.h), for each architecture. cloche must agree with the rules
 * always. libseccomp must, too, wherever the rules that hold are of one mind (it promises no order for others), unless this is a
 * release before 2.6.1, which is known to merge comparisons wrongly (GHSA-4q85-33p6-j5g6).
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/compile/docker.h"
#include "runtime/compile/filter_code.h"
#include "runtime/spec/filterform.h"
#include "tests/filter/bpf_sim.h"
#include "tests/filter/sweep.h"
#include "tests/harness/seeded.h"
#include "tests/harness/tap.h"

enum { TEXT_MAX = 64 * 1024, RANDOM_FILTERS = 120 };

/* A rule as the JSON says it, for one call. */
struct plain_rule {
	int nr;
	int native; /* the name's number on this machine, or libseccomp's own for it: it translates */
	uint32_t action;
	unsigned int n;
	struct scmp_arg_cmp cmp[64];
};

struct trial {
	struct plain_rule rules[1024];
	unsigned int n;
	uint32_t default_action;
	const struct filter_arch *arch;
	struct filter_profile profile;           /* by cloche */
	struct sock_filter ours[BPF_MAXINSNS], theirs[BPF_MAXINSNS];
	size_t ours_len, theirs_len;
	unsigned long odd;                       /* libseccomp was wrong */
	unsigned long of_two_minds;
};

static struct trial trial;

/* --- the second reading: libseccomp's ---------------------------------------------------------------------------------- */

static uint32_t scmp_action(const cJSON *obj, const char *action_name, const char *errno_name)
{
	static const struct {
		const char *name;
		uint32_t action;
	} table[] = {
		{ "SCMP_ACT_ALLOW", SCMP_ACT_ALLOW }, { "SCMP_ACT_KILL", SCMP_ACT_KILL },
		{ "SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS }, { "SCMP_ACT_LOG", SCMP_ACT_LOG },
		{ "SCMP_ACT_TRAP", SCMP_ACT_TRAP },
	};
	const char *s = cJSON_GetObjectItem(obj, action_name)->valuestring;
	const cJSON *number = cJSON_GetObjectItem(obj, errno_name);
	const cJSON *name = cJSON_GetObjectItem(obj, "errno");

	if (strcmp(s, "SCMP_ACT_ERRNO") == 0 && name && strcmp(name->valuestring, "ENOSPC") == 0)
		return SCMP_ACT_ERRNO(ENOSPC);
	if (strcmp(s, "SCMP_ACT_ERRNO") == 0)
		return SCMP_ACT_ERRNO(number ? (uint32_t) number->valuedouble : EPERM);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].name, s) == 0)
			return table[i].action;
	abort(); /* the filters of this file use no other */
}

static enum scmp_compare scmp_op(const char *s)
{
	static const char *const ops[] = { "", "NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ" };

	for (unsigned int i = 1; i < ARRAY_LEN(ops); i++)
		if (strcmp(ops[i], s + strlen("SCMP_CMP_")) == 0)
			return (enum scmp_compare) i;
	abort();
}

/* cJSON has rounded it. The files of this test write numbers above 2^53 as multiples of 2^11, which a double holds. */
static uint64_t number_of(const cJSON *obj, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(obj, name);

	return item ? (item->valuedouble >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t) item->valuedouble) : 0;
}

static bool lists(const cJSON *obj, const char *member, const char *list, const char *word)
{
	const cJSON *item, *array = cJSON_GetObjectItem(cJSON_GetObjectItem(obj, member), list);

	cJSON_ArrayForEach(item, array)
		if (strcmp(item->valuestring, word) == 0)
			return true;
	return false;
}

static bool names_any(const cJSON *obj, const char *member, const char *list)
{
	return cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(obj, member), list)) > 0;
}

/* Whether a rule applies, as moby decides: without a capability, on a kernel of these days. */
static bool applies(const cJSON *rule, const char *arch)
{
	const cJSON *kernel = cJSON_GetObjectItem(cJSON_GetObjectItem(rule, "includes"), "minKernel");

	if (kernel && atof(kernel->valuestring) > 50)
		return false;
	if (names_any(rule, "includes", "caps") || lists(rule, "excludes", "arches", arch))
		return false;
	return !names_any(rule, "includes", "arches") || lists(rule, "includes", "arches", arch);
}

static void add_plain(struct trial *t, const char *name, uint32_t action, const struct scmp_arg_cmp *cmp, unsigned int n)
{
	struct plain_rule *rule = &t->rules[t->n++];

	if (t->n == ARRAY_LEN(t->rules))
		abort();
	rule->nr = filter_call_number(t->arch, name);
	rule->native = seccomp_syscall_resolve_name(name);
	rule->action = action;
	rule->n = n;
	if (n > 0)
		memcpy(rule->cmp, cmp, n * sizeof(*cmp));
}

static void plain_rules_of(struct trial *t, const cJSON *rule, const char *name, uint32_t action)
{
	struct scmp_arg_cmp cmp[64];
	unsigned int n = 0, seen = 0;
	bool twice = false;
	const cJSON *arg;

	if (filter_call_number(t->arch, name) < 0 || action == t->default_action)
		return;
	cJSON_ArrayForEach(arg, cJSON_GetObjectItem(rule, "args")) {
		unsigned int index = (unsigned int) number_of(arg, "index");

		cmp[n++] = (struct scmp_arg_cmp) {
			.arg = index, .op = scmp_op(cJSON_GetObjectItem(arg, "op")->valuestring), .datum_a = number_of(arg, "value"),
			.datum_b = number_of(arg, "valueTwo"),
		};
		twice |= seen >> index & 1;
		seen |= 1U << index;
	}
	for (unsigned int i = 0; twice && i < n; i++)
		add_plain(t, name, action, &cmp[i], 1);
	if (!twice)
		add_plain(t, name, action, cmp, n);
}

static void read_plain(struct trial *t, const cJSON *root)
{
	const cJSON *rule, *name;

	t->n = 0;
	t->default_action = scmp_action(root, "defaultAction", "defaultErrnoRet");
	cJSON_ArrayForEach(rule, cJSON_GetObjectItem(root, "syscalls")) {
		uint32_t action = scmp_action(rule, "action", "errnoRet");

		if (!applies(rule, t->arch->docker_name))
			continue;
		cJSON_ArrayForEach(name, cJSON_GetObjectItem(rule, "names"))
			plain_rules_of(t, rule, name->valuestring, action);
		name = cJSON_GetObjectItem(rule, "name");
		if (name)
			plain_rules_of(t, rule, name->valuestring, action);
	}
}

/* What libseccomp makes of the rules. */
static bool build_theirs(struct trial *t)
{
	scmp_filter_ctx ctx = seccomp_init(t->default_action);
	_cleanup_fd_ int fd = memfd_create("filter", MFD_CLOEXEC);

	if (!ctx || fd < 0)
		abort();
	(void) seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (t->arch->scmp != seccomp_arch_native() &&
	    (seccomp_arch_add(ctx, t->arch->scmp) < 0 || seccomp_arch_remove(ctx, seccomp_arch_native()) < 0))
		abort();
	bool ok = true;
	for (unsigned int i = 0; i < t->n && ok; i++) {
		if (t->rules[i].native == __NR_SCMP_ERROR)
			continue;

		int r = seccomp_rule_add_array(ctx, t->rules[i].action, t->rules[i].native, t->rules[i].n, t->rules[i].cmp);
		ok = r == 0 || r == -EEXIST;
		if (!ok)
			printf("# libseccomp refuses a rule for call %d of %s: %s\n", t->rules[i].nr, t->arch->name, strerror(-r));
	}
	ok = ok && seccomp_export_bpf(ctx, fd) == 0;
	seccomp_release(ctx);
	ssize_t n = ok ? pread(fd, t->theirs, sizeof(t->theirs), 0) : -1;
	t->theirs_len = n > 0 ? (size_t) n / sizeof(t->theirs[0]) : 0;
	return t->theirs_len > 0;
}

/* --- the third reading: rule by rule ----------------------------------------------------------------------------------- */

static bool cmp_holds(const struct trial *t, const struct scmp_arg_cmp *c, const struct seccomp_data *data)
{
	uint64_t all = t->arch->is_32bit ? UINT32_MAX : UINT64_MAX;
	uint64_t arg = data->args[c->arg] & all, a = c->datum_a & all, b = c->datum_b & all;

	switch (c->op) {
	case SCMP_CMP_NE:
		return arg != a;
	case SCMP_CMP_LT:
		return arg < a;
	case SCMP_CMP_LE:
		return arg <= a;
	case SCMP_CMP_EQ:
		return arg == a;
	case SCMP_CMP_GE:
		return arg >= a;
	case SCMP_CMP_GT:
		return arg > a;
	case SCMP_CMP_MASKED_EQ:
		return (arg & a) == (b & a);
	case _SCMP_CMP_MIN:
	case _SCMP_CMP_MAX:
	default:
		abort();
	}
}

static unsigned int leniency(uint32_t action)
{
	/* As a signed number, the way the kernel compares. KILL_PROCESS is the most negative one. */
	return (action & SECCOMP_RET_ACTION_FULL) ^ 0x80000000;
}

/* The verdict; *@ret_one: all rules that hold have it, so that their order cannot matter. */
static uint32_t by_rules(const struct trial *t, const struct seccomp_data *data, bool *ret_one)
{
	uint32_t verdict = 0;
	bool any = false;

	*ret_one = true;
	for (unsigned int i = 0; i < t->n; i++)
		if (t->rules[i].nr == data->nr && t->rules[i].n == 0)
			return t->rules[i].action;
	for (unsigned int i = 0; i < t->n; i++) {
		const struct plain_rule *rule = &t->rules[i];
		bool all = rule->nr == data->nr;

		for (unsigned int k = 0; k < rule->n && all; k++)
			all = cmp_holds(t, &rule->cmp[k], data);
		if (!all)
			continue;
		*ret_one &= !any || rule->action == verdict;
		if (!any || leniency(rule->action) < leniency(verdict))
			verdict = rule->action;
		any = true;
	}
	return any ? verdict : t->default_action;
}

/* Whether the call is too young for this libseccomp. */
static bool is_too_young(const struct trial *t, int nr)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (t->rules[i].nr == nr && t->rules[i].native == __NR_SCMP_ERROR)
			return true;
	return false;
}

static bool check(const struct seccomp_data *data, void *userdata)
{
	struct trial *t = userdata;
	uint32_t ours = 0, theirs = 0, nr = (uint32_t) data->nr;
	bool one = true;

	if (bpf_sim_run(t->ours, t->ours_len, data, &ours) < 0 || bpf_sim_run(t->theirs, t->theirs_len, data, &theirs) < 0)
		return false;
	if (data->arch != t->arch->audit || (t->arch->has_x32 && nr >= SWEEP_X32 && nr != UINT32_MAX))
		return ours == SECCOMP_RET_KILL_PROCESS && theirs == ours;
	if (t->profile.young_enosys && nr > t->profile.named_up_to && nr != UINT32_MAX) {
		uint32_t named = by_rules(t, data, &one); /* ARM's private calls have larger numbers, and may be named */
		return ours == (named != t->default_action ? named : SECCOMP_RET_ERRNO | ENOSYS);
	}
	uint32_t want = by_rules(t, data, &one);
	t->of_two_minds += !one;
	if (one && theirs != want && !is_too_young(t, data->nr) && t->odd++ == 0)
		printf("# libseccomp: call %d of %s, arguments 0x%llx 0x%llx 0x%llx: 0x%x, the rules 0x%x\n", data->nr, t->arch->name,
		       data->args[0], data->args[1], data->args[2], theirs, want);
	if (ours == want)
		return true;
	printf("# call %d, arguments 0x%llx 0x%llx 0x%llx 0x%llx: cloche says 0x%x, the rules 0x%x, libseccomp 0x%x\n", data->nr, data->args[0],
	       data->args[1], data->args[2], data->args[3], ours, want, theirs);
	return false;
}

/* --- trials ------------------------------------------------------------------------------------------------------------ */

static bool is_old_libseccomp(void)
{
	const struct scmp_version *v = seccomp_version();

	return v->major < 2 || (v->major == 2 && (v->minor < 6 || (v->minor == 6 && v->micro < 1)));
}

/* Reads @text in all three ways, and asks. False when they differ. */
static bool try_filter(const char *text, size_t len, const struct filter_arch *arch, unsigned long *tried)
{
	_cleanup_buf_ struct buf notes = BUF_INIT(FILTERFORM_NOTES_MAX);
	const struct filter_profile *profiles[] = { &trial.profile };
	struct err err = { 0 };
	cJSON *root = cJSON_ParseWithLength(text, len);

	trial.arch = arch;
	if (!root)
		return false;
	read_plain(&trial, root);
	cJSON_Delete(root);
	if (docker_filter(text, len, arch, filterform_kernel(6, 1), &trial.profile, &notes, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	int n = filter_compile(&trial.profile, false, trial.ours, ARRAY_LEN(trial.ours));
	trial.ours_len = n > 0 ? (size_t) n : 0;
	return n > 0 && build_theirs(&trial) && sweep_calls(profiles, 1, check, &trial, tried) == 0;
}

static void report(struct tap *t, const char *what, bool same, unsigned long tried)
{
	bool ok = same && tried > 0 && (trial.odd == 0 || is_old_libseccomp());

	tap_ok(t, ok, "%s: cloche, libseccomp and the rules agree (%lu questions)", what, tried);
	if (trial.of_two_minds)
		printf("# %lu times the rules that hold were of two minds: the strictest counts\n", trial.of_two_minds);
	if (trial.odd)
		printf("# %lu times libseccomp %u.%u.%u was wrong\n", trial.odd, seccomp_version()->major, seccomp_version()->minor,
		       seccomp_version()->micro);
	trial.odd = trial.of_two_minds = 0;
}

#define RULE(name, action, args) "{\"names\":[\"" name "\"],\"action\":\"SCMP_ACT_" action "\",\"args\":[" args "]}"
#define ARG(index, op, value, two) \
	"{\"index\":" #index ",\"op\":\"SCMP_CMP_" op "\",\"value\":" #value ",\"valueTwo\":" #two "}"
#define FILTER(action, rules) "{\"defaultAction\":\"SCMP_ACT_" action "\",\"syscalls\":[" rules "]}"

static const struct {
	const char *what;
	const char *text;
} shapes[] = {
	{ "nothing but a default", FILTER("ALLOW", "") },
	{ "no call allowed", FILTER("ERRNO", "") },
	{ "a rule without conditions in front", FILTER("ERRNO", RULE("read", "ALLOW", "") "," RULE("read", "LOG", ARG(0, "EQ", 1, 0))) },
	{ "a rule without conditions behind", FILTER("ERRNO", RULE("read", "LOG", ARG(0, "EQ", 1, 0)) "," RULE("read", "ALLOW", "")) },
	{ "two rules without conditions", FILTER("ERRNO", RULE("read", "LOG", "") "," RULE("read", "ALLOW", "")) },
	{ "a rule that says what the default says",
	  FILTER("ERRNO", RULE("read", "ERRNO", "") "," RULE("read", "ALLOW", ARG(0, "EQ", 1, 0))) },
	{ "two conditions on one argument", FILTER("ERRNO", RULE("write", "ALLOW", ARG(1, "GE", 3, 0) "," ARG(1, "LE", 5, 0))) },
	{ "conditions on two arguments", FILTER("ERRNO", RULE("write", "ALLOW", ARG(1, "GE", 3, 0) "," ARG(2, "LE", 5, 0))) },
	{ "64 bits", FILTER("ERRNO", RULE("write", "ALLOW", ARG(1, "GT", 4294967296, 0)) "," RULE("read", "ALLOW", ARG(1, "LT", 4294967295, 0)) ","
				    RULE("lseek", "ALLOW", ARG(0, "NE", 18446744073709551615, 0)) ","
				    RULE("close", "ALLOW", ARG(0, "LE", 9223372036854775808, 0))) },
	{ "a mask of 64 bits", FILTER("ALLOW", RULE("write", "ERRNO", ARG(0, "MASKED_EQ", 281474976710655, 281470681743361))) },
	{ "a value outside its mask", FILTER("ERRNO", RULE("write", "ALLOW", ARG(0, "MASKED_EQ", 15, 255))) },
	{ "a mask of nothing", FILTER("ERRNO", RULE("write", "ALLOW", ARG(0, "MASKED_EQ", 0, 0))) },
	{ "a number that does not fit in a double",
	  FILTER("ERRNO", RULE("write", "ALLOW", ARG(0, "EQ", 18446744073709551615, 0))) },
	{ "every action",
	  FILTER("ERRNO", RULE("read", "KILL", "") "," RULE("write", "KILL_PROCESS", "") "," RULE("open", "TRAP", "") ","
			  RULE("close", "LOG", "") "," RULE("lseek", "ALLOW", "")) },
};

static void test_shapes(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		unsigned long tried = 0;
		bool same = true;

		for (size_t a = 0; a < ARRAY_LEN(filter_arches); a++)
			same &= try_filter(shapes[i].text, strlen(shapes[i].text), &filter_arches[a], &tried);
		report(t, shapes[i].what, same, tried);
	}
}

static void test_file(struct tap *t, const char *path)
{
	static char text[TEXT_MAX];
	ssize_t n = fd_read_text(AT_FDCWD, path, text, sizeof(text));
	const char *slash = strrchr(path, '/');

	for (size_t a = 0; a < ARRAY_LEN(filter_arches); a++) {
		unsigned long tried = 0;
		char what[256];
		bool same = n > 0 && try_filter(text, (size_t) n, &filter_arches[a], &tried);

		(void) snprintf(what, sizeof(what), "%s for %s", slash ? slash + 1 : path, filter_arches[a].name);
		report(t, what, same, tried);
	}
}

/* A condition with numbers at the borders of 32 and 64 bits. */
static void random_arg(struct seeded *s, struct buf *b)
{
	static const char *const ops[] = { "EQ", "NE", "LT", "LE", "GT", "GE", "MASKED_EQ" };
	static const uint64_t values[] = {
		0, 1, 2, 5, 0xff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000, 0x100000001, 0x1ffffffff,
		UINT64_C(0x8000000000000000), UINT64_C(0x7ffffffffffff800), UINT64_MAX,
	};
	const char *op = ops[seeded_below(s, ARRAY_LEN(ops))];

	buf_addf(b, "{\"index\":%zu,\"op\":\"SCMP_CMP_%s\",\"value\":%llu,\"valueTwo\":%llu}", seeded_below(s, 3), op,
		 (unsigned long long) values[seeded_below(s, ARRAY_LEN(values))],
		 (unsigned long long) values[seeded_below(s, ARRAY_LEN(values))]);
}

static void random_filter(struct seeded *s, struct buf *b)
{
	static const char *const names[] = { "read", "write", "ioctl", "socket", "clone", "prctl" };
	static const char *const actions[] = { "ALLOW", "ALLOW", "ERRNO", "LOG", "KILL_PROCESS" };
	size_t rules = 1 + seeded_below(s, 8);

	buf_addf(b, "{\"defaultAction\":\"SCMP_ACT_%s\",\"syscalls\":[", actions[seeded_below(s, ARRAY_LEN(actions))]);
	for (size_t i = 0; i < rules; i++) {
		const char *action = actions[seeded_below(s, ARRAY_LEN(actions))];
		size_t args = seeded_below(s, 4);

		buf_addf(b, "%s{\"names\":[\"%s\"],\"action\":\"SCMP_ACT_%s\",\"args\":[", i == 0 ? "" : ",",
			 names[seeded_below(s, ARRAY_LEN(names))], action);
		for (size_t k = 0; k < args; k++) {
			buf_add_str(b, k == 0 ? "" : ",");
			random_arg(s, b);
		}
		buf_add_str(b, "]}");
	}
	buf_add_str(b, "]}");
}

static void test_random(struct tap *t)
{
	struct seeded s = { .state = 20261129 };
	unsigned long tried = 0;
	bool same = true;

	for (unsigned int i = 0; i < RANDOM_FILTERS && same; i++) {
		_cleanup_buf_ struct buf b = BUF_INIT(TEXT_MAX);

		random_filter(&s, &b);
		same = try_filter(buf_cstr(&b), b.len, &filter_arches[i % ARRAY_LEN(filter_arches)], &tried);
		if (!same)
			printf("# %s\n", buf_cstr(&b));
	}
	report(t, "filters that were made up", same, tried);
}

#if ATTR_SANITIZED
/* libseccomp 2.5 keeps memory of rules that it has merged. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libseccomp";
}
#endif

int main(int argc, char *argv[])
{
	struct tap t = { 0 };

	if (argc < 2) {
		(void) fprintf(stderr, "usage: user FILE...\n");
		return 2;
	}
	test_shapes(&t);
	test_random(&t);
	for (int i = 1; i < argc; i++)
		test_file(&t, argv[i]);
	return tap_end(&t);
}
