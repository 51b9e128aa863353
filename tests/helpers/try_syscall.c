/*
 * try_syscall: makes harmless system calls and prints what came of them. For system tests, which run it inside a
 * sandbox; linked statically so that it needs nothing there. Needs no privilege.
 *
 *     try_syscall [--check] [NAME...]      all of the table when no name is given
 *
 * Prints a line `NAME RESULT` each: ok, the name of an errno, or of the signal that killed the caller (SYS). With
 * --check, a result that is not what the filter for commands must give is marked, and the exit status is 1.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "tests/helpers/syscall_cases.h"

static bool wanted(const char *name, char *const *names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

int main(int argc, char *argv[])
{
	bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
	char *const *names = argv + (check ? 2 : 1);
	unsigned int wrong = 0;
	unsigned int tried = 0;

	for (size_t i = 0; i < syscall_cases_count; i++) {
		const struct syscall_case *c = &syscall_cases[i];

		/* Where no filter may be, a call that would do something is made only when it is asked for by name. */
		if (!wanted(c->name, names) || (c->never_bare && !check && !*names))
			continue;

		int result = syscall_case_run(c, NULL);
		bool as_expected = result == c->expect || syscall_case_has_no_entry(c, result);

		tried++;
		printf("%s %s", c->name, syscall_case_result(result));
		if (check && !as_expected) {
			printf(" instead of %s", syscall_case_result(c->expect));
			wrong++;
		}
		putchar('\n');
		(void) fflush(stdout);
	}
	if (tried == 0) {
		(void) fprintf(stderr, "try_syscall: no such call in the table\n");
		return 2;
	}
	return wrong > 0 ? 1 : 0;
}
