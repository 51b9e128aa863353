/*
 * How cloche-compile locks itself in: see confine.h. Runs at its start, with all libraries loaded.
 *
 * The walls: an identity without rights, for real root; no other descriptor; limits; Landlock, where the kernel has it, which
 * lets no path be opened; a filter with the few calls that reading, computing and writing need. The filter is the one that
 * counts: without it nothing is read.
 */
#include "runtime/compile/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gen/filter_compiler.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/landlock.h"

enum { CPU_SECONDS = 8 };

#define MEMORY_MAX ((rlim_t) 192 << 20)

static int limit_self(void)
{
	static const struct {
		int resource;
		rlim_t max;
	} limits[] = {
		{ RLIMIT_CORE, 0 },   { RLIMIT_CPU, CPU_SECONDS }, { RLIMIT_DATA, MEMORY_MAX }, { RLIMIT_FSIZE, 0 },
		{ RLIMIT_NOFILE, 0 }, { RLIMIT_NPROC, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit limit = { .rlim_cur = limits[i].max, .rlim_max = limits[i].max };

		/* A sanitizer reserves far more than it uses, and opens files to explain what it found. */
		if (ATTR_SANITIZED && (limits[i].resource == RLIMIT_DATA || limits[i].resource == RLIMIT_NOFILE))
			continue;
		if (sysx_prlimit(limits[i].resource, &limit, NULL) < 0)
			return -errno;
	}
	return 0;
}

/*
 * Root becomes nobody in particular. A root that may not (of a user namespace with one id) is nobody outside already.
 */
static int drop_root(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(CLOCHE_SANDBOX_UID, CLOCHE_SANDBOX_UID, CLOCHE_SANDBOX_UID) < 0 ||
	    setresuid(CLOCHE_SANDBOX_UID, CLOCHE_SANDBOX_UID, CLOCHE_SANDBOX_UID) < 0)
		return errno == EPERM || errno == EINVAL ? 0 : -errno;
	return 0;
}

static int load_filter(void)
{
	struct sock_fprog prog = {
		.len = ARRAY_LEN(filter_compiler),
		.filter = (struct sock_filter *) (uintptr_t) filter_compiler, /* the kernel only reads it */
	};

	if (ATTR_SANITIZED)
		return 0; /* its reports need what the filter denies */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}

int confine_self(void)
{
	if (sysx_close_range(STDERR_FILENO + 1, ~0U, 0) < 0 && errno != ENOSYS)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	int r = landlock_restrict(NULL, 0, true);
	if (r < 0 || (r = drop_root()) < 0 || (r = limit_self()) < 0)
		return r;
	/* After the change of identity, which clears it. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	return load_filter();
}
