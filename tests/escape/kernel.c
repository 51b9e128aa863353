/*
 * Attacks on the kernel's surface: does the kernel's code behind a system call answer, or something in front of it? The calls
 * are those of tests/helpers/syscall_cases.c, whose arguments do no harm and are never right. Runs inside.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"
#include "tests/helpers/syscall_cases.h"

/* What a filter says, or a machine without such calls; what the kernel itself says to such arguments is something else. */
static bool says_no(const struct syscall_case *c, int result)
{
	return syscall_case_has_no_entry(c, result) || result == EPERM || result == ENOSYS || result == EACCES || result == EAFNOSUPPORT ||
	       result == EPROTONOSUPPORT || result == CASE_SIGNAL + SIGSYS || result == CASE_SIGNAL + SIGKILL;
}

static enum verdict calls(char **args)
{
	enum verdict v = NOT_TRIED;

	for (; *args; args++)
		for (size_t i = 0; i < syscall_cases_count; i++) {
			if (strcmp(syscall_cases[i].name, *args) != 0)
				continue;
			int result = syscall_case_run(&syscall_cases[i], NULL);
			printf("%s: %s\n", *args, syscall_case_result(result));
			if (result < 0)
				continue;
			if (!says_no(&syscall_cases[i], result))
				return SUCCEEDED;
			v = REFUSED;
		}
	return v;
}

/* So many refused calls that whoever answers them has nothing else to do. */
static enum verdict flood(char **args)
{
	unsigned long count = args[0] ? strtoul(args[0], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++)
		IGNORE_RESULT(syscall(SYS_unshare, CLONE_NEWUSER));
	return count ? REFUSED : NOT_TRIED; /* the host sees whether all goes on */
}

/* A capability in any set. */
static enum verdict capability(_unused_ char **args)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");
	enum verdict v = REFUSED;

	if (!status)
		return NOT_TRIED;
	while (fgets(line, sizeof(line), status))
		if (strncmp(line, "Cap", 3) == 0) {
			printf("%s", line);
			if (strspn(line + 7, "\t 0\n") != strlen(line + 7))
				v = SUCCEEDED;
		}
	(void) fclose(status);
	return v;
}

static enum verdict new_privileges(_unused_ char **args)
{
	int r = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);

	printf("no_new_privs: %d\n", r);
	return r < 0 ? NOT_TRIED : r == 0 ? SUCCEEDED : REFUSED;
}

const struct attack kernel_attacks[] = {
	{ "call", "NAME... (any that is answered)", calls },
	{ "flood", "COUNT", flood },
	{ "capability", NULL, capability },
	{ "new-privileges", NULL, new_privileges },
	{ NULL, NULL, NULL },
};
