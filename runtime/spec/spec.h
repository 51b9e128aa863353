/*
 * What a sandbox is: plain data, filled from the command line, read by everything that builds one. No behaviour here but
 * the defaults (spec_init()) and the release of memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "runtime/base/err.h"

#define SPEC_WORKSPACE "/workspace"
#define SPEC_HOME "/home/agent"
#define SPEC_USER "agent"

enum {
	SPEC_MOUNTS_MAX = 64,
	SPEC_ENV_MAX = 256,
	SPEC_PATH_MAX = 4096,
	SPEC_NAME_MAX = 63,
	SPEC_SERVER_ARGS_MAX = 32,
	SPEC_PROTECT_MAX = 64,
};

/* The most that a caller may set for the server: `cloche mcp` checks it in words, cloche-mcp once more. */
enum {
	SPEC_COMMAND_TIMEOUT_MAX = 86400, /* seconds */
	SPEC_SEARCH_RESULTS_MAX = 100000,
	SPEC_FILE_BYTES_MAX = 1 << 30,    /* of a file that is read or written */
	SPEC_ANSWER_CHARS_MIN = 2000,     /* bytes of the text of one answer: room for what must be said */
	SPEC_ANSWER_CHARS_MAX = 200000,
	SPEC_ANSWER_CHARS = 40000,        /* usual */
};

enum spec_mount_kind {
	SPEC_BIND,
	SPEC_TMPFS,
};

/* One -v, --mount or --tmpfs. */
struct spec_mount {
	enum spec_mount_kind kind;
	const char *source;  /* host path (SPEC_BIND) */
	const char *target;  /* absolute path inside, without "." or ".." components */
	bool read_only;
	bool no_exec;
	uint64_t size;       /* bytes (SPEC_TMPFS) */
	uint32_t mode;       /* of a tmpfs' root */
};

enum spec_workspace {
	SPEC_WORKSPACE_CWD,  /* the current folder: nobody said anything */
	SPEC_WORKSPACE_PATH, /* spec.workspace_path */
	SPEC_WORKSPACE_NONE, /* an empty tmpfs */
};

/* Which ids exist inside, beside uid and gid (--userns). */
enum spec_userns {
	SPEC_USERNS_SINGLE, /* none */
	SPEC_USERNS_SUBID,  /* the caller's subordinate ids, of /etc/subuid and /etc/subgid */
	SPEC_USERNS_AUTO,   /* the subordinate ids where they can be had, else none */
};

/* Layers that may be replaced by something weaker when this host cannot give them (--allow-weaker); bits. */
enum spec_weaker {
	SPEC_WEAKER_PROC = 1 << 0,     /* the /proc of the container around us instead of one of our own */
	SPEC_WEAKER_ROOT = 1 << 1,     /* chroot(2) instead of pivot_root(2): the host's root stays mounted, out of reach */
	SPEC_WEAKER_HOSTNAME = 1 << 2, /* the host's name instead of one of our own */
};

/* Where the sandbox's cgroup is made (--cgroup). */
enum spec_cgroup {
	SPEC_CGROUP_AUTO,    /* the strongest that can be had, or none */
	SPEC_CGROUP_SYSTEMD, /* a scope from the user's systemd (root: the system's) */
	SPEC_CGROUP_PATH,    /* spec.cgroup_path */
	SPEC_CGROUP_NONE,
};

/* Folders in memory that every sandbox has (bits); the workspace only where it is in memory. */
enum spec_folder {
	SPEC_FOLDER_TMP = 1 << 0,
	SPEC_FOLDER_HOME = 1 << 1,
	SPEC_FOLDER_SHM = 1 << 2,
	SPEC_FOLDER_WORKSPACE = 1 << 3,
};

/* What one command may use at most, where that is less than its sandbox; 0 = as the sandbox. */
struct spec_command_limits {
	uint64_t memory;    /* bytes */
	uint64_t cpu_milli; /* thousandths of a CPU */
	uint64_t pids;      /* processes and threads */
};

struct spec_rlimit {
	bool set;
	rlim_t soft, hard;
};

