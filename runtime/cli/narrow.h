/*
 * What a profile found in a workspace may do: take away.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/spec/spec.h"

/*
 * Compares the specification @before such a profile with that @after all of its options, in what its option @name is about. 0 when it
 * gives the same or less; else, and for an option of which more and less cannot be told, -EPERM with @err filled.
 */
int narrow_check(const char *name, const struct spec *before, const struct spec *after, struct err *err) _must_check_;
