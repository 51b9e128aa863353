/*
 * Attacks on other processes: signals, tracing, memory, what /proc tells of them. Runs inside.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/sysx.h"
#include "tests/escape/attack.h"

enum { SETTLED_US = 100000 };

static long open_of(pid_t pid, const char *what, int flags)
{
	char path[64];

	(void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, what);
	return open(path, flags | O_CLOEXEC);
}

static long by_trace(pid_t pid)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, NULL);
}

static long by_memory(pid_t pid)
{
	return open_of(pid, "mem", O_RDWR);
}

static long by_environment(pid_t pid)
{
	long fd = open_of(pid, "environ", O_RDONLY);

	return fd < 0 ? fd : attack_show((int) fd) ? 0 : -1;
}

static long by_root(pid_t pid)
{
	return open_of(pid, "root/", O_RDONLY);
}

static long by_descriptors(pid_t pid)
{
	return open_of(pid, "fd/0", O_RDONLY);
}

static long by_stealing(pid_t pid)
{
	int fd = sysx_pidfd_open(pid);

	return fd < 0 ? fd : syscall(SYS_pidfd_getfd, fd, 0, 0);
}

/* A page of the stack, whose address /proc tells. */
static long by_reading(pid_t pid)
{
	char line[256], byte;
	unsigned long at = 0;
	long fd = open_of(pid, "maps", O_RDONLY);
	FILE *maps = fd < 0 ? NULL : fdopen((int) fd, "r");

	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			at = strtoul(line, NULL, 16);
	(void) fclose(maps);
	struct iovec here = { &byte, 1 }, there = { (void *) (uintptr_t) at, 1 }; /* NOLINT(performance-no-int-to-ptr) */
	return at ? process_vm_readv(pid, &here, 1, &there, 1, 0) : -1;
}

static const struct {
	const char *name;
	long (*way)(pid_t pid);
} ways[] = {
	{ "ptrace", by_trace },		{ "mem", by_memory },	     { "environ", by_environment }, { "root", by_root },
	{ "fd", by_descriptors }, { "pidfd_getfd", by_stealing }, { "process_vm_readv", by_reading },
};

/* Whether @pid is a process whose name begins with @prefix. PID 1 always has that name when it hides it. */
static bool is_target(pid_t pid, const char *prefix)
{
	char name[32] = "";
	long fd = open_of(pid, "comm", O_RDONLY);

	if (pid == getpid() || pid == getppid())
		return false;
	if (fd < 0)
		return pid == 1;
	IGNORE_RESULT(read((int) fd, name, sizeof(name) - 1));
	(void) close((int) fd);
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Looks into the processes whose names begin with @args[0], in the ways named by the others. */
static enum verdict look_into(char **args)
{
	const char *prefix = args[0];
	enum verdict v = REFUSED;
	char what[64];

	if (!prefix)
		return NOT_TRIED;
	(void) usleep(SETTLED_US); /* until then init has a capability, and whoever has one is not looked into */
	while (*++args)
		for (pid_t pid = 1; pid < 64; pid++) {
			if (!is_target(pid, prefix))
				continue;
			for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
				if (strcmp(ways[i].name, *args) != 0)
					continue;
				(void) snprintf(what, sizeof(what), "%s of %d", *args, (int) pid);
				if (attack_result(ways[i].way(pid), what) == SUCCEEDED)
					v = SUCCEEDED;
			}
		}
	return v;
}

/* Ends, stops or disturbs a process outside by its number, which is ours to guess, or everybody. */
static enum verdict signal_pids(char **args)
{
	enum verdict v = REFUSED;

	for (; *args; args++) {
		pid_t pid = (pid_t) strtol(*args, NULL, 10);
		if (attack_result(kill(pid, SIGKILL), *args) == SUCCEEDED && pid > 1)
			v = SUCCEEDED;
		int fd = pid > 0 ? sysx_pidfd_open(pid) : -1;
		if (fd >= 0)
			(void) attack_result(sysx_pidfd_send_signal(fd, SIGKILL), "pidfd_send_signal");
	}
	return v;
}

/* Every signal to PID 1, whose end is everybody's. The host sees whether the sandbox still works. */
static enum verdict signal_init(_unused_ char **args)
{
	for (int signo = 1; signo <= 64; signo++) {
		(void) kill(1, signo);
		(void) syscall(SYS_tgkill, 1, 1, signo);
	}
	int fd = sysx_pidfd_open(1);
	if (fd >= 0)
		(void) sysx_pidfd_send_signal(fd, SIGKILL);
	return REFUSED; /* for as long as there is somebody to say so */
}

/* SIGIO through a file: the owner that it is sent to is a process outside. */
static enum verdict signal_by_file(char **args)
{
	int fds[2];

	if (!args[0] || pipe(fds) < 0)
		return NOT_TRIED;
	if (attack_result(fcntl(fds[0], F_SETOWN, (int) strtol(args[0], NULL, 10)), "F_SETOWN") == REFUSED)
		return REFUSED;
	(void) fcntl(fds[0], F_SETSIG, SIGKILL);
	return attack_result(fcntl(fds[0], F_SETFL, O_ASYNC) < 0 ? -1 : write(fds[1], "x", 1), "SIGIO");
}

/* Processes of others that are seen in /proc: those named by @args[0], the beginning of a name. */
static enum verdict see(char **args)
{
	enum verdict v = REFUSED;
	DIR *proc = args[0] ? opendir("/proc") : NULL;
	const struct dirent *entry;

	if (!proc)
		return NOT_TRIED;
	while ((entry = readdir(proc))) {
		char name[32] = "";
		pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);
		long fd = pid > 0 ? open_of(pid, "comm", O_RDONLY) : -1;
		if (fd < 0)
			continue;
		IGNORE_RESULT(read((int) fd, name, sizeof(name) - 1));
		(void) close((int) fd);
		if (strncmp(name, args[0], strlen(args[0])) != 0)
			continue;
		printf("%d: %s", (int) pid, name);
		v = SUCCEEDED;
	}
	(void) closedir(proc);
	return v;
}

/* A process of its own session, without a parent, that is there when the command is over: its argument is a mark. */
static enum verdict survive(char **args)
{
	pid_t pid = args[0] ? fork() : -1;

	if (pid < 0)
		return NOT_TRIED;
	if (pid > 0)
		return REFUSED; /* the host sees the other one, or not */
	for (int fd = 0; fd < 3; fd++)
		(void) close(fd);
	(void) setsid();
	if (fork() != 0)
		_exit(0);
	for (int signo = 1; signo < 32; signo++)
		(void) signal(signo, SIG_IGN);
	(void) execl("/bin/sleep", "sleep", args[0], NULL);
	_exit(1);
}

const struct attack signal_attacks[] = {
	{ "look-into", "NAME ptrace|mem|environ|root|fd|pidfd_getfd|process_vm_readv...", look_into },
	{ "kill", "PID...", signal_pids },
	{ "kill-init", NULL, signal_init },
	{ "kill-by-file", "PID", signal_by_file },
	{ "see", "NAME", see },
	{ "survive", "SECONDS", survive },
	{ NULL, NULL, NULL },
};
