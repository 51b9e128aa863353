/*
 * A system-call filter as rules: what a profile in OCI seccomp JSON says once names are numbers and every rule was
 * checked.
 *
 * The meaning of a profile, for people and for the code generator alike:
 *   - the rules of one call are tried in the order of the file; the first one whose conditions all hold decides;
 *   - a rule without conditions always holds, so it must be the last one of its call ("else");
 *   - when none holds, or the call is in no rule, the default action decides.
 * A condition looks at the low 32 bits of one argument: (argument & mask) == value. Nothing else exists on purpose:
 * every argument that a profile can usefully look at is an int, a mode or a flag word of which the kernel reads 32
 * bits, so a comparison of 64 bits is either the same or a hole (CVE-2019-10063: TIOCSTI + 2^32).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/err.h"

enum {
	FILTER_CALLS_MAX = 512,
	FILTER_RULES_MAX = 24,             /* of one call */
	FILTER_CONDS_MAX = 6,              /* of one rule */
	FILTER_NAME_MAX = 40,              /* a call's name with its NUL */
	FILTER_PROFILE_MAX = 1024 * 1024,  /* bytes of a profile */
};

struct filter_arch {
	const char *name;     /* as of uname(1) */
	const char *oci_name; /* as in a profile's "architectures" */
	const char *macro;    /* what a compiler for it defines */
	uint32_t scmp;        /* SCMP_ARCH_*: names become numbers with it */
	uint32_t audit;       /* AUDIT_ARCH_*: what the kernel reports */
	bool has_x32;         /* numbers from 2^30 up are a second ABI */
};

struct filter_cond {
	uint32_t arg; /* 0 to 5 */
	uint32_t mask;
	uint32_t value;
};

struct filter_rule {
	uint32_t action; /* SECCOMP_RET_* with its errno */
	unsigned int ncond;
	struct filter_cond cond[FILTER_CONDS_MAX];
};

struct filter_call {
	uint32_t nr;
	char name[FILTER_NAME_MAX];
	unsigned int nrules;
	struct filter_rule rule[FILTER_RULES_MAX];
};

struct filter_profile {
	const struct filter_arch *arch;
	uint32_t default_action;
	unsigned int ncalls; /* sorted by number, each number once */
	struct filter_call call[FILTER_CALLS_MAX];
};

/* The architecture called @name, or the one this program runs on when @name is NULL. NULL: not supported. */
const struct filter_arch *filter_arch_find(const char *name);

/*
 * The number of the call @name on @arch; FILTER_CALL_ELSEWHERE when it exists on other architectures only,
 * FILTER_CALL_UNKNOWN when nobody knows it.
 */
enum { FILTER_CALL_UNKNOWN = -1, FILTER_CALL_ELSEWHERE = -2 };
int filter_call_number(const struct filter_arch *arch, const char *name);

/* Reads the @len bytes of JSON at @text into @ret for @arch. 0, or -EINVAL with a sentence in @err. */
int filter_profile_parse(const char *text, size_t len, const struct filter_arch *arch, struct filter_profile *ret,
			 struct err *err);
