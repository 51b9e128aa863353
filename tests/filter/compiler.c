/*
 * The filter compiler: what it refuses to read, and that its programs mean what the rules say.
 *
 *     compiler PROFILE...      the profiles to sweep, beside the ones that are written here
 *
 * The sweep evaluates each program in the simulator for every number of a call and many arguments (all masks and
 * values of the profile, one more and one less, with and without a high half) and compares it with the rules
 * applied one by one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "tests/filter/bpf_sim.h"
#include "tests/harness/tap.h"
#include "tools/build/filter_code.h"
#include "tools/build/filter_profile.h"

enum { NR_LAST = 1100, VALUES_MAX = 512, X32 = 0x40000000 };

static struct filter_profile profile;
static struct sock_filter prog[BPF_MAXINSNS];

#define HEAD                                                                                                           \
	"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,"                                                \
	"\"architectures\":[\"SCMP_ARCH_X86_64\",\"SCMP_ARCH_AARCH64\"],\"syscalls\":["
#define ALLOW(name) "{\"names\":[\"" name "\"],\"action\":\"SCMP_ACT_ALLOW\"}"
#define ALLOW_IF(name, arg)                                                                                            \
	"{\"names\":[\"" name "\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[" arg "]}"
#define ARG(index, mask, value)                                                                                        \
	"{\"index\":" #index ",\"value\":" #mask ",\"valueTwo\":" #value ",\"op\":\"SCMP_CMP_MASKED_EQ\"}"
#define TAIL "]}"

static const struct {
	const char *what;
	const char *text;
	const char *because; /* what the message must contain; NULL: it is accepted */
} readings[] = {
	{ "no rules at all", HEAD TAIL, NULL },
	{ "one rule", HEAD ALLOW("read") TAIL "\n", NULL },
	{ "a call of another architecture", HEAD ALLOW("cacheflush") TAIL, NULL },
	{ "not JSON", "{", "not JSON" },
	{ "nothing", "", "not JSON" },
	{ "an array", "[]", "not an object" },
	{ "two objects", HEAD TAIL "{}", "something follows" },
	{ "a member too many", "{\"archMap\":[]}", "'archMap' is not known" },
	{ "a member in other letters", "{\"DefaultAction\":\"SCMP_ACT_ERRNO\"}", "'DefaultAction' is not known" },
	{ "a member twice", "{\"defaultErrnoRet\":1,\"defaultErrnoRet\":1}", "is there twice" },
	{ "a member missing", "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}", "'architectures' is missing" },
	{ "a wrong type", "{\"defaultAction\":38}", "wrong type" },
	{ "another architecture",
	  "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_S390X\"],\"syscalls\":[]}",
	  "not written for" },
	{ "a default errno without its action",
	  "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"defaultErrnoRet\":1,\"architectures\":[\"SCMP_ARCH_X86_64\","
	  "\"SCMP_ARCH_AARCH64\"],\"syscalls\":[]}", "belongs to SCMP_ACT_ERRNO" },
	{ "a call that nobody knows", HEAD ALLOW("raed") TAIL, "no system call 'raed'" },
	{ "a call in other letters", HEAD ALLOW("READ") TAIL, "no system call 'READ'" },
	{ "a rule that is reached never", HEAD ALLOW("read") "," ALLOW("read") TAIL, "never be reached" },
	{ "conditions after the rule without", HEAD ALLOW("read") "," ALLOW_IF("read", ARG(0, 1, 1)) TAIL,
	  "never be reached" },
	{ "conditions before the rule without", HEAD ALLOW_IF("read", ARG(0, 1, 1)) "," ALLOW("read") TAIL, NULL },
	{ "no names", HEAD "{\"names\":[],\"action\":\"SCMP_ACT_ALLOW\"}" TAIL, "'names' is empty" },
	{ "a name that is a number", HEAD "{\"names\":[3],\"action\":\"SCMP_ACT_ALLOW\"}" TAIL, "must hold strings" },
	{ "an unknown action", HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_TRAP\"}" TAIL,
	  "'SCMP_ACT_TRAP' is not known" },
	{ "a denial without its errno", HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"comment\":\"x\"}" TAIL,
	  "belongs to SCMP_ACT_ERRNO" },
	{ "a denial that pretends success",
	  HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":0,\"comment\":\"x\"}" TAIL,
	  "errno of 0" },
	{ "an errno that does not exist",
	  HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":134,\"comment\":\"x\"}" TAIL,
	  "from 0 to 133" },
	{ "an errno with a fraction",
	  HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1.5,\"comment\":\"x\"}" TAIL,
	  "whole number" },
	{ "a denial without a reason",
	  HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1}" TAIL, "needs a 'comment'" },
	{ "a kill without a reason", HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL_PROCESS\"}" TAIL,
	  "needs a 'comment'" },
	{ "a comparison of 64 bits",
	  HEAD ALLOW_IF("read", "{\"index\":0,\"value\":1,\"valueTwo\":0,\"op\":\"SCMP_CMP_EQ\"}") TAIL,
	  "all 64 bits" },
	{ "a mask of 33 bits", HEAD ALLOW_IF("read", ARG(0, 4294967296, 0)) TAIL, "from 0 to 4294967295" },
	{ "a negative mask", HEAD ALLOW_IF("read", ARG(0, -1, 0)) TAIL, "from 0 to 4294967295" },
	{ "a mask of nothing", HEAD ALLOW_IF("read", ARG(0, 0, 0)) TAIL, "compares nothing" },
	{ "a value outside its mask", HEAD ALLOW_IF("read", ARG(0, 1, 2)) TAIL, "never match" },
	{ "a seventh argument", HEAD ALLOW_IF("read", ARG(6, 1, 1)) TAIL, "from 0 to 5" },
	{ "empty args", HEAD ALLOW_IF("read", "") TAIL, "'args' is empty" },
	{ "an argument's member too many", HEAD ALLOW_IF("read", "{\"index\":0,\"x\":0}") TAIL, "'x' is not known" },
};

