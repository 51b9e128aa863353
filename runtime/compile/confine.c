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
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gen/filter_compiler.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/landlock.h"
#include "runtime/kern/lockself.h"

enum { CPU_SECONDS = 8 };

#define MEMORY_MAX ((rlim_t) 192 << 20)

static int limit_self(void)
{
	static const struct lockself_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_CPU, CPU_SECONDS },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_AS, MEMORY_MAX }, /* and not RLIMIT_DATA, which does not count shared memory */
		{ RLIMIT_NOFILE, 0 },
	};
	enum { UNSANITIZED = 2 }; /* a sanitizer reserves far more than it uses, and opens files to explain what it found */

	return lockself_limits(limits, ARRAY_LEN(limits) - (ATTR_SANITIZED ? UNSANITIZED : 0));
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
	/* A sanitizer's reports need what the filter denies. */
	return ATTR_SANITIZED ? 0 : lockself_filter(filter_compiler, ARRAY_LEN(filter_compiler));
}
