/*
 * The request language of cloche-init: fixed binary messages over one SOCK_SEQPACKET socket pair (docs/protocols.md).
 *
 * One message is one packet. Both ends run on the same kernel and come from the same build, so integers are in host order
 * and structures are exchanged as they lie in memory. Init parses nothing else, and checks every length and count here:
 * a message that does not fit its description exactly is refused with INITMSG_REFUSED (errno EPROTO), never repaired.
 *
 *   client → init   SPAWN   start a command; carries exactly three descriptors: its stdin, stdout, stderr
 *                   KILL    end a command with everything that descends from it
 *                   SIGNAL  pass a signal to a command's first process group, or (id 0) to the server
 *   init → client   STARTED the command has been executed
 *                   REFUSED the command could not be started; it is over, no EXITED follows
 *                   EXITED  the command's first process has ended and everything it left behind was killed
 */
#pragma once

#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

/* Where programs of cloche find the descriptors that the one before them left open. */
enum {
	INITMSG_CONTROL_FD = 3, /* in cloche-init: the socket to the supervisor */
	INITMSG_PROGRAM_FD = 4, /* in cloche-init: the program cloche-mcp, when it is to be served */
	INITMSG_FILTER_FD = 5,  /* in cloche-init: a filter for commands (filterform.h), when it is not a built-in one */
	INITMSG_VIEW_FD = 6,    /* in cloche-init: read-only views of the workspace and (7) the repository (init/reprotect.h) */
	INITMSG_VIEWS = 2,
	INITMSG_CGROUP_FD = 8,  /* in cloche-init: the sandbox's cgroup as a detached mount, where there is one (kern/cgroup.h) */
	INITMSG_POLICY_FD = 9,  /* in cloche-init: what cloche-mcp is to tell of the sandbox, JSON text in a sealed memory file */
	INITMSG_SERVER_FD = 3,  /* in cloche-mcp: the socket to cloche-init */
	INITMSG_SERVER_POLICY_FD = 4, /* in cloche-mcp: INITMSG_POLICY_FD, with --policy-fd */
};

enum initmsg_type {
	INITMSG_SPAWN = 1,
	INITMSG_KILL,
	INITMSG_SIGNAL,
	INITMSG_STARTED,
	INITMSG_REFUSED,
	INITMSG_EXITED,
};

enum {
	INITMSG_MAX = 160 * 1024,      /* bytes of one message, strings included */
	INITMSG_ARGC_MAX = 4096,       /* argument strings */
	INITMSG_ENVC_MAX = 64,         /* extra environment strings */
	INITMSG_STRING_MAX = 131072,   /* one string with its NUL: the kernel's MAX_ARG_STRLEN */
	INITMSG_COMMANDS_MAX = 64,     /* commands alive at once */
	INITMSG_SPAWN_FDS = 3,
	INITMSG_DENIALS_MAX = 8,       /* kinds of refused system calls that are told of one command */
};

struct initmsg_head {
	uint32_t type; /* enum initmsg_type */
	uint32_t id;   /* chosen by the client, unique among its live commands, never 0 */
};

/* What commands may use at most. In a request, 0 means: as the sandbox; in an answer: no limit. */
struct initmsg_limits {
	uint64_t memory;    /* bytes */
	uint32_t cpu_milli; /* thousandths of a CPU */
	uint32_t pids;      /* processes and threads */
};

/* Followed by @strings_size bytes: 1 + argc + envc NUL-terminated strings: working directory, arguments, environment. */
struct initmsg_spawn {
	struct initmsg_head head;
	uint32_t argc; /* at least 1; argv[0] without a slash is looked up in the sandbox's PATH */
	uint32_t envc; /* "NAME=value" strings that replace or extend the sandbox's environment */
	uint32_t strings_size;
	uint32_t reserved; /* 0 */
	struct initmsg_limits limits; /* of this command; what is above the sandbox's is cut to it */
};