/* Programs whose jumps, loads and returns are made in every way that the compiler knows. */
static const struct {
	const char *what;
	const char *text;
} shapes[] = {
	{ "an empty profile", HEAD TAIL },
	{ "one call", HEAD ALLOW("read") TAIL },
	{ "two conditions on one argument", HEAD ALLOW_IF("ioctl", ARG(1, 255, 18) "," ARG(1, 65280, 21504)) TAIL },
	{ "a mask of several bits, then another",
	  HEAD ALLOW_IF("write", ARG(0, 12, 4)) "," ALLOW_IF("write", ARG(0, 48, 16)) ","
	  ALLOW_IF("write", ARG(0, 3, 0)) TAIL },
	{ "single bits in a row",
	  HEAD ALLOW_IF("write", ARG(0, 8, 8)) "," ALLOW_IF("write", ARG(0, 2147483648, 2147483648)) ","
	  ALLOW_IF("write", ARG(0, 4294967295, 5)) TAIL },
	{ "conjunctions that fail halfway",
	  HEAD ALLOW_IF("write", ARG(0, 4294967295, 1) "," ARG(1, 4294967295, 2) "," ARG(2, 4294967295, 3)) ","
	  ALLOW_IF("write", ARG(0, 4294967295, 1) "," ARG(2, 4294967295, 4)) ","
	  ALLOW_IF("write", ARG(1, 4294967295, 2)) TAIL },
	{ "every argument",
	  HEAD ALLOW_IF("sendto", ARG(0, 1, 1) "," ARG(1, 1, 0) "," ARG(2, 1, 1) "," ARG(3, 1, 0) "," ARG(4, 1, 1) ","
			ARG(5, 4294967295, 4294967295)) TAIL },
};

/* What the rules say, read one by one: the meaning of a profile, as filter_profile.h defines it. */
static uint32_t expected(const struct filter_profile *p, const struct seccomp_data *data)
{
	uint32_t nr = (uint32_t) data->nr;

	if (data->arch != p->arch->audit)
		return SECCOMP_RET_KILL_PROCESS;
	if (p->arch->has_x32 && nr >= X32 && nr != UINT32_MAX)
		return SECCOMP_RET_KILL_PROCESS;
	for (unsigned int i = 0; i < p->ncalls; i++) {
		if (p->call[i].nr != nr)
			continue;
		for (unsigned int j = 0; j < p->call[i].nrules; j++) {
			const struct filter_rule *rule = &p->call[i].rule[j];
			bool holds = true;

			for (unsigned int k = 0; k < rule->ncond; k++)
				if ((data->args[rule->cond[k].arg] & rule->cond[k].mask) != rule->cond[k].value)
					holds = false;
			if (holds)
				return rule->action;
		}
	}
	return p->default_action;
}

