/*
 * Tries a filter with every call and every argument that may matter: what a profile means, read rule by rule, and the calls
 * that are worth a question.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/compile/filter.h"

enum { SWEEP_X32 = 0x40000000, SWEEP_WRONG_MAX = 5 };

/* What the rules of @p say about @data, as filter.h defines it: no compiler, no program. */
uint32_t sweep_expected(const struct filter_profile *p, const struct seccomp_data *data);

/* Whether the answer to @data is right; tells people about it when not. */
typedef bool sweep_check(const struct seccomp_data *data, void *userdata);

/*
 * Asks about each number up to a thousand, some far ones, those of a foreign ABI, and the calls of all @n profiles (of one
 * architecture) with every combination of values at the borders of their conditions, with and without a high half. Returns how many
 * answers were wrong, and stops at SWEEP_WRONG_MAX; *@tried counts the questions.
 */
unsigned int sweep_calls(const struct filter_profile *const *profiles, unsigned int n, sweep_check *check, void *userdata,
			 unsigned long *tried);
