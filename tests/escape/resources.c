/*
 * Attacks on what is shared with everybody else on the machine: processes, memory, priorities, watchers. Each stops by itself well
 * before it would hurt a machine without any wall. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/sysx.h"
#include "tests/escape/attack.h"

enum { MIB = 1024 * 1024 };

static unsigned long number(char **args)
{
	return args[0] ? strtoul(args[0], NULL, 10) : 0;
}

/* More processes than @args[0]. */
static enum verdict fork_bomb(char **args)
{
	unsigned long limit = number(args), made = 0;

	if (limit == 0 || setpgid(0, 0) < 0)
		return NOT_TRIED;
	while (made <= limit) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				(void) pause();
		if (pid < 0)
			break;
		made++;
	}
	printf("processes: %lu\n", made);
	(void) signal(SIGTERM, SIG_IGN);
	(void) kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return made > limit ? SUCCEEDED : REFUSED;
}

/* More private memory than @args[0] MiB, in one process. */
static enum verdict memory_private(char **args)
{
	unsigned long limit = number(args), got = 0;

	if (limit == 0)
		return NOT_TRIED;
	for (; got <= limit; got++) {
		char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			break;
		memset(p, 1, MIB);
	}
	printf("MiB: %lu\n", got);
	return got > limit ? SUCCEEDED : REFUSED;
}

/* The same, shared: nothing that is one process's own. */
static enum verdict memory_shared(char **args)
{
	unsigned long limit = number(args), got = 0;
	int fd = memfd_create("x", MFD_CLOEXEC);
	static char block[MIB];

	if (limit == 0 || fd < 0)
		return NOT_TRIED;
	memset(block, 1, sizeof(block));
	while (got <= limit && write(fd, block, sizeof(block)) == (ssize_t) sizeof(block))
		got++;
	printf("MiB: %lu\n", got);
	return got > limit ? SUCCEEDED : REFUSED;
}

/* Before everybody else: real time, a negative nice value, locked memory. */
static enum verdict priority(char **args)
{
	struct sched_param first = { .sched_priority = 1 };
	enum verdict v = NOT_TRIED;

	for (; *args; args++) {
		long r = -1;
		if (strcmp(*args, "realtime") == 0)
			r = syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first);
		else if (strcmp(*args, "nice") == 0)
			r = setpriority(PRIO_PROCESS, 0, -10);
		v = attack_result(r, *args) == SUCCEEDED || v == SUCCEEDED ? SUCCEEDED : REFUSED;
	}
	return v;
}

/* The user's programs outside share the count of inotify instances. */
static enum verdict watchers(char **args)
{
	unsigned long limit = number(args), got = 0;

	while (got <= limit && inotify_init1(IN_CLOEXEC) >= 0)
		got++;
	printf("instances: %lu\n", got);
	return limit == 0 ? NOT_TRIED : got > limit ? SUCCEEDED : REFUSED;
}

/*
 * A crash is handed to a program of the host when core_pattern says so: then no limit of size is looked at, but for one, 1, which
 * says no. Can a command set another?
 */
static enum verdict core_dump(_unused_ char **args)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit now;

	if (sysx_prlimit(RLIMIT_CORE, NULL, &now) < 0)
		return NOT_TRIED;
	IGNORE_RESULT(sysx_prlimit(RLIMIT_CORE, &none, NULL));
	void *low = mmap((void *) (uintptr_t) (1UL << 32), 4096, PROT_READ | PROT_WRITE, /* NOLINT(performance-no-int-to-ptr) */
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); /* an address whose low half is 0 */
	if (low != MAP_FAILED) {
		memcpy(low, &none, sizeof(none));
		IGNORE_RESULT(sysx_prlimit(RLIMIT_CORE, low, NULL));
	}
	IGNORE_RESULT(setrlimit(RLIMIT_CORE, &none));
#ifdef SYS_setrlimit
	IGNORE_RESULT((int) syscall(SYS_setrlimit, RLIMIT_CORE, &none));
#endif
	if (sysx_prlimit(RLIMIT_CORE, NULL, &now) < 0)
		return NOT_TRIED;
	printf("core: soft %llu, hard %llu\n", (unsigned long long) now.rlim_cur, (unsigned long long) now.rlim_max);
	return now.rlim_cur == 1 ? REFUSED : SUCCEEDED;
}

const struct attack resource_attacks[] = {
	{ "fork-bomb", "LIMIT", fork_bomb },
	{ "memory-private", "MIB", memory_private },
	{ "memory-shared", "MIB", memory_shared },
	{ "priority", "realtime|nice...", priority },
	{ "watchers", "LIMIT", watchers },
	{ "core-dump", NULL, core_dump },
	{ NULL, NULL, NULL },
};
