/*
 * Attacks on the programs that build the sandbox, through the links that /proc has to running programs. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"

enum { SECOND = 200, STEP_US = 5000 };

/* A program may not be written while it runs, but by a descriptor that was opened before and is opened anew after its end. */
static enum verdict overwrite_one(const char *exe)
{
	char again[64];
	int path_fd = open(exe, O_PATH | O_CLOEXEC);

	if (path_fd < 0)
		return REFUSED;
	(void) snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	int fd = -1;
	for (int i = 0; i < SECOND; i++) {
		fd = open(again, O_WRONLY | O_APPEND | O_CLOEXEC);
		if (fd >= 0 || errno != ETXTBSY)
			break;
		(void) usleep(STEP_US);
	}
	enum verdict v = attack_result(fd < 0 ? fd : write(fd, "\0overwritten", 12), exe);
	(void) close(path_fd);
	return v;
}

/* The program of PID 1, and of every other process that is not this one's. */
static enum verdict overwrite(_unused_ char **args)
{
	enum verdict v = REFUSED;
	char exe[32], own[256] = "", theirs[256];

	IGNORE_RESULT(readlink("/proc/self/exe", own, sizeof(own) - 1));
	for (int pid = 1; pid < 64; pid++) {
		(void) snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
		ssize_t n = readlink(exe, theirs, sizeof(theirs) - 1);
		if (n < 0)
			continue;
		theirs[n] = '\0';
		if (!strstr(theirs, "cloche"))
			continue;
		if (overwrite_one(exe) == SUCCEEDED)
			v = SUCCEEDED;
	}
	return v;
}

const struct attack exec_attacks[] = {
	{ "overwrite-programs", NULL, overwrite },
	{ NULL, NULL, NULL },
};
