/*
 * The closed environment of everything inside: made up by us, plus what the caller asked for by name (-e). Nothing is
 * inherited but TZ, and for `cloche run` TERM, when their values are plain.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/spec/spec.h"

enum { ENV_BLOCK_MAX = SPEC_ENV_MAX + 32, ENV_TEXT_MAX = 1024 };

struct env_block {
	const char *vars[ENV_BLOCK_MAX + 1]; /* NULL-terminated, for execve(2) */
	size_t count;
	char text[ENV_TEXT_MAX];
	size_t text_len;
};

/* Fills @block; it borrows from @spec. @for_agent: plain output for programs that would otherwise page, prompt or colour. */
void env_build(struct env_block *block, const struct spec *spec, bool for_agent);
