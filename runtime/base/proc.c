/*
 * Processes: see proc.h. Runs anywhere.
 */
#include "runtime/base/proc.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/wall.h"

int proc_wait(pid_t pid, int *ret_status)
{
	for (;;) {
		if (waitpid(pid, ret_status, 0) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

int proc_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int proc_die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (getppid() != parent)
		_exit(128 + SIGKILL);
	return 0;
}

int proc_hide(void)
{
	return wall_stands(WALL_DUMPABLE) && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

int proc_reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void) signal(sig, SIG_DFL);
	(void) sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}
