/*
 * How many processes the kernel counts: see nproc.h. Runs in shims, and in the init of `cloche run`.
 */
#include "runtime/init/nproc.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"

/*
 * Whether a new process is refused for its number. One that is not is refused for its id, which is that of the first process of our
 * namespace (and for want of CAP_CHECKPOINT_RESTORE): the limit comes before both.
 */
static bool is_one_too_many(void)
{
	pid_t taken = 1;
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t) &taken, .set_tid_size = 1 };
	pid_t pid = sysx_clone3(&args);

	if (pid < 0)
		return errno == EAGAIN;
	if (pid == 0)
		_exit(0);
	(void) proc_wait(pid, NULL);
	return false;
}

bool nproc_is_at_least(uint32_t number)
{
	struct rlimit usual;

	if (sysx_prlimit(RLIMIT_NPROC, NULL, &usual) < 0 || number == 0 || number > usual.rlim_cur)
		return false;
	struct rlimit lower = { .rlim_cur = number, .rlim_max = usual.rlim_max };
	if (sysx_prlimit(RLIMIT_NPROC, &lower, NULL) < 0)
		return false;
	bool is_reached = is_one_too_many();
	if (sysx_prlimit(RLIMIT_NPROC, &usual, NULL) < 0)
		return false;
	return is_reached && !is_one_too_many();
}
