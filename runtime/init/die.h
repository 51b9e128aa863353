/*
 * How cloche-init ends when it cannot go on.
 */
#pragma once

#include "runtime/base/attr.h"

enum { DIE_STATUS = 125 };

/* Prints @what with the text of @errnum and ends the sandbox. */
_noreturn_ void die(const char *what, int errnum);
