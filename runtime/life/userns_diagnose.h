/*
 * Why this host refuses to make the sandbox's namespaces, in words.
 */
#pragma once

#include "runtime/base/err.h"

/* Finds the cause of a failed clone3(2) with @errnum and fills @err with cause and repair. Returns -@errnum. */
int userns_diagnose(int errnum, struct err *err);
