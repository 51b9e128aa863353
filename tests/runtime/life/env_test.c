/*
 * The environment of everything inside: what is always set, the two variables that may come from ours, and what the caller sets.
 */
#include "runtime/life/env.h"

#include <stdio.h>
#include <string.h>

#include "tests/harness/unit.h"

/* The value of @name, or NULL; fails when it is set twice. */
static const char *value_of(const struct env_block *block, const char *name)
{
	const char *found = NULL;
	size_t len = strlen(name);

	for (size_t i = 0; i < block->count; i++) {
		if (strncmp(block->vars[i], name, len) != 0 || block->vars[i][len] != '=')
			continue;
		ck_assert_msg(!found, "%s twice", name);
		found = block->vars[i] + len + 1;
	}
	return found;
}

static const struct env_block *build(const struct spec *spec, bool for_agent)
{
	static struct env_block block;

	memset(&block, 0xa5, sizeof(block));
	env_build(&block, spec, for_agent);
	ck_assert_uint_le(block.count, ENV_BLOCK_MAX);
	ck_assert_ptr_null(block.vars[block.count]);
	return &block;
}

START_TEST(test_closed)
{
	static const char *const allowed[] = { "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "container", "TZ", "TERM",
					       "ASAN_OPTIONS", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "DEBIAN_FRONTEND" };
	struct spec spec;

	spec_init(&spec);
	ck_assert_int_eq(setenv("PATH", "/evil", 1) | setenv("HOME", "/root", 1) | setenv("AWS_SECRET_ACCESS_KEY", "x", 1) |
			 setenv("LD_PRELOAD", "/evil.so", 1) | setenv("SSH_AUTH_SOCK", "/run/agent", 1), 0);
	for (int for_agent = 0; for_agent < 2; for_agent++) {
		const struct env_block *block = build(&spec, for_agent);
		for (size_t i = 0; i < block->count; i++) {
			bool known = false;
			for (size_t j = 0; j < ARRAY_LEN(allowed); j++)
				known |= strncmp(block->vars[i], allowed[j], strlen(allowed[j])) == 0 &&
					 block->vars[i][strlen(allowed[j])] == '=';
			ck_assert_msg(known, "'%s'", block->vars[i]);
		}
		ck_assert_ptr_null(strstr(value_of(block, "PATH"), "evil"));
		ck_assert_str_eq(value_of(block, "HOME"), SPEC_HOME);
		ck_assert_str_eq(value_of(block, "USER"), SPEC_USER);
	}
}
END_TEST

START_TEST(test_agent_and_person)
{
	struct spec spec;

	spec_init(&spec);
	ck_assert_int_eq(setenv("TERM", "xterm-256color", 1), 0);
	ck_assert_str_eq(value_of(build(&spec, true), "TERM"), "dumb");
	ck_assert_str_eq(value_of(build(&spec, true), "GIT_TERMINAL_PROMPT"), "0");
	ck_assert_str_eq(value_of(build(&spec, false), "TERM"), "xterm-256color");
	ck_assert_ptr_null(value_of(build(&spec, false), "PAGER"));
	ck_assert_int_eq(unsetenv("TERM"), 0);
	ck_assert_ptr_null(value_of(build(&spec, false), "TERM"));
}
END_TEST

/* TZ and TERM come from outside: only plain, short values do. */
START_TEST(test_inherited_values)
{
	static const char sixty_four[] = "0123456789012345678901234567890123456789012345678901234567890123";
	static const char sixty_five[] = "01234567890123456789012345678901234567890123456789012345678901234";
	static const struct {
		const char *value;
		bool passed;
	} cases[] = {
		{ "UTC", true }, { "Europe/Berlin", true }, { "CET-1CEST,M3.5.0,M10.5.0/3", true }, { "Etc/GMT+1", true },
		{ ":UTC", true }, { "xterm_x", true }, { sixty_four, true }, { sixty_five, false }, { "", false },
		{ "a b", false }, { "a\nB=1", false }, { "a\x1b[0m", false }, { "$(id)", false }, { "<+03>-3", false },
		{ "\xc3\xa4", false }, { "a=b", false },
	};
	static const char *const names[] = { "TZ", "TERM" };
	struct spec spec;

	spec_init(&spec);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t j = 0; j < ARRAY_LEN(names); j++) {
			ck_assert_int_eq(setenv(names[j], cases[i].value, 1), 0);
			ck_assert_pstr_eq(value_of(build(&spec, false), names[j]), cases[i].passed ? cases[i].value : NULL);
			ck_assert_int_eq(unsetenv(names[j]), 0);
		}
	}
}
END_TEST

START_TEST(test_leak_check_follows_debugging)
{
	struct spec spec;

	spec_init(&spec);
	ck_assert_str_eq(value_of(build(&spec, false), "ASAN_OPTIONS"), "detect_leaks=0");
	spec.allow_debug = true;
	ck_assert_ptr_null(value_of(build(&spec, false), "ASAN_OPTIONS"));
}
END_TEST

START_TEST(test_caller_has_the_last_word)
{
	struct spec spec;

	spec_init(&spec);
	ck_assert_int_eq(setenv("TZ", "UTC", 1), 0);
	ck_assert_int_eq(spec_add_env(&spec, "TZ=Asia/Tokyo", NULL) | spec_add_env(&spec, "HOME=/tmp", NULL) |
			 spec_add_env(&spec, "PAGER=", NULL) | spec_add_env(&spec, "HOM=1", NULL), 0);
	const struct env_block *block = build(&spec, true);
	ck_assert_str_eq(value_of(block, "TZ"), "Asia/Tokyo");
	ck_assert_str_eq(value_of(block, "HOME"), "/tmp");
	ck_assert_str_eq(value_of(block, "PAGER"), "");
	ck_assert_str_eq(value_of(block, "HOM"), "1");
}
END_TEST

/* As many variables as a specification may hold, beside all of ours. */
START_TEST(test_full)
{
	static char names[SPEC_ENV_MAX][16];
	struct spec spec;

	spec_init(&spec);
	ck_assert_int_eq(setenv("TZ", "UTC", 1), 0);
	for (size_t i = 0; i < SPEC_ENV_MAX; i++) {
		(void) snprintf(names[i], sizeof(names[i]), "V%zu=x", i);
		ck_assert_int_eq(spec_add_env(&spec, names[i], NULL), 0);
	}
	const struct env_block *block = build(&spec, true);
	for (size_t i = 0; i < SPEC_ENV_MAX; i++)
		ck_assert_ptr_eq(block->vars[block->count - SPEC_ENV_MAX + i], names[i]);
	ck_assert_str_eq(value_of(block, "TZ"), "UTC");
	ck_assert_str_eq(value_of(block, "TERM"), "dumb");
}
END_TEST

UNIT_MAIN("runtime/life/env", test_closed, test_agent_and_person, test_inherited_values, test_leak_check_follows_debugging,
	  test_caller_has_the_last_word, test_full)