struct values {
	uint64_t v[VALUES_MAX];
	size_t n;
};

static void add_value(struct values *vs, uint64_t v)
{
	for (size_t i = 0; i < vs->n; i++)
		if (vs->v[i] == v)
			return;
	if (vs->n < VALUES_MAX)
		vs->v[vs->n++] = v;
}

/* What is worth trying as argument @arg of @call. */
static void collect(const struct filter_call *call, uint32_t arg, struct values *vs)
{
	vs->n = 0;
	add_value(vs, 0);
	add_value(vs, UINT64_MAX);
	for (unsigned int j = 0; j < call->nrules; j++) {
		for (unsigned int k = 0; k < call->rule[j].ncond; k++) {
			const struct filter_cond *c = &call->rule[j].cond[k];

			if (c->arg != arg)
				continue;
			add_value(vs, c->value);
			add_value(vs, c->value + 1U);
			add_value(vs, c->value - 1U);
			add_value(vs, c->value | 1ULL << 32);
			add_value(vs, c->mask);
			add_value(vs, (uint64_t) c->value << 32);
			add_value(vs, c->value | (uint32_t) ~c->mask);
			for (uint32_t bit = 1; bit != 0 && c->mask != UINT32_MAX; bit <<= 1)
				if (c->mask & bit)
					add_value(vs, c->value ^ bit);
		}
	}
}

/* Compares the program's verdict with the rules'. The number of differences, told to people for the first one. */
static unsigned int compare(size_t len, const struct seccomp_data *data)
{
	uint32_t got = 0;
	uint32_t want = expected(&profile, data);

	if (bpf_sim_run(prog, len, data, &got) >= 0 && got == want)
		return 0;
	printf("# call %d of 0x%x, arguments 0x%llx 0x%llx 0x%llx 0x%llx: 0x%x, the rules say 0x%x\n", data->nr,
	       data->arch, data->args[0], data->args[1], data->args[2], data->args[3], got, want);
	return 1;
}

/* All combinations of values for the arguments that @call looks at. */
static unsigned int sweep_call(size_t len, const struct filter_call *call, struct seccomp_data *data, uint32_t arg,
			       unsigned long *tried)
{
	struct values vs;
	unsigned int wrong = 0;

	if (arg == 6) {
		++*tried;
		return compare(len, data);
	}
	collect(call, arg, &vs);
	for (size_t i = 0; i < vs.n && wrong < 5; i++) {
		data->args[arg] = vs.v[i];
		wrong += sweep_call(len, call, data, arg + 1, tried);
		if (vs.n == 2) /* not looked at: one filler, another one for each call */
			break;
	}
	return wrong;
}

static void sweep(struct tap *t, const char *what, size_t len)
{
	static const uint32_t far[] = { X32 - 1, X32, X32 | 1, X32 | 59, INT32_MAX, 1U << 31, 0xfffffffe, UINT32_MAX };
	unsigned int wrong = 0;
	unsigned long tried = 0;

	for (uint32_t i = 0; i <= NR_LAST + ARRAY_LEN(far); i++) {
		uint32_t nr = i <= NR_LAST ? i : far[i - NR_LAST - 1];
		struct seccomp_data data = { .nr = (int) nr, .arch = profile.arch->audit };

		for (unsigned int a = 0; a < 6; a++)
			data.args[a] = 0x0123456789abcdefULL * (nr + a);
		wrong += compare(len, &data);
		data.arch = AUDIT_ARCH_I386;
		wrong += compare(len, &data);
		tried += 2;
	}
	for (unsigned int i = 0; i < profile.ncalls && wrong < 5; i++) {
		struct seccomp_data data = { .nr = (int) profile.call[i].nr, .arch = profile.arch->audit };

		wrong += sweep_call(len, &profile.call[i], &data, 0, &tried);
	}
	tap_ok(t, wrong == 0, "%s: %u calls in %zu instructions mean what the rules say, tried %lu times", what,
	       profile.ncalls, len, tried);
}

