/*
 * The walls of the sandbox by name, so that a test build can leave one out.
 *
 * An attack that fails proves nothing unless it would succeed without the wall that it attacks. `make MODE=holes` makes the
 * programs a second time, with CLOCHE_TEST_HOLES; only those read CLOCHE_TEST_WITHOUT=NAME[,NAME]... In every other build
 * wall_stands() is the constant true, and neither the names nor the variable are in the programs.
 *
 * The question stands where a wall is built, and nowhere else. Some walls hide behind others; then a test names both. What cannot
 * be left out: the user, mount and outer PID namespace and the id map (nothing else works without them), and setgroups (the
 * kernel takes no map from an ordinary user before it is denied).
 */
#pragma once

#include <stdbool.h>

enum wall {
	WALL_BENEATH,          /* beneath: the server resolves paths below the workspace only; see landlock too */
	WALL_CAPS,             /* caps: everything inside keeps init's CAP_SYS_ADMIN; the bounding set stays full */
	WALL_CGROUPNS,         /* cgroupns: a cgroup namespace of its own */
	WALL_CLOSE_FDS,        /* close-fds: the caller's descriptors close (3 and 4 are always overwritten) */
	WALL_DEV,              /* dev: a small /dev; without, the host's is bound (with its devices dead unless nodev is missing too) */
	WALL_DUMPABLE,         /* dumpable: supervisor, init, shims and server cannot be looked into */
	WALL_ENV,              /* env: a closed environment */
	WALL_FRESH_PROC,       /* fresh-proc: a /proc of its own; without, the host's is bound */
	WALL_HIDEPID,          /* hidepid: /proc hides what may not be looked into */
	WALL_IPCNS,            /* ipcns: IPC namespaces, the sandbox's and each command's */
	WALL_KEYRING,          /* keyring: a session keyring of its own */
	WALL_LANDLOCK,         /* landlock: of commands and of the server */
	WALL_LIMITS,           /* limits: resource limits, of commands and on core files */
	WALL_NETNS,            /* netns: a network namespace */
	WALL_NO_NEW_PRIVS,     /* no-new-privs: of commands; seccomp and landlock need it, so name them too */
	WALL_NODEV,            /* nodev: on every mount */
	WALL_NOSUID,           /* nosuid: on every mount */
	WALL_OLD_ROOT,         /* old-root: the host's root is detached; without, it is at "/.." */
	WALL_PARENT_DEATH,     /* parent-death: the kernel kills init with its supervisor (else it must notice the hang-up itself) */
	WALL_PIDNS,            /* pidns: each command's PID namespace; without, what it leaves behind lives on too */
	WALL_PIN,              /* pin: folders that lead to read-only mounts cannot be moved */
	WALL_PROC_MASK,        /* proc-mask: names of the user's keys are hidden in /proc */
	WALL_PROGRAM_READONLY, /* program-readonly: our programs are executed from detached read-only mounts */
	WALL_PROTECT,          /* protect: protected paths of the workspace */
	WALL_READONLY,         /* readonly: binds that are not to be written */
	WALL_ROOT_READONLY,    /* root-readonly: the root itself */
	WALL_SECCOMP,          /* seccomp: the filter of commands */
	WALL_SECCOMP_INIT,     /* seccomp-init: the filter of init */
	WALL_SECCOMP_SERVER,   /* seccomp-server: the filter of the server */
	WALL_SESSION,          /* session: a session of its own, without the caller's terminal; without it, job control goes too */
	WALL_STREAMS,          /* streams: directories and looked-up paths are refused as standard streams */
	WALL_UCOUNTS,          /* ucounts: no user namespaces inside, few watchers */
	WALL_UTSNS,            /* utsns: a UTS namespace */
	WALL_COUNT,
};

#ifdef CLOCHE_TEST_HOLES

bool wall_stands(enum wall w);

/* The names of the missing walls as they were given, or NULL. */
const char *wall_missing(void);

/* In `cloche`: reads the environment. Ends the program on an unknown name, so that no test is deceived by a slip. */
void wall_from_environment(void);

/* In the programs inside: takes the words `--without NAMES` off the front of the arguments. */
void wall_from_arguments(int *argc, char ***argv);

#else

static inline bool wall_stands(enum wall w)
{
	(void) w;
	return true;
}

static inline const char *wall_missing(void)
{
	return 0;
}

static inline void wall_from_environment(void)
{
}

static inline void wall_from_arguments(int *argc, char ***argv)
{
	(void) argc;
	(void) argv;
}

#endif
