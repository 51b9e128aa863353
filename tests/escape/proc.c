/*
 * Attacks through /proc, /sys and /dev: settings of the kernel and devices of the host. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"

/* Settings that run programs or end the machine. Opened, not written: this also runs where it would work. */
static enum verdict settings(_unused_ char **args)
{
	static const char *const files[] = {
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/proc/sysrq-trigger",
		"/proc/sys/kernel/usermodehelper/bset", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/vm/panic_on_oom",
		"/proc/sys/kernel/sysrq", "/proc/sys/kernel/randomize_va_space", "/proc/irq/default_smp_affinity", "/proc/mtrr",
		"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/release_agent", "/sys/module/kernel/parameters/panic",
		"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cgroup.freeze",
	};

	enum verdict v = REFUSED;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (attack_result(open(files[i], O_WRONLY | O_CLOEXEC), files[i]) == SUCCEEDED)
			v = SUCCEEDED;
	return v;
}

/* What the kernel tells about itself, and about everybody's memory. */
static enum verdict secrets(_unused_ char **args)
{
	static const char *const files[] = {
		"/proc/kcore", "/proc/kmsg", "/proc/kpageflags", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/timer_list",
		"/proc/sched_debug", "/sys/kernel/debug/sched/debug", "/sys/firmware/dmi/tables/DMI", "/dev/kmsg", "/dev/mem",
		"/dev/port",
	};

	enum verdict v = REFUSED;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		int fd = open(files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (attack_result(fd, files[i]) == SUCCEEDED && attack_show(fd))
			v = SUCCEEDED;
	}
	return v;
}

/* The kernel's log, which names addresses and what other programs did. */
static enum verdict kernel_log(_unused_ char **args)
{
	char text[256];

	return attack_result(syscall(SYS_syslog, 3 /* read all */, text, sizeof(text)), "syslog");
}

/* A device node, as one that lies in the workspace, can be opened. */
static enum verdict device(char **args)
{
	enum verdict v = args[0] ? REFUSED : NOT_TRIED;

	for (; *args; args++)
		if (attack_result(open(*args, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), *args) == SUCCEEDED)
			v = SUCCEEDED;
	return v;
}

/* A device that a sandbox has no use for is there, whether it can be opened or not. */
static enum verdict device_seen(char **args)
{
	enum verdict v = args[0] ? REFUSED : NOT_TRIED;
	struct stat st;

	for (; *args; args++)
		if (attack_result(stat(*args, &st), *args) == SUCCEEDED && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
			v = SUCCEEDED;
	return v;
}

/* Another control group than the root of what is seen: a path that tells the host's layout. */
static enum verdict control_group(_unused_ char **args)
{
	char line[512];
	FILE *f = fopen("/proc/self/cgroup", "re");
	enum verdict v = REFUSED;

	if (!f)
		return NOT_TRIED;
	while (fgets(line, sizeof(line), f)) {
		printf("%s", line);
		const char *path = strchr(line, '/');
		if (path && strcmp(path, "/\n") != 0)
			v = SUCCEEDED;
	}
	(void) fclose(f);
	return v;
}

const struct attack proc_attacks[] = {
	{ "settings", NULL, settings },
	{ "kernel-secrets", NULL, secrets },
	{ "kernel-log", NULL, kernel_log },
	{ "device", "PATH...", device },
	{ "device-seen", "PATH...", device_seen },
	{ "control-group", NULL, control_group },
	{ NULL, NULL, NULL },
};
