/*
 * The architectures that filters are made for, and the numbers of their system calls. Every build knows all of them, so that
 * each filter can be made and tested on any machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FILTER_NAME_MAX = 40 }; /* a call's name with its NUL */

struct filter_arch {
	const char *name;        /* as of uname(1) */
	const char *oci_name;    /* in a profile's "architectures" */
	const char *docker_name; /* in the "arches" of a rule */
	const char *condition;   /* what the preprocessor of a compiler for it says */
	uint32_t scmp;           /* SCMP_ARCH_*: names become numbers with it */
	uint32_t audit;          /* AUDIT_ARCH_*: what the kernel reports */
	uint32_t foreign;        /* AUDIT_ARCH_* of the other ABI that its kernels run */
	bool has_x32;            /* numbers from 2^30 up are one more ABI */
	bool is_32bit;           /* arguments have no high half */
};

enum { FILTER_ARCHES = 4 };
extern const struct filter_arch filter_arches[FILTER_ARCHES];

/* The architecture called @name, or the one this program runs on when @name is NULL. NULL: not supported. */
const struct filter_arch *filter_arch_find(const char *name);

/*
 * The number of the call @name on @arch; FILTER_CALL_ELSEWHERE when it exists on other architectures only,
 * FILTER_CALL_UNKNOWN when nobody knows it.
 */
enum { FILTER_CALL_UNKNOWN = -1, FILTER_CALL_ELSEWHERE = -2 };
int filter_call_number(const struct filter_arch *arch, const char *name);

/* Writes the name of the call @nr on @arch to @name, FILTER_NAME_MAX bytes. False when there is none that we know. */
bool filter_call_name(const struct filter_arch *arch, uint32_t nr, char *name);
