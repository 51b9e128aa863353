/*
 * How the built-in filters stand to each other, for every architecture and every call that may matter (sweep.h):
 *
 *     relations FOLDER      profiles/seccomp
 *
 * The floor under a user's filter is a part of the default; the filter of init lets pass whatever a command, the server or a
 * debugger may; debugging adds what it says it adds; what is refused for a reason tells an agent what to do instead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gen/filter_debug.h"
#include "gen/filter_default.h"
#include "gen/filter_floor.h"
#include "gen/filter_floor_debug.h"
#include "gen/filter_init.h"
#include "gen/filter_server.h"
#include "runtime/base/attr.h"
#include "runtime/compile/filter_code.h"
#include "runtime/spec/denial.h"
#include "tests/filter/sweep.h"
#include "tests/harness/tap.h"
#include "tools/build/filter_profile.h"

enum { FLOOR, FLOOR_DEBUG, DEFAULT, DEBUG, INIT, SERVER, PROFILES };

static const char *const names[PROFILES] = { "floor", "floor_debug", "default", "debug", "init", "server" };
static struct filter_profile profiles[PROFILES];

/* What the build has made of them for this machine. */
static const struct {
	const struct sock_filter *prog;
	size_t len;
} built[PROFILES] = {
	{ filter_floor, ARRAY_LEN(filter_floor) },     { filter_floor_debug, ARRAY_LEN(filter_floor_debug) },
	{ filter_default, ARRAY_LEN(filter_default) }, { filter_debug, ARRAY_LEN(filter_debug) },
	{ filter_init, ARRAY_LEN(filter_init) },       { filter_server, ARRAY_LEN(filter_server) },
};

/* A statement about the verdicts of two filters. */
struct relation {
	const char *what;
	int a, b;
	bool (*holds)(uint32_t a, uint32_t b);
};

static bool passes(uint32_t action)
{
	return action == SECCOMP_RET_ALLOW;
}

static bool a_refuses_as_b(uint32_t a, uint32_t b)
{
	return passes(a) || a == b;
}

static bool b_passes_what_a_passes(uint32_t a, uint32_t b)
{
	return !passes(a) || passes(b);
}

/* What gives way to a command's own filter: no errno, no listener. */
static bool b_traces_or_kills_or_passes(_unused_ uint32_t a, uint32_t b)
{
	return b == SECCOMP_RET_TRACE || b == SECCOMP_RET_KILL_PROCESS || passes(b);
}

static const struct relation relations[] = {
	{ "what the floor refuses, the default refuses in the same way", FLOOR, DEFAULT, a_refuses_as_b },
	{ "what the floor for debuggers refuses, the filter for debuggers refuses in the same way", FLOOR_DEBUG, DEBUG, a_refuses_as_b },
	{ "debuggers may what commands may", DEFAULT, DEBUG, b_passes_what_a_passes },
	{ "init lets pass what commands may", DEFAULT, INIT, b_passes_what_a_passes },
	{ "init lets pass what debuggers may", DEBUG, INIT, b_passes_what_a_passes },
	{ "init lets pass what the server may", SERVER, INIT, b_passes_what_a_passes },
	{ "init gives way to a filter that explains: it answers with no errno", FLOOR, INIT, b_traces_or_kills_or_passes },
};

static bool check(const struct seccomp_data *data, void *userdata)
{
	const struct relation *r = userdata;
	uint32_t a = sweep_expected(&profiles[r->a], data);
	uint32_t b = sweep_expected(&profiles[r->b], data);

	if (r->holds(a, b))
		return true;
	printf("# call %d of 0x%x, arguments 0x%llx 0x%llx 0x%llx 0x%llx: %s says 0x%x, %s says 0x%x\n", data->nr, data->arch, data->args[0],
	       data->args[1], data->args[2], data->args[3], names[r->a], a, names[r->b], b);
	return false;
}

