/*
 * The closed environment of everything inside: see env.h. Runs in the launcher.
 */
#include "runtime/life/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/str.h"
#include "runtime/base/wall.h"

enum { ENV_INHERITED_MAX = 64 };

static const char *const always[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=" SPEC_HOME,
	"USER=" SPEC_USER,
	"LOGNAME=" SPEC_USER,
	"SHELL=/bin/sh",
	"LANG=C.UTF-8",
	"container=cloche",
};

/* The leak check at the end of a sanitized program traces its own process, which the filter refuses but with --allow-debug. */
#define NO_LEAK_CHECK "ASAN_OPTIONS=detect_leaks=0"

/* Programs must not wait for a key, ask for a password or draw for a terminal that is not there. */
static const char *const for_agents[] = {
	"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive",
};

/* Later settings replace earlier ones of the same name. */
static void set(struct env_block *block, const char *assignment)
{
	for (size_t i = 0; i < block->count; i++) {
		if (str_same_variable(block->vars[i], assignment)) {
			block->vars[i] = assignment;
			return;
		}
	}
	if (block->count < ENV_BLOCK_MAX)
		block->vars[block->count++] = assignment;
}

static void inherit(struct env_block *block, const char *name)
{
	const char *value = getenv(name);
	char *to = block->text + block->text_len;
	size_t room = sizeof(block->text) - block->text_len;

	if (!value || !*value || strlen(value) > ENV_INHERITED_MAX)
		return;
	for (const char *c = value; *c; c++)
		if (!str_is_alnum(*c) && !strchr("_.-+/:,", *c))
			return;
	int n = snprintf(to, room, "%s=%s", name, value);
	if (n <= 0 || (size_t) n >= room)
		return;
	block->text_len += (size_t) n + 1;
	set(block, to);
}

void env_build(struct env_block *block, const struct spec *spec, bool for_agent)
{
	block->count = 0;
	block->text_len = 0;
	for (char **v = environ; !wall_stands(WALL_ENV) && *v; v++)
		set(block, *v);
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		set(block, always[i]);
	if (!spec->allow_debug)
		set(block, NO_LEAK_CHECK);
	inherit(block, "TZ");
	if (for_agent)
		for (size_t i = 0; i < ARRAY_LEN(for_agents); i++)
			set(block, for_agents[i]);
	else
		inherit(block, "TERM");
	for (size_t i = 0; i < spec->env_count; i++)
		set(block, spec->env[i]);
	block->vars[block->count] = NULL;
}
