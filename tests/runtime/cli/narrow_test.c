/*
 * What a profile in a workspace may do: for every option that a profile may hold, what takes away passes, what gives does not, and
 * an option of which nobody can tell is refused.
 */
#include "runtime/cli/narrow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cli/command.h"
#include "runtime/cli/options.h"
#include "tests/harness/unit.h"

enum { LINE_SIZE = 256, CASES_MAX = 8 };

static struct options options;
static struct err err;

static void say(const char *line)
{
	static char words[2][LINE_SIZE];
	static size_t turn;
	char *argv[] = { words[turn++ % 2] };

	(void) snprintf(argv[0], LINE_SIZE, "%s", line);
	ck_assert_msg(opt_parse(options_table, GROUP_IN_PROFILE, OPT_PERMUTE, &options, 1, argv, &err) == 0, "%s: %s", line, err.text);
}

/* @before and @after are values of the same option; NULL for what holds by default. */
static int compare(const char *name, const char *before, const char *after)
{
	char line[LINE_SIZE];

	options_done(&options);
	options_init(&options);
	memset(&err, 0, sizeof(err));
	if (before) {
		(void) snprintf(line, sizeof(line), "--%s=%s", name, before);
		say(line);
	}
	struct spec then = options.spec;
	(void) snprintf(line, sizeof(line), "--%s=%s", name, after);
	say(line);
	return narrow_check(name, &then, &options.spec, &err);
}

static const struct rule {
	const char *name;
	const char *less[CASES_MAX][2], *more[CASES_MAX][2]; /* before, after */
} rules[] = {
	{ "memory", { { NULL, "4g" }, { NULL, "6m" }, { "1g", "1g" }, { "0", "1t" }, { "0", "0" } },
	  { { NULL, "0" }, { NULL, "5g" }, { "1g", "1073741825" }, { "6m", "0" } } },
	{ "memory-swap", { { NULL, "0" }, { NULL, "4g" }, { "6g", "5g" }, { "6g", "6g" }, { "-1", "-1" }, { "-1", "100g" }, { "6g", "0" } },
	  { { NULL, "5g" }, { NULL, "3g" }, { NULL, "-1" }, { "6g", "7g" }, { "6g", "-1" }, { "4g", "5g" } } },
	{ "cpu-shares", { { NULL, "1024" }, { NULL, "0" }, { NULL, "2" }, { "2048", "2048" }, { "2048", "0" } },
	  { { NULL, "1025" }, { "512", "0" }, { "512", "513" } } },
	{ "command-memory", { { NULL, "1g" }, { NULL, "0" }, { "1g", "1g" }, { "1g", "6m" } }, { { "1g", "0" }, { "1g", "2g" } } },
	{ "command-cpus", { { NULL, "2" }, { "2", "0.5" } }, { { "0.5", "0.501" }, { "1", "4096" } } },
	{ "command-pids-limit", { { NULL, "5" }, { NULL, "-1" }, { "5", "5" } }, { { "5", "6" }, { "5", "-1" }, { "5", "0" } } },
	{ "require-limits", { { NULL, "true" }, { NULL, "false" }, { "true", "true" } }, { { "true", "false" } } },
	{ "cpus", { { NULL, "4096" }, { "2", "2" }, { "2", "0.5" } }, { { "1", "1.001" }, { "0.5", "4096" } } },
	{ "pids-limit", { { NULL, "512" }, { NULL, "1" }, { "-1", "4194304" } }, { { NULL, "513" }, { NULL, "-1" }, { "1", "0" } } },
	{ "shm-size", { { NULL, "256m" }, { NULL, "4k" } }, { { NULL, "257m" }, { "4k", "8k" } } },
	{ "tmpfs", { { NULL, "/tmp:noexec" }, { NULL, "/tmp:size=1g" }, { NULL, "/dev/shm:size=1m,noexec" }, { NULL, "/workspace:size=1m" },
		     { "/tmp:noexec", "/tmp:size=1m" }, { "/home/agent:noexec", "/home/agent:noexec" } },
	  { { NULL, "/tmp:size=2g" }, { NULL, "/new" }, { "/tmp:noexec", "/tmp:exec" }, { "/home/agent:noexec", "/home/agent:exec" },
	    { "/dev/shm:size=4k,noexec", "/dev/shm:exec" }, { "/dev/shm:size=4k", "/dev/shm:size=8k" }, { NULL, "/workspace:size=2g" } } },
	{ "ulimit", { { NULL, "nofile=10" }, { NULL, "cpu=5" }, { NULL, "nofile=4096:65536" }, { "stack=5:6", "stack=5:6" } },
	  { { NULL, "nofile=4097:65536" }, { NULL, "nofile=1:65537" }, { NULL, "nice=1" }, { "stack=5:6", "stack=-1" } } },
	{ "workspace-mode", { { NULL, "rw" }, { NULL, "ro" }, { NULL, "tmpfs" }, { "ro", "tmpfs" }, { "ro", "ro" } },
	  { { "ro", "rw" }, { "tmpfs", "ro" }, { "tmpfs", "rw" } } },
	{ "network", { { NULL, "none" } }, { { NULL, NULL } } },
	{ "protect", { { NULL, "a" }, { "a", "b/c" } }, { { NULL, NULL } } },
	{ "allow-debug", { { NULL, "false" }, { "true", "false" }, { "true", "true" } }, { { NULL, "true" }, { "false", "true" } } },
};

