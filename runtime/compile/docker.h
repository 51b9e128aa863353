/*
 * Reads a user's own system-call filter: seccomp JSON as Docker and Podman take it, with the meaning that it has there.
 *
 *   - A rule without "args" decides about its calls, wherever it stands; of several such rules the first.
 *   - Otherwise a call gets the action of the rule whose "args" all hold. Two conditions on one argument are two rules.
 *     When several rules hold, the strictest action counts, as it does between filters in the kernel (libseccomp promises no
 *     order for them).
 *   - Otherwise, the default action. A rule with that same action says nothing.
 *   - A rule whose "includes" ask for a capability does not apply, since nothing inside has one; those that ask for another
 *     architecture or a younger kernel do not either.
 *   - A name that nobody here knows is left out, as a call younger than libseccomp would be.
 *   - When the default action refuses, calls younger than all that the file names get ENOSYS instead, so that programs
 *     fall back (runc does that too).
 * A comparison is of all 64 bits, as Docker's. Members that do not exist are errors, though Docker passes over them: a
 * filter that is read more kindly than it was meant is a hole.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/compile/filter.h"

/*
 * Reads the @len bytes at @text into @ret for @arch and the kernel @kernel (filterform_kernel()), and adds lines to @notes about what
 * of the file has no effect. 0, or -errno with a sentence in @err that begins with the line.
 */
int docker_filter(const char *text, size_t len, const struct filter_arch *arch, uint32_t kernel, struct filter_profile *ret,
		  struct buf *notes, struct err *err) _must_check_;
