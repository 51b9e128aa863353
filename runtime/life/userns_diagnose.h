/*
 * Why this host refuses to make the sandbox's namespaces, in words.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/err.h"

#define USERNS_APPARMOR_REPAIR                                                                                         \
	"Give cloche a profile: copy share/cloche/apparmor/cloche of the installation to /etc/apparmor.d/cloche and load it with " \
	"apparmor_parser -r /etc/apparmor.d/cloche; or switch the restriction off: sysctl -w "                               \
	"kernel.apparmor_restrict_unprivileged_userns=0"

/* Whether AppArmor takes the rights in user namespaces from programs without a profile that says otherwise. */
bool userns_diagnose_apparmor(void);

/*
 * Why a user namespace that was made gives no rights, with @what (completing "the sandbox cannot ...") and @errnum. Fills
 * @err and returns -@errnum.
 */
int userns_diagnose_powerless(const char *what, int errnum, struct err *err);

/* Finds the cause of a failed clone3(2) with @errnum and fills @err with cause and repair. Returns -@errnum. */
int userns_diagnose(int errnum, struct err *err);
