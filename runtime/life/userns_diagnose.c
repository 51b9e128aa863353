/*
 * Why this host refuses to make the sandbox's namespaces: see userns_diagnose.h. Runs in the launcher.
 *
 * clone3(2) answers ENOSPC for several limits and EPERM for several policies; the files of /proc/sys tell which it was.
 */
#include "runtime/life/userns_diagnose.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "runtime/base/fd.h"

enum { SYSCTL_TEXT_MAX = 64, STATUS_TEXT_MAX = 8192 };

static bool sysctl_is(const char *path, const char *value)
{
	char text[SYSCTL_TEXT_MAX];

	return fd_read_text(AT_FDCWD, path, text, sizeof(text)) >= 0 && strcmp(text, value) == 0;
}

static bool under_seccomp(void)
{
	char text[STATUS_TEXT_MAX];

	if (fd_read_text(AT_FDCWD, "/proc/self/status", text, sizeof(text)) < 0)
		return false;
	const char *line = strstr(text, "\nSeccomp:\t");
	return line && line[strlen("\nSeccomp:\t")] == '2';
}

static const struct {
	const char *sysctl;
	const char *value;
	const char *repair;
} switches[] = {
	{ "/proc/sys/user/max_user_namespaces", "0",
	  "user namespaces are switched off (user.max_user_namespaces is 0). Switch them on: sysctl -w user.max_user_namespaces=15000" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
	  "user namespaces are reserved to root (kernel.unprivileged_userns_clone is 0). Open them: sysctl -w "
	  "kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/user/max_net_namespaces", "0",
	  "network namespaces are switched off (user.max_net_namespaces is 0). Switch them on: sysctl -w user.max_net_namespaces=15000" },
	{ "/proc/sys/user/max_pid_namespaces", "0",
	  "PID namespaces are switched off (user.max_pid_namespaces is 0). Switch them on: sysctl -w user.max_pid_namespaces=15000" },
	{ "/proc/sys/user/max_mnt_namespaces", "0",
	  "mount namespaces are switched off (user.max_mnt_namespaces is 0). Switch them on: sysctl -w user.max_mnt_namespaces=15000" },
};

bool userns_diagnose_apparmor(void)
{
	return sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
}

int userns_diagnose_powerless(const char *what, int errnum, struct err *err)
{
	if (userns_diagnose_apparmor())
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox cannot %s: AppArmor lets user namespaces be made but gives no rights in them. " USERNS_APPARMOR_REPAIR,
			       what);
	if (geteuid() == 0 && errnum == EPERM && prctl(PR_CAPBSET_READ, CAP_SETFCAP, 0, 0, 0) == 0)
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox cannot %s: %m. You are root of a container that has taken CAP_SETFCAP from its root, without which "
			       "the kernel maps no root. Run cloche as an ordinary user of the container (Docker, Podman: --user 1000)", what);
	return err_set(err, ERR_UNSUPPORTED, errnum,
		       "the sandbox cannot %s: %m. A security module of this host (SELinux, AppArmor, a container's) forbids what a user "
		       "namespace normally allows; its log (dmesg, journalctl) names the rule", what);
}

int userns_diagnose(int errnum, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (sysctl_is(switches[i].sysctl, switches[i].value))
			return err_set(err, ERR_UNSUPPORTED, errnum, "the sandbox's namespaces cannot be made: %s",
				       switches[i].repair);
	switch (errnum) {
	case ENOSPC:
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox's namespaces cannot be made: a limit of namespaces is reached. End other sandboxes, or raise "
			       "the user.max_*_namespaces limits (sysctl)");
	case EUSERS:
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox's namespaces cannot be made: user namespaces are nested too deeply here (at most 32)");
	case EAGAIN:
		return err_set(err, ERR_SYSTEM, errnum,
			       "the sandbox cannot be started: you have too many processes (ulimit -u). End some, or raise the limit");
	case ENOSYS:
	case EPERM:
		if (under_seccomp())
			return err_set(err, ERR_UNSUPPORTED, errnum,
				       "the sandbox's namespaces cannot be made: a system-call filter of the container around us forbids it. In "
				       "Docker give it --security-opt seccomp=unconfined, in Kubernetes a Localhost profile that allows "
				       "clone, unshare and mount");
		if (errnum == ENOSYS)
			return err_set(err, ERR_UNSUPPORTED, errnum,
				       "the sandbox's namespaces cannot be made: this kernel is too old, or built without namespaces. cloche "
				       "needs Linux 5.12 or later");
		if (userns_diagnose_apparmor())
			return err_set(err, ERR_UNSUPPORTED, errnum,
				       "the sandbox's namespaces cannot be made: AppArmor forbids it. " USERNS_APPARMOR_REPAIR);
		return err_set(err, ERR_UNSUPPORTED, errnum,
			       "the sandbox's namespaces cannot be made: permission denied. Either this is a chroot (the kernel makes no user "
			       "namespaces in one: use pivot_root), or a security module forbids it; its log (dmesg, journalctl) tells");
	default:
		return err_set(err, ERR_SYSTEM, errnum, "the sandbox's namespaces cannot be made: %m");
	}
}
