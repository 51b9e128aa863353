/*
 * A system-call filter as rules: what a profile says once names are numbers and everything was checked. Two kinds of profiles
 * become this: our own (tools/build/filter_profile.h) and a user's (runtime/compile/docker.h).
 *
 * The meaning, for people and for the code generator alike:
 *   - the rules of one call are tried in order; the first one whose conditions all hold decides;
 *   - a rule without conditions always holds, so it is the last one of its call ("else");
 *   - when none holds, or the call is in no rule, the default action decides.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/compile/arch.h"

enum {
	FILTER_CALLS_MAX = 512,
	FILTER_RULES_MAX = 40,            /* of one call */
	FILTER_CONDS_MAX = 6,             /* of one rule */
	FILTER_COMMENTS_MAX = 64 * 1024,  /* bytes of all comments */
};

enum filter_op {
	FILTER_MASKED_EQ, /* (argument & mask) == value */
	FILTER_MASKED_NE,
	FILTER_GT, /* of 64 bits without sign; mask is not used */
	FILTER_GE,
	FILTER_LT,
	FILTER_LE,
};

struct filter_cond {
	enum filter_op op;
	uint32_t arg; /* 0 to 5 */
	uint64_t mask;
	uint64_t value; /* has no bits outside the mask */
};

struct filter_rule {
	uint32_t action;     /* SECCOMP_RET_* with its data */
	const char *comment; /* lives as long as the profile; "" when there is none */
	unsigned int ncond;
	struct filter_cond cond[FILTER_CONDS_MAX];
};

struct filter_call {
	uint32_t nr;
	char name[FILTER_NAME_MAX];
	bool derived; /* has rules of a profile that extends another one */
	unsigned int nrules;
	struct filter_rule rule[FILTER_RULES_MAX];
};

struct filter_profile {
	const struct filter_arch *arch;
	uint32_t default_action;
	bool young_enosys; /* calls above all that are named get ENOSYS instead of the default action */
	uint32_t named_up_to; /* the largest number that is named */
	unsigned int ncalls; /* sorted by number, each number once */
	struct filter_call call[FILTER_CALLS_MAX];
	char comments[FILTER_COMMENTS_MAX];
	size_t comments_len;
};

/* For qsort() of struct filter_call. */
int filter_by_number(const void *a, const void *b);

/* The call @nr of @p, added when it is not there yet. NULL: there are too many. */
struct filter_call *filter_add_call(struct filter_profile *p, uint32_t nr, const char *name);

/* Keeps @text for as long as @p. NULL: there is too much of it. */
const char *filter_keep_comment(struct filter_profile *p, const char *text);
