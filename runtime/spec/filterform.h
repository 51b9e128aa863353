/*
 * The compiled form of a user's own system-call filter: what cloche-compile writes, the cache keeps, and init reads from
 * INITMSG_FILTER_FD. Machine-dependent on purpose: it never leaves the host and the architecture that made it.
 *
 *   struct filterform_head | plain_len instructions | notify_len instructions | notes_len bytes of text
 *
 * An instruction is a struct sock_filter of <linux/filter.h>, 8 bytes.
 */
#pragma once

#include <stdint.h>

enum {
	FILTERFORM_MAGIC = 0x46436c43, /* "ClCF" in memory */
	FILTERFORM_VERSION = 1,        /* of this form and of the meaning of rules: an older cache entry is made anew */
	FILTERFORM_INSNS_MAX = 4096,   /* the kernel's BPF_MAXINSNS */
	FILTERFORM_NOTES_MAX = 2048,
	FILTERFORM_MAX = 32 + 2 * FILTERFORM_INSNS_MAX * 8 + FILTERFORM_NOTES_MAX, /* bytes of all of it */
};

struct filterform_head {
	uint32_t magic;
	uint32_t version;
	uint32_t arch;   /* AUDIT_ARCH_* */
	uint32_t kernel; /* its version, which rules may ask for: filterform_kernel() */
	uint32_t plain_len;
	uint32_t notify_len;
	uint32_t notes_len; /* lines for people: what of the file has no effect here */
	uint32_t reserved;  /* 0 */
};

/* A kernel's version as one number that can be compared. */
static inline uint32_t filterform_kernel(uint32_t major, uint32_t minor)
{
	return major << 16 | (minor & 0xffff);
}

/* That of the running kernel; 0 when it does not say. */
uint32_t filterform_running_kernel(void);
