/*
 * Loads the built-in system-call filters. Runs in cloche-init's child between fork and exec (commands), in
 * cloche-mcp's main (the server) and in `cloche doctor` (the probe); needs no privilege but no_new_privs.
 *
 * libseccomp is a dependency of the build only: it knows the calls' numbers. Nothing here includes it.
 */
#include "runtime/kern/seccomp.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gen/filter_default.h"
#include "gen/filter_server.h"

static_assert(ARRAY_LEN(filter_default) <= BPF_MAXINSNS, "the kernel takes no longer filter");
static_assert(ARRAY_LEN(filter_server) <= BPF_MAXINSNS, "the kernel takes no longer filter");

static int seccomp(unsigned int op, unsigned int flags, void *args)
{
	return syscall(SYS_seccomp, op, flags, args) < 0 ? -errno : 0;
}

/*
 * No flags. Not TSYNC: both callers have one thread. Not SPEC_ALLOW: kernels before 5.16 then keep their speculation
 * barriers for filtered programs, and it is their administrators' choice, not ours, to trade them for speed.
 */
static int load(const struct sock_filter *program, size_t len)
{
	struct sock_fprog prog = {
		.len = (unsigned short) len,
		.filter = (struct sock_filter *) (uintptr_t) program, /* the kernel only reads it */
	};

	return seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog);
}

int seccomp_load_workload(void)
{
	return load(filter_default, ARRAY_LEN(filter_default));
}

int seccomp_load_server(void)
{
	return load(filter_server, ARRAY_LEN(filter_server));
}

int seccomp_probe(void)
{
	static const uint32_t actions[] = { SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS };

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		uint32_t action = actions[i];
		int r = seccomp(SECCOMP_GET_ACTION_AVAIL, 0, &action);

		if (r < 0)
			return r;
	}

	/* Where filters exist, a filter at address NULL is a bad address; where they do not, a bad operation. */
	int r = seccomp(SECCOMP_SET_MODE_FILTER, 0, NULL);

	return r == -EFAULT ? 0 : r < 0 ? r : -EINVAL;
}
