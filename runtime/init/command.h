/*
 * One command inside the sandbox. Those of an MCP session get a PID, a mount and an IPC namespace of their own:
 *
 *   init ──clone──► shim (PID 1 of the command's namespace: mounts its /proc, reaps, passes signals on)
 *                     └──fork──► the command (PID 2: no capabilities, filtered system calls)
 *
 * What the filter refuses to the command is answered and remembered by the shim (notify.h): the command's process loads the
 * filter, sends the filter's listener to the shim, and loses its own copy at the exec.
 *
 * The shim exists because a process that is PID 1 ignores signals that it has no handler for; the command must be an
 * ordinary process. When the command ends, the shim ends, and the kernel kills everything else in the namespace, whatever
 * session or group it hid in. The shim has no capability left once the command runs, is not dumpable and is invisible to the
 * command (proc's hidepid).
 *
 * `cloche run` has one command only, so there init itself is the shim (single.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/init/notify.h"
#include "runtime/kern/seccomp.h"
#include "runtime/spec/initmsg.h"

enum { COMMAND_LIMITS_MAX = RLIM_NLIMITS + 4 };

struct command_limit {
	int resource;
	rlim_t soft, hard;
};

/* Limits for every command, from init's arguments. */
struct command_limits {
	struct command_limit rows[COMMAND_LIMITS_MAX];
	size_t count;
};

/* What to execute. Pointers into the request. */
struct command_request {
	const char *cwd;
	const char *const *argv; /* NULL-terminated */
	const char *const *envp; /* NULL-terminated, complete */
	const int *stdio;        /* INITMSG_SPAWN_FDS descriptors; borrowed */
	const struct command_limits *limits;
	bool shared_proc; /* no procfs can be mounted here: the command keeps the sandbox's */
	const struct seccomp_program *filter;
	struct initmsg_denials *denials; /* all zero; in memory that the shim shares with who reads them */
	/* Filled by govern_begin(). */
	int cgroup_fd;        /* the cgroup that its first process is cloned into, or -EBADF; borrowed */
	bool has_ipcns;       /* the caller is in the IPC namespace that the command shall have */
	uint32_t tasks_limit; /* RLIMIT_NPROC where it is lower than in @limits; 0: none */
	uint32_t tasks_near;  /* so many are next to that limit */
};

/* What the shim tells init through the report pipe. */
struct command_report {
	uint32_t type; /* INITMSG_STARTED, INITMSG_REFUSED or INITMSG_EXITED */
	uint32_t step; /* of INITMSG_REFUSED */
	uint32_t errnum;
	int32_t wait_status; /* of INITMSG_EXITED, with what follows */
	uint64_t cpu_user_us, cpu_system_us, max_rss_kib;
	uint64_t read_bytes, written_bytes; /* from and to storage, or INITMSG_UNKNOWN */
	uint32_t tasks_least; /* that there were in the sandbox when the command ended: tasks_near of the request; 0: fewer, or not known */
};

/*
 * Starts the shim of a command. Returns its process id and stores the read end of its report pipe (non-blocking, owned) in
 * *@ret_report_fd; or -errno. The pipe ends when the shim is gone.
 */
pid_t command_start(const struct command_request *req, int *ret_report_fd) _must_check_;

/* Why a command could not be started. */
struct command_failure {
	uint32_t step; /* enum initmsg_step */
	uint32_t errnum;
};

/*
 * Starts the command itself as a child of the caller and waits until it has been executed. Its standard streams are the
 * caller's. Returns its process id, with @notify ready to be served, or -1 with @failure filled.
 */
pid_t command_execute(const struct command_request *req, struct notify *notify, struct command_failure *failure);

/* Reaps every child that has ended. True when @command was among them: then its status and usage are in @report. */
bool command_reap(pid_t command, struct command_report *report);

/* The command has ended: fills tasks_least of @report, if it has left processes behind. To be called by PID 1 of its namespace. */
void command_count_leftovers(const struct command_request *req, struct command_report *report);