struct initmsg_kill {
	struct initmsg_head head;
};

struct initmsg_signal {
	struct initmsg_head head;
	uint32_t signo;    /* 1 … 31 */
	uint32_t reserved; /* 0 */
};

struct initmsg_started {
	struct initmsg_head head;
};

enum initmsg_step {
	INITMSG_STEP_REQUEST = 1, /* the message itself was wrong or a limit was reached */
	INITMSG_STEP_SETUP,       /* namespaces, /proc, descriptors, capabilities, filter */
	INITMSG_STEP_CWD,         /* the working directory */
	INITMSG_STEP_EXEC,        /* execve(2) */
};

struct initmsg_refused {
	struct initmsg_head head;
	uint32_t step;   /* enum initmsg_step */
	uint32_t errnum; /* positive errno */
};

enum initmsg_killed {
	INITMSG_NOT_KILLED,
	INITMSG_KILLED_ON_REQUEST, /* by a KILL */
	INITMSG_KILLED_MEMORY,     /* by the kernel or init: it used more than it may itself */
	INITMSG_KILLED_MEMORY_ALL, /* … the commands together used more than the sandbox may, and this one was chosen */
};

/* One kind of system call that the filter refused. */
struct initmsg_denial {
	uint32_t nr;     /* of the call, on this architecture */
	uint32_t errnum; /* positive: what it was answered */
	uint32_t times;  /* stays at UINT32_MAX */
};

/* All that were refused to one command, however many. */
struct initmsg_denials {
	uint32_t kinds;  /* rows in use */
	uint32_t others; /* refusals of kinds for which no row was left; stays at UINT32_MAX */
	struct initmsg_denial rows[INITMSG_DENIALS_MAX]; /* in the order of their first time */
};

enum initmsg_measured {
	INITMSG_APPROXIMATE, /* by init, from time to time */
	INITMSG_EXACT,       /* by the kernel: the command had a cgroup of its own */
};

#define INITMSG_UNKNOWN UINT64_MAX /* a figure that could not be had */

/* What a command and all that descended from it used. */
struct initmsg_metrics {
	uint64_t wall_us; /* between start and end */
	uint64_t cpu_user_us, cpu_system_us; /* or INITMSG_UNKNOWN */
	uint64_t memory_peak;               /* bytes; 0: not known */
	uint64_t read_bytes, written_bytes; /* from and to storage; or INITMSG_UNKNOWN */
	uint64_t throttled_us;              /* how long it was held back by a limit of CPUs; or INITMSG_UNKNOWN */
	uint64_t max_rss;                   /* bytes of its largest process; not for people, who confuse it with the peak */
	uint32_t processes_peak;            /* and threads; 0: not known */
	uint32_t pids_refused; /* new processes that were refused for a limit; stays at UINT32_MAX */
	uint32_t oom_kills;    /* processes of it that were killed for want of memory; stays at UINT32_MAX */
	uint32_t measured;     /* enum initmsg_measured */
};

struct initmsg_exited {
	struct initmsg_head head;
	int32_t wait_status; /* as of waitpid(2): use WIFEXITED() and friends */
	uint32_t killed;     /* enum initmsg_killed */
	struct initmsg_metrics metrics;
	struct initmsg_limits limits;  /* what this command could use */
	struct initmsg_limits sandbox; /* what all commands together can use */
	struct initmsg_denials denials;
};

/*
 * Makes the SPAWN request for @argv (NULL-terminated, at least one) in the directory @cwd, without variables of its own, under
 * @limits (NULL: the sandbox's), in the fresh buffer @packet. 0, -E2BIG when a string, their number or all together are more than
 * a message may have, or -ENOMEM; release @packet with buf_done() in any case.
 */
int initmsg_spawn(struct buf *packet, uint32_t id, const char *cwd, const char *const *argv,
		  const struct initmsg_limits *limits) _must_check_;
