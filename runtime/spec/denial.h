/*
 * Why the built-in filters refuse a system call, in words for an agent and for people. Generated while building, from the
 * comments in profiles/seccomp/default.json.
 */
#pragma once

#include <stdint.h>

/* The name of the call with the number @nr on this architecture, or NULL when there is none that we know. */
const char *denial_call_name(uint32_t nr);

/*
 * Why the call @nr is answered with @errnum (EPERM or EAFNOSUPPORT) and what to do instead: one or two sentences with full
 * stops. NULL when no rule of the built-in filters explains it.
 */
const char *denial_advice(uint32_t nr, uint32_t errnum);
