/*
 * with_filter: runs a command under the filter for commands and nothing else of a sandbox, for tests of the filter
 * alone.
 *
 *     with_filter COMMAND [ARGUMENT...]
 *
 * Exit status: the command's; 125 when the filter cannot be loaded, 127 when the command cannot be executed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/kern/seccomp.h"

int main(int argc, char *argv[])
{
	if (argc < 2) {
		(void) fprintf(stderr, "usage: with_filter COMMAND [ARGUMENT...]\n");
		return 125;
	}

	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), NULL);
	if (r < 0) {
		(void) fprintf(stderr, "with_filter: cannot load the filter: %s\n", strerror(-r));
		return 125;
	}
	(void) execvp(argv[1], argv + 1);
	(void) fprintf(stderr, "with_filter: cannot execute '%s': %s\n", argv[1], strerror(errno));
	return 127;
}
