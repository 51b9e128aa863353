/*
 * The filter compiler: what it refuses to read, and that its programs mean what the rules say.
 *
 *     compiler PROFILE...      the profiles to sweep, beside the ones that are written here
 *
 * The sweep (sweep.h) evaluates each program, in both forms and for every architecture, in the simulator for every number of a
 * call and many arguments, and compares it with the rules applied one by one.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "runtime/compile/filter_code.h"
#include "tests/filter/bpf_sim.h"
#include "tests/filter/sweep.h"
#include "tests/harness/tap.h"
#include "tools/build/filter_profile.h"

static struct filter_profile profile;
static struct sock_filter prog[BPF_MAXINSNS], notify_prog[BPF_MAXINSNS];

#define HEAD                                                                                                           \
	"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,"                                                \
	"\"architectures\":[\"SCMP_ARCH_X86_64\",\"SCMP_ARCH_AARCH64\",\"SCMP_ARCH_ARM\",\"SCMP_ARCH_RISCV64\"],\"syscalls\":["
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
	{ "a denial that pretends success under a condition",
	  HEAD "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":0,\"comment\":\"x\",\"args\":[" ARG(0, 1, 1) "]}" TAIL,
	  NULL },
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
	{ "a comparison with NULL",
	  HEAD ALLOW_IF("read", "{\"index\":0,\"value\":0,\"valueTwo\":0,\"op\":\"SCMP_CMP_EQ\"}") TAIL, NULL },
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

struct programs {
	size_t len;
	size_t notify_len;
};

/* The form with a listener answers as the plain one, but where a rule refuses with an errno that is explained. */
static uint32_t as_notified(uint32_t action, const struct seccomp_data *data)
{
	bool explained = action == (SECCOMP_RET_ERRNO | EPERM) || action == (SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	struct filter_profile *p = &profile;
	uint32_t default_action = p->default_action;

	/* The same action as a default is not a rule's: asked again with a default that no rule has. */
	p->default_action = SECCOMP_RET_LOG;
	bool by_rule = sweep_expected(p, data) != SECCOMP_RET_LOG;
	p->default_action = default_action;
	return explained && by_rule ? SECCOMP_RET_USER_NOTIF : action;
}

static bool check(const struct seccomp_data *data, void *userdata)
{
	const struct programs *programs = userdata;
	uint32_t got = 0, got_notify = 0;
	uint32_t want = sweep_expected(&profile, data);

	if (bpf_sim_run(prog, programs->len, data, &got) >= 0 && got == want &&
	    (programs->notify_len == 0 || (bpf_sim_run(notify_prog, programs->notify_len, data, &got_notify) >= 0 &&
					   got_notify == as_notified(want, data))))
		return true;
	printf("# call %d of 0x%x, arguments 0x%llx 0x%llx 0x%llx 0x%llx: 0x%x and 0x%x, the rules say 0x%x\n", data->nr, data->arch,
	       data->args[0], data->args[1], data->args[2], data->args[3], got, got_notify, want);
	return false;
}

static void sweep(struct tap *t, const char *what, size_t len)
{
	const struct filter_profile *profiles[] = { &profile };
	struct programs programs = { .len = len };
	unsigned long tried = 0;
	int n = filter_compile(&profile, true, notify_prog, ARRAY_LEN(notify_prog));

	programs.notify_len = n > 0 ? (size_t) n : 0;
	unsigned int wrong = sweep_calls(profiles, 1, check, &programs, &tried);
	tap_ok(t, wrong == 0 && n > 0, "%s for %s: %u calls in %zu instructions mean what the rules say, tried %lu times", what,
	       profile.arch->name, profile.ncalls, len, tried);
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

static void test_compiled(struct tap *t, const char *what)
{
	int r = filter_compile(&profile, false, prog, ARRAY_LEN(prog));

	if (r < 0) {
		tap_ok(t, false, "%s for %s is compiled", what, profile.arch->name);
		return;
	}

	int again = filter_compile(&profile, false, prog, (size_t) r - 1);

	tap_ok(t, again == -E2BIG, "%s for %s does not fit into %d instructions", what, profile.arch->name, r - 1);
	r = filter_compile(&profile, false, prog, ARRAY_LEN(prog));
	sweep(t, what, (size_t) r);
}

static void test_shape(struct tap *t, const struct filter_arch *arch, const char *what, const char *text)
{
	struct err err = { 0 };

	if (filter_profile_parse(text, strlen(text), arch, &profile, &err) < 0)
		tap_ok(t, false, "%s for %s is read: %s", what, arch->name, err.text);
	else
		test_compiled(t, what);
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
				.cond = { { FILTER_MASKED_EQ, 0, 0xff, i & 0xff }, { FILTER_MASKED_EQ, 1, UINT32_MAX, i } },
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
		r = filter_compile(&profile, false, prog, ARRAY_LEN(prog));
		for (uint32_t nr = 0; nr <= 2 * n && r > 0; nr++) {
			struct seccomp_data data = { .nr = (int) nr, .arch = arch->audit };

			data.args[0] = nr / 2;
			data.args[1] = nr % 4 ? nr / 2 : 0;
			wrong += !check(&data, &(struct programs) { .len = (size_t) r });
		}
	}
	tap_ok(t, wrong == 0 && r > 1000, "programs of every size, up to %d instructions, jump where they should", r);
	if (r > 0)
		sweep(t, "the largest profile", (size_t) r);
}

static void test_file(struct tap *t, const struct filter_arch *arch, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct err err = { 0 };

	if (filter_profile_load(path, arch, &profile, &err) < 0)
		tap_ok(t, false, "%s for %s is read: %s", path, arch->name, err.text);
	else
		test_compiled(t, slash ? slash + 1 : path);
}

int main(int argc, char *argv[])
{
	struct tap t = { 0 };

	test_reading(&t, &filter_arches[0]);
	for (size_t a = 0; a < ARRAY_LEN(filter_arches); a++) {
		for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
			test_shape(&t, &filter_arches[a], shapes[i].what, shapes[i].text);
		for (int i = 1; i < argc; i++)
			test_file(&t, &filter_arches[a], argv[i]);
	}
	test_far_jumps(&t, &filter_arches[0]);
	return tap_end(&t);
}
