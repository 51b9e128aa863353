/*
 * The one capability that a launch by real root needs after it has given up root: CAP_DAC_OVERRIDE, for the cgroups of root's. It is
 * held back, permitted but not in effect, and takes effect for single system calls only.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/attr.h"

/* Before the change of identity: lets the kernel leave the permitted set alone then. 0 or -errno. */
int caps_override_begin(void) _must_check_;

/*
 * After it: permits CAP_DAC_OVERRIDE alone, or nothing where root had not got it, with nothing in effect. 0 or -errno: then the
 * process must end, since it may hold more than it should.
 */
int caps_override_reserve(void) _must_check_;

/* Puts it into effect, or takes it out of effect. 0, also when it was not there to be reserved, or -errno. */
int caps_override_use(bool in_effect) _must_check_;