/* The sizes of folders follow the memory limit: what is compared is what would be there, not what was written. */
START_TEST(test_sizes_are_those_that_would_be_there)
{
	options_done(&options);
	options_init(&options);
	say("--memory=512m");
	struct spec before = options.spec;
	say("--tmpfs=/tmp:size=1g");
	ck_assert_int_eq(narrow_check("tmpfs", &before, &options.spec, &err), -EPERM);
	say("--tmpfs=/tmp:size=128m");
	ck_assert_int_eq(narrow_check("tmpfs", &before, &options.spec, &err), 0);
	say("--shm-size=256m");
	ck_assert_int_eq(narrow_check("shm-size", &before, &options.spec, &err), -EPERM);
	say("--shm-size=32m");
	ck_assert_int_eq(narrow_check("shm-size", &before, &options.spec, &err), 0);
	/* Less memory and a folder that is larger than it would have been then, but smaller than without the profile. */
	say("--memory=256m");
	ck_assert_int_eq(narrow_check("memory", &before, &options.spec, &err), 0);
	ck_assert_int_eq(narrow_check("tmpfs", &before, &options.spec, &err), 0);
	options_done(&options);
}
END_TEST

/* A folder in memory, or a volume, that the user gave is not replaced by another at its place. */
START_TEST(test_mounts_stay_what_they_are)
{
	static const struct {
		const char *line;
		int wanted;
	} cases[] = {
		{ "--tmpfs=/tmp:size=4k", 0 },
		{ "--tmpfs=/more:size=2m", -EPERM },
		{ "--tmpfs=/more:size=4k", -EPERM }, /* nobody needs it, and it would have to be compared */
		{ "--tmpfs=/data:size=4k", -EPERM },
		{ "--tmpfs=/new:size=4k", -EPERM },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		options_done(&options);
		options_init(&options);
		say("--volume=/usr/share:/data:ro");
		say("--tmpfs=/more:size=1m");
		spec_settle_mounts(&options.spec);
		struct spec before = options.spec;
		say(cases[i].line);
		ck_assert_msg(narrow_check("tmpfs", &before, &options.spec, &err) == cases[i].wanted, "%s", cases[i].line);
	}
	options_done(&options);
}
END_TEST

static const struct rule *rule_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}

START_TEST(test_less_passes_more_does_not)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const struct rule *r = &rules[i];
		for (size_t j = 0; j < CASES_MAX && r->less[j][1]; j++)
			ck_assert_msg(compare(r->name, r->less[j][0], r->less[j][1]) == 0, "%s from %s to %s: %s", r->name,
				      r->less[j][0] ? r->less[j][0] : "the default", r->less[j][1], err.text);
		for (size_t j = 0; j < CASES_MAX && r->more[j][1]; j++) {
			ck_assert_msg(compare(r->name, r->more[j][0], r->more[j][1]) == -EPERM, "%s from %s to %s", r->name,
				      r->more[j][0] ? r->more[j][0] : "the default", r->more[j][1]);
			ck_assert_msg(strstr(err.text, "may only take away") != NULL, "%s", err.text);
		}
	}
	options_done(&options);
}
END_TEST

/* A new option of profiles is refused here until somebody writes a rule, and a row above. */
START_TEST(test_every_other_option_is_refused)
{
	size_t refused = 0;

	options_init(&options);
	for (const struct opt *o = options_table; o->name; o++) {
		if (!(o->groups & GROUP_IN_PROFILE) || rule_of(o->name))
			continue;
		ck_assert_msg(narrow_check(o->name, &options.spec, &options.spec, &err) == -EPERM, "--%s", o->name);
		ck_assert_ptr_nonnull(strstr(err.text, "only you may say this"));
		refused++;
	}
	ck_assert_uint_gt(refused, 3); /* env, user, volume, security-opt at least */
	options_done(&options);
}
END_TEST

UNIT_MAIN("runtime/cli/narrow", test_less_passes_more_does_not, test_sizes_are_those_that_would_be_there, test_mounts_stay_what_they_are,
	  test_every_other_option_is_refused)
