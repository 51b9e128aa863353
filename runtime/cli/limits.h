/*
 * What must hold between several options about limits, checked once when all of them are known: their order on the command line, and
 * who said which, makes no difference.
 */
#pragma once

#include "runtime/base/err.h"
#include "runtime/cli/options.h"

/*
 * Refuses limits that contradict each other, naming both and who said them; then gives the folders in memory their sizes
 * (spec_settle_sizes()). 0, or -EINVAL with @err filled.
 */
int limits_settle(struct options *o, struct err *err) _must_check_;
