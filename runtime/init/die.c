/*
 * How cloche-init ends when it cannot go on: see die.h. Runs in cloche-init.
 */
#include "runtime/init/die.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

_noreturn_ void die(const char *what, int errnum)
{
	errno = errnum;
	(void) dprintf(STDERR_FILENO, "cloche-init: %s: %m\n", what);
	_exit(DIE_STATUS);
}
