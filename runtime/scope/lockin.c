/*
 * How cloche-scope locks itself in: see lockin.h.
 *
 * It keeps its identity, which is what systemd decides by: root's too. A root without capabilities, which can open no path, start no
 * process and has one connection to systemd, can ask systemd for things, and that is what it is for.
 */
#include "runtime/scope/lockin.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gen/filter_scope.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/landlock.h"
#include "runtime/kern/lockself.h"
#include "runtime/spec/scopemsg.h"

enum { CPU_SECONDS = 6 }; /* more than it may wait: it can be kept busy that long */

#define MEMORY_MAX ((rlim_t) 64 << 20) /* of addresses: libraries are a part of it */

int lockin_early(void)
{
	static const struct lockself_limit limits[] = { { RLIMIT_CORE, 0 }, { RLIMIT_CPU, CPU_SECONDS }, { RLIMIT_FSIZE, 0 } };

	if (sysx_close_range(SCOPEMSG_FD + 1, ~0U, 0) < 0 && errno != ENOSYS)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	(void) alarm(SCOPEMSG_LIFE_S); /* its action is the default one: the end */
	int r = proc_hide();
	return r < 0 ? r : lockself_limits(limits, ARRAY_LEN(limits));
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int lockin_late(void)
{
	static const struct lockself_limit limits[] = { { RLIMIT_AS, MEMORY_MAX }, { RLIMIT_NPROC, 0 } };
	int r = landlock_restrict(NULL, 0, true);

	if (r < 0 || (r = lockself_limits(limits, ATTR_SANITIZED ? 0 : ARRAY_LEN(limits))) < 0)
		return r;
	return drop_capabilities();
}

int lockin_filter(void)
{
	/* A sanitizer's reports need what the filter denies. */
	return ATTR_SANITIZED ? 0 : lockself_filter(filter_scope, ARRAY_LEN(filter_scope));
}
