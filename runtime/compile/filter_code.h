/*
 * From the rules of a filter to classic BPF, as seccomp(2) takes it.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "runtime/compile/filter.h"

/*
 * Writes the program of @profile to @prog, which has room for @cap instructions (the kernel takes at most BPF_MAXINSNS).
 * With @notify the form that asks a listener wherever a rule says EPERM or EAFNOSUPPORT; the default action is never turned
 * into a question, since calls that nobody thought of may be hot ones. Returns the length or -E2BIG. The same profile always
 * gives the same program.
 */
int filter_compile(const struct filter_profile *profile, bool notify, struct sock_filter *prog, size_t cap);
