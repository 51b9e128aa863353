/*
 * Processes: see proc.h. Runs anywhere.
 */
#include "runtime/base/proc.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

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

int proc_reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void) signal(sig, SIG_DFL);
	(void) sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}