/* Pointers are borrowed from argv, the environment or constants, unless a comment says "owned". */
struct spec {
	enum spec_workspace workspace;
	const char *workspace_path;
	bool workspace_read_only;
	bool workspace_in_memory; /* asked for; it becomes SPEC_WORKSPACE_NONE, unless a folder was named */
	bool allow_home; /* the home directory may be the workspace */
	const char *protect[SPEC_PROTECT_MAX]; /* what is protected beside the list (spec/protected.h), relative to the workspace */
	size_t protect_count;
	const char *unprotect[SPEC_PROTECT_MAX]; /* what is not, with all below it */
	size_t unprotect_count;
	bool unprotect_all;

	struct spec_mount mounts[SPEC_MOUNTS_MAX];
	size_t mount_count;
	size_t mounts_settled; /* of them, those that a later one at the same target replaces: see spec_settle_mounts() */
	uint64_t tmp_size, home_size, shm_size; /* bytes */
	uint64_t workspace_size;                /* of one in memory */
	unsigned int sized; /* enum spec_folder: those whose size was said, see spec_settle_sizes() */
	bool tmp_no_exec, home_no_exec, shm_no_exec;

	uid_t uid; /* inside */
	gid_t gid;
	enum spec_userns userns;
	unsigned int allow_weaker; /* enum spec_weaker: what the caller accepts */
	unsigned int weaker;       /* of these, what this host cannot give (runtime/life/graded.h) */
	const char *hostname;
	const char *name; /* --name, or NULL: for `cloche ps` and `cloche kill` */
	const char *workdir; /* inside, absolute */

	const char *env[SPEC_ENV_MAX]; /* "NAME=value" of -e and --env-file */
	size_t env_count;
	char *owned[SPEC_ENV_MAX]; /* memory that entries above point into; owned */
	size_t owned_count;

	uint64_t memory;     /* bytes, 0 = unlimited */
	uint64_t cpu_milli;  /* thousandths of a CPU, 0 = unlimited */
	uint64_t memory_swap; /* bytes of memory and swap together, 0 = no swap, UINT64_MAX = no limit of swap */
	uint64_t cpu_shares; /* weight against others, as Docker counts it: 1024 is usual; 0 = not said */
	uint64_t pids;       /* processes and threads, 0 = unlimited */
	struct spec_command_limits command;
	enum spec_cgroup cgroup;
	bool require_limits; /* refuse to start where the kernel cannot hold the limits */
	const char *cgroup_path; /* absolute, of a directory of a cgroup2 file system */
	struct spec_rlimit rlimits[RLIM_NLIMITS];

	const char *filter_path; /* of a system-call filter of the user's, or NULL: the built-in one */
	bool allow_debug;        /* debuggers may trace inside one command */

	const char *server_args[SPEC_SERVER_ARGS_MAX]; /* options for cloche-mcp, from the contract's environment variables */
	size_t server_arg_count;
};

void spec_init(struct spec *spec);
void spec_done(struct spec *spec);
#define _cleanup_spec_ _cleanup_(spec_done)

/* The name of a resource limit, RLIMIT_*, as --ulimit has it; NULL for what has none. */
const char *spec_limit_name(int resource);

/* Keeps @memory (from malloc) until spec_done(). -ENOSPC when there are too many, then @memory is released. */
int spec_own(struct spec *spec, char *memory) _must_check_;

/*
 * Adds a mount. -ENOSPC when there are too many, -EEXIST when its target has one already; @err is filled. One that was there
 * before spec_settle_mounts() gives way instead: flags go before what a profile said.
 */
int spec_add_mount(struct spec *spec, const struct spec_mount *mount, struct err *err) _must_check_;

void spec_settle_mounts(struct spec *spec);

/*
 * Gives the folders in memory about whose size nothing was said theirs: the usual one, or a part of the memory limit where that is
 * less, so that all of them full leave something to work with. To be called when all is said; calling it again changes nothing.
 */
void spec_settle_sizes(struct spec *spec);

/* Sets "NAME=value"; a later one replaces an earlier one of the same name. */
int spec_add_env(struct spec *spec, const char *assignment, struct err *err) _must_check_;

/*
 * Checks a path that somebody wants to see inside: absolute, no "." or ".." components, no double slashes, not too long,
 * no control characters. @what names it in the message.
 */
int spec_check_target(const char *what, const char *path, struct err *err) _must_check_;
