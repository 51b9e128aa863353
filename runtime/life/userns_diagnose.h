/*
 * Why this host refuses to make the sandbox's namespaces, in words.
 */
#pragma once

#include "runtime/base/err.h"

/*
 * Why a user namespace that was made gives no rights, with @what (completing "the sandbox cannot ...") and @errnum. Fills
 * @err and returns -@errnum.
 */
int userns_diagnose_powerless(const char *what, int errnum, struct err *err);

/* Finds the cause of a failed clone3(2) with @errnum and fills @err with cause and repair. Returns -@errnum. */
int userns_diagnose(int errnum, struct err *err);
