/*
 * From the rules of a filter to classic BPF, as seccomp(2) takes it.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "tools/build/filter_profile.h"

/*
 * Writes the program of @profile to @prog, which has room for @cap instructions (the kernel takes at most
 * BPF_MAXINSNS). Returns its length or -E2BIG. The same profile always gives the same program.
 */
int filter_compile(const struct filter_profile *profile, struct sock_filter *prog, size_t cap);
