/*
 * What a profile found in a workspace may do: take away.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/spec/spec.h"

/*
 * Compares a specification @before and @after the option @name of such a profile. 0 when it gives the same or less; else, and for an
 * option of which more and less cannot be told, -EPERM with @err filled.
 */
int narrow_check(const char *name, const struct spec *before, const struct spec *after, struct err *err) _must_check_;
