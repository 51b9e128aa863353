/*
 * Attacks on namespaces: making new ones, in which one has every capability, and entering others. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/sysx.h"
#include "tests/escape/attack.h"

static const struct {
	const char *name;
	int flag;
} kinds[] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },     { "pid", CLONE_NEWPID }, { "net", CLONE_NEWNET },
	{ "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS },    { "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
};

static int flag_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds) && name; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].flag;
	return 0;
}

static enum verdict by_unshare(char **args)
{
	int flag = flag_of(args[0]);

	return flag ? attack_result(unshare(flag), args[0]) : NOT_TRIED;
}

static enum verdict cloned(pid_t pid, const char *what)
{
	if (pid == 0)
		_exit(0);
	return attack_result(pid, what);
}

static enum verdict by_clone(char **args)
{
	int flag = flag_of(args[0]);

	return flag ? cloned((pid_t) syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0), args[0]) : NOT_TRIED;
}

static enum verdict by_clone3(char **args)
{
	struct clone_args how = { .flags = (unsigned int) flag_of(args[0]), .exit_signal = SIGCHLD };

	return how.flags ? cloned(sysx_clone3(&how), args[0]) : NOT_TRIED;
}

/* Enters a namespace of another process: of @args[0], or any that can be opened. */
static enum verdict enter(char **args)
{
	enum verdict v = REFUSED;
	char path[128];

	for (; *args; args++)
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
			(void) snprintf(path, sizeof(path), "/proc/%s/ns/%s", *args, kinds[i].name);
			int fd = open(path, O_RDONLY | O_CLOEXEC);
			if (attack_result(fd < 0 ? fd : setns(fd, 0), path) == SUCCEEDED)
				v = SUCCEEDED;
		}
	return v;
}

/* Leaves the groups, so that a file which denies one of them can be read. */
static enum verdict leave_groups(_unused_ char **args)
{
	return attack_result(setgroups(0, NULL), "setgroups");
}

static enum verdict become(_unused_ char **args)
{
	enum verdict v = REFUSED;

	for (uid_t id = 0; id < 3; id++)
		if ((id != getgid() && attack_result(setresgid(id, id, id), "setresgid") == SUCCEEDED) ||
		    (id != getuid() && attack_result(setresuid(id, id, id), "setresuid") == SUCCEEDED))
			v = SUCCEEDED;
	return v;
}

/* The host's name is known, though it was not told. */
static enum verdict host_name(char **args)
{
	struct utsname name;

	if (!args[0] || uname(&name) < 0)
		return NOT_TRIED;
	printf("nodename: %s\n", name.nodename);
	return strcmp(name.nodename, args[0]) == 0 ? SUCCEEDED : REFUSED;
}

const struct attack namespace_attacks[] = {
	{ "unshare", "user|mnt|pid|net|ipc|uts|cgroup|time", by_unshare },
	{ "clone", "user|...", by_clone },
	{ "clone3", "user|...", by_clone3 },
	{ "setns", "PID...", enter },
	{ "setgroups", NULL, leave_groups },
	{ "setuid", NULL, become },
	{ "host-name", "NAME", host_name },
	{ NULL, NULL, NULL },
};
