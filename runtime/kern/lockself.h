/*
 * Two walls that a helper program builds around itself before it reads what others wrote. Nothing here allocates.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <sys/resource.h>

#include "runtime/base/attr.h"

struct lockself_limit {
	int resource; /* RLIMIT_* */
	rlim_t max;   /* soft and hard */
};

/* Sets each of the @count limits (setrlimit(2)). 0 or -errno. */
int lockself_limits(const struct lockself_limit *limits, size_t count) _must_check_;

/* Loads the compiled filter of @len instructions (seccomp(2)); no_new_privs is set. 0 or -errno. */
int lockself_filter(const struct sock_filter *filter, unsigned short len) _must_check_;
