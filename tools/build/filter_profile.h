/*
 * Reads our own profiles, profiles/seccomp/NAME.json, into rules. Their form is OCI's seccomp JSON; their meaning is ours:
 *   - the first rule of a call whose conditions hold decides, in the order of the file (runtime/compile/filter.h);
 *   - a condition looks at the low 32 bits of one argument: (argument & mask) == value. Nothing else exists on purpose:
 *     every argument that a profile can usefully look at is an int, a mode or a flag word of which the kernel reads 32
 *     bits, so a comparison of 64 bits is either the same or a hole (CVE-2019-10063: TIOCSTI + 2^32).
 * A profile with "extends": "FILE" has all that FILE has; its own rules are tried first.
 */
#pragma once

#include "runtime/base/err.h"
#include "runtime/compile/filter.h"

enum { FILTER_PROFILE_MAX = 1024 * 1024 }; /* bytes of a profile */

/* Reads the @len bytes of JSON at @text, which extend nothing, into @ret for @arch. 0, or -EINVAL with a sentence in @err. */
int filter_profile_parse(const char *text, size_t len, const struct filter_arch *arch, struct filter_profile *ret,
			 struct err *err);

/* Reads the file @path in the same way, with what it extends. */
int filter_profile_load(const char *path, const struct filter_arch *arch, struct filter_profile *ret, struct err *err);