/* What debugging adds is a short list. */
static bool check_added(const struct seccomp_data *data, void *userdata)
{
	static const char *const added[] = { "ptrace", "process_vm_readv", "process_vm_writev", "personality" };
	const struct filter_arch *arch = &filter_arches[*(const size_t *) userdata];

	if (sweep_expected(&profiles[DEFAULT], data) == sweep_expected(&profiles[DEBUG], data))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(added); i++)
		if (filter_call_number(arch, added[i]) == data->nr)
			return true;
	printf("# debugging also changes call %d of %s\n", data->nr, arch->name);
	return false;
}

static void test_arch(struct tap *t, const struct filter_arch *arch, const char *folder)
{
	unsigned long tried = 0;

	for (int i = 0; i < PROFILES; i++) {
		char path[4096];
		struct err err = { 0 };

		(void) snprintf(path, sizeof(path), "%s/%s.json", folder, names[i]);
		if (filter_profile_load(path, arch, &profiles[i], &err) < 0) {
			tap_ok(t, false, "%s for %s is read: %s", names[i], arch->name, err.text);
			return;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(relations); i++) {
		const struct filter_profile *both[] = { &profiles[relations[i].a], &profiles[relations[i].b] };
		struct relation relation = relations[i];
		unsigned int wrong = sweep_calls(both, 2, check, &relation, &tried);

		tap_ok(t, wrong == 0, "%s: %s (%lu questions)", arch->name, relations[i].what, tried);
	}
	const struct filter_profile *both[] = { &profiles[DEFAULT], &profiles[DEBUG] };
	size_t index = (size_t) (arch - filter_arches);

	tap_ok(t, sweep_calls(both, 2, check_added, &index, &tried) == 0, "%s: debugging adds four calls", arch->name);
}

static void test_built(struct tap *t)
{
	static struct sock_filter prog[BPF_MAXINSNS];

	for (int i = 0; i < PROFILES; i++) {
		int n = filter_compile(&profiles[i], false, prog, ARRAY_LEN(prog));

		tap_ok(t, n > 0 && (size_t) n == built[i].len && memcmp(prog, built[i].prog, (size_t) n * sizeof(prog[0])) == 0,
		       "the programs carry the filter '%s' as it is made here: %d instructions", names[i], n);
	}
}

/* Whatever a command is told no for comes with a name, a reason and something to do instead. */
static void test_reasons(struct tap *t)
{
	unsigned int told = 0, silent = 0;

	for (int p = DEFAULT; p <= DEBUG; p++) {
		for (unsigned int i = 0; i < profiles[p].ncalls; i++) {
			const struct filter_call *call = &profiles[p].call[i];
			const char *name = denial_call_name(call->nr);

			for (unsigned int j = 0; j < call->nrules; j++) {
				uint32_t action = call->rule[j].action;

				if (action != (SECCOMP_RET_ERRNO | EPERM) && action != (SECCOMP_RET_ERRNO | EAFNOSUPPORT))
					continue;
				const char *advice = denial_advice(call->nr, action & SECCOMP_RET_DATA);
				bool good = advice && strstr(advice, "Instead: ") && name && strcmp(name, call->name) == 0;
				if (!good)
					printf("# %s: '%s', '%s'\n", call->name, name ? name : "", advice ? advice : "");
				told += good;
				silent += !good;
			}
		}
	}
	tap_ok(t, told > 80 && silent == 0, "each of %u refusals has a name, a reason and something to do instead", told);
	tap_ok(t, !denial_advice(0, EPERM) && !denial_call_name(99999), "nothing is said about what is allowed or unknown");
}

int main(int argc, char *argv[])
{
	struct tap t = { 0 };

	if (argc != 2) {
		(void) fprintf(stderr, "usage: relations FOLDER\n");
		return 2;
	}
	for (size_t i = 0; i < ARRAY_LEN(filter_arches); i++)
		test_arch(&t, &filter_arches[i], argv[1]);
	/* This machine's once more: what follows compares with the programs of this build. */
	test_arch(&t, filter_arch_find(NULL), argv[1]);
	test_built(&t);
	test_reasons(&t);
	return tap_end(&t);
}
