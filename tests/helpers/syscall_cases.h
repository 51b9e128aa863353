/*
 * System calls with arguments that do no harm, and what the filter for commands must make of them. Used by the live
 * test of the filter and by try_syscall, which system tests run inside a sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CASE_SIGNAL = 1000 }; /* a result above it is CASE_SIGNAL + the signal that killed the caller */

struct syscall_case {
	const char *name;
	long nr; /* CASE_NR_I386: a call of the 32-bit ABI */
	uintptr_t args[6];
	int expect;     /* under the filter: 0, an errno, or CASE_SIGNAL + a signal */
	bool kernel_too; /* the kernel's own answer is the same: an allowed call */
	bool never_bare; /* would do something without the filter */
};

enum { CASE_NR_I386 = -2 };

extern const struct syscall_case syscall_cases[];
extern const size_t syscall_cases_count;

/*
 * Makes the call in a process of its own, after @prepare (NULL: nothing) there, which returns 0 or -errno. The
 * result as in `expect`, or a negative errno when it could not be tried.
 */
int syscall_case_run(const struct syscall_case *c, int (*prepare)(void));

/*
 * Whether @result tells that this machine has no entry for such calls: the 32-bit one can be missing (ia32_emulation=0, some virtual
 * machines), and the call then is a fault of the program, before any filter could see it.
 */
bool syscall_case_has_no_entry(const struct syscall_case *c, int result);

/* The result in words: "ok", the name of an errno, or of a signal. */
const char *syscall_case_result(int result);
