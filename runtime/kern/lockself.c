/*
 * Limits and filter of a helper program: see lockself.h. Runs in cloche-compile and cloche-scope.
 */
#include "runtime/kern/lockself.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/sysx.h"

int lockself_limits(const struct lockself_limit *limits, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct rlimit limit = { .rlim_cur = limits[i].max, .rlim_max = limits[i].max };

		if (sysx_prlimit(limits[i].resource, &limit, NULL) < 0)
			return -errno;
	}
	return 0;
}

int lockself_filter(const struct sock_filter *filter, unsigned short len)
{
	struct sock_fprog prog = { .len = len, .filter = (struct sock_filter *) (uintptr_t) filter }; /* the kernel only reads it */

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}