static void test_reading(struct tap *t, const struct filter_arch *arch)
{
	for (size_t i = 0; i < ARRAY_LEN(readings); i++) {
		struct err err = { 0 };
		int r = filter_profile_parse(readings[i].text, strlen(readings[i].text), arch, &profile, &err);
		const char *because = readings[i].because;
		bool ok = because ? r == -EINVAL && strstr(err.text, because) : r == 0;

		tap_ok(t, ok, "%s is %s", readings[i].what, because ? "refused" : "accepted");
		if (!ok)
			printf("# %d: %s\n", r, err.text);
	}
}

static void test_program(struct tap *t, const struct filter_arch *arch, const char *what, const char *text, size_t size)
{
	struct err err = { 0 };
	int r = filter_profile_parse(text, size, arch, &profile, &err);

	if (r == 0)
		r = filter_compile(&profile, prog, ARRAY_LEN(prog));
	if (r < 0) {
		tap_ok(t, false, "%s for %s is compiled: %s", what, arch->name, err.text);
		return;
	}

	int again = filter_compile(&profile, prog, (size_t) r - 1);

	tap_ok(t, again == -E2BIG, "%s for %s does not fit into %d instructions", what, arch->name, r - 1);
	r = filter_compile(&profile, prog, ARRAY_LEN(prog));
	sweep(t, what, (size_t) r);
}

/* @n calls, one every second number, with verdicts and conditions of their own: nothing can be merged. */
static void make_large(const struct filter_arch *arch, unsigned int n)
{
	memset(&profile, 0, sizeof(profile));
	profile.arch = arch;
	profile.default_action = SECCOMP_RET_ERRNO | ENOSYS;
	profile.ncalls = n;
	for (unsigned int i = 0; i < n; i++) {
		struct filter_call *c = &profile.call[i];

		c->nr = i * 2;
		c->nrules = i % 3 == 0 ? 2 : 1;
		if (c->nrules == 2)
			c->rule[0] = (struct filter_rule) {
				.action = SECCOMP_RET_ERRNO | EPERM,
				.ncond = 2,
				.cond = { { 0, 0xff, i & 0xff }, { 1, UINT32_MAX, i } },
			};
		c->rule[c->nrules - 1].action = i % 2 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (1 + i % 7);
	}
}

/* Programs of every size, so that jumps of every length are made: those just within reach, and those just beyond. */
static void test_far_jumps(struct tap *t, const struct filter_arch *arch)
{
	unsigned int wrong = 0;
	int r = 0;

	for (unsigned int n = 1; n <= FILTER_CALLS_MAX && wrong == 0; n++) {
		make_large(arch, n);
		r = filter_compile(&profile, prog, ARRAY_LEN(prog));
		for (uint32_t nr = 0; nr <= 2 * n && r > 0; nr++) {
			struct seccomp_data data = { .nr = (int) nr, .arch = arch->audit };

			data.args[0] = nr / 2;
			data.args[1] = nr % 4 ? nr / 2 : 0;
			wrong += compare((size_t) r, &data);
		}
	}
	tap_ok(t, wrong == 0 && r > 1000, "programs of every size, up to %d instructions, jump where they should", r);
	if (r > 0)
		sweep(t, "the largest profile", (size_t) r);
}

static void test_file(struct tap *t, const char *path)
{
	static const char *const names[] = { "x86_64", "aarch64" };
	static char text[FILTER_PROFILE_MAX];
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (n < 0) {
		tap_ok(t, false, "cannot read '%s': %s", path, strerror(errno));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		test_program(t, filter_arch_find(names[i]), path, text, (size_t) n);
}

int main(int argc, char *argv[])
{
	const struct filter_arch *arch = filter_arch_find(NULL);
	struct tap t = { 0 };

	if (!arch) {
		printf("1..0 # SKIP filters are made for x86_64 and aarch64 only\n");
		return 0;
	}
	test_reading(&t, arch);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		test_program(&t, arch, shapes[i].what, shapes[i].text, strlen(shapes[i].text));
	test_far_jumps(&t, arch);
	for (int i = 1; i < argc; i++)
		test_file(&t, argv[i]);
	return tap_end(&t);
}
