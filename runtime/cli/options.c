/*
 * The options of `cloche run` and `cloche mcp`: see options.h.
 *
 * Docker's spellings are used where the meaning is shared, so that a config line can be carried over. What Docker knows and
 * cloche does not do falls into two groups: options that ask for what always holds here are accepted (--rm, --init,
 * --read-only, --cap-drop), options that ask for less isolation, or for something we would have to ignore, are refused by
 * name with the reason.
 */
#include "runtime/cli/options.h"

#include <string.h>

#include "runtime/cli/command.h"
#include "runtime/cli/setters.h"

void options_init(struct options *o)
{
	memset(o, 0, sizeof(*o));
	spec_init(&o->spec);
}

void options_done(struct options *o)
{
	spec_done(&o->spec);
}

/* An option of Docker's that cloche refuses. Not shown in the help; @why_not completes "option '--x' ...". */
#define REFUSED(option_name, option_letter, option_arg, why_not)                                                       \
	{                                                                                                              \
		.name = (option_name), .letter = (option_letter), .arg = (option_arg), .groups = GROUP_SANDBOX,        \
		.set = set_refused, .data = (why_not)                                                                  \
	}

const struct opt options_table[] = {
	{ .name = "help", .letter = 'h', .groups = GROUP_SANDBOX | GROUP_DOCTOR, .set = set_help, .help = "print this help and exit" },

	/* the workspace and other files */
	{ .name = "workspace", .arg = "DIR", .groups = GROUP_RUN, .set = set_workspace,
	  .help = "the host folder at /workspace; 'none' for an empty one",
	  .detail = "Without it the current folder is the workspace." },
	{ .name = "allow-home", .groups = GROUP_SANDBOX, .set = set_allow_home,
	  .help = "let the workspace be (or contain) your home directory",
	  .detail = "Normally refused, since it hands the agent every key and setting in it." },
	{ .name = "volume", .letter = 'v', .arg = "HOST:INSIDE[:ro]", .groups = GROUP_SANDBOX, .set = set_volume,
	  .help = "show a host file or folder inside",
	  .detail = "A volume at /workspace is the workspace. Writable unless :ro is given. The target is made where it does not "
		    "exist, but never in a folder of the host." },
	{ .name = "mount", .arg = "type=bind|tmpfs,...", .groups = GROUP_SANDBOX, .set = set_mount,
	  .help = "the long form of --volume and --tmpfs",
	  .detail = "Keys: type, source (src), target (dst, destination), readonly (ro), tmpfs-size, tmpfs-mode." },
	{ .name = "tmpfs", .arg = "INSIDE[:OPTIONS]", .groups = GROUP_SANDBOX, .set = set_tmpfs,
	  .help = "an empty folder in memory",
	  .detail = "Options: size=SIZE, mode=OCTAL, noexec, and those that always hold (rw, nosuid, nodev). /tmp, /home/agent and "
		    "/dev/shm are such folders already; naming one of them changes its size." },
	{ .name = "shm-size", .arg = "SIZE", .groups = GROUP_SANDBOX, .set = set_shm_size, .help = "size of /dev/shm (256m)" },
	{ .name = "read-only", .groups = GROUP_SANDBOX, .set = set_always_true,
	  .help = "the root is read-only: always so", .detail = "Accepted for Docker's sake. For the workspace use -v DIR:/workspace:ro." },

	/* the process inside */
	{ .name = "workdir", .letter = 'w', .arg = "DIR", .groups = GROUP_SANDBOX, .set = set_workdir,
	  .help = "working directory inside (/workspace)",
	  .detail = "For mcp only /workspace is possible." },
	{ .name = "env", .letter = 'e', .arg = "NAME[=VALUE]", .groups = GROUP_SANDBOX, .set = set_env,
	  .help = "set a variable inside; without a value, pass yours",
	  .detail = "Nothing of your environment is passed unless named here." },
	{ .name = "env-file", .arg = "FILE", .groups = GROUP_SANDBOX, .set = set_env_file,
	  .help = "set the variables listed in a file, one NAME=VALUE a line" },
	{ .name = "user", .letter = 'u', .arg = "UID[:GID]", .groups = GROUP_SANDBOX, .set = set_user,
	  .help = "numeric ids inside (1000:1000)",
	  .detail = "Files made in the workspace belong to you on the host whatever the number inside." },
	{ .name = "hostname", .arg = "NAME", .groups = GROUP_SANDBOX, .set = set_hostname, .help = "host name inside (cloche)" },
	{ .name = "name", .arg = "NAME", .groups = GROUP_SANDBOX, .set = set_name, .help = "a name to find this sandbox by (it shows in ps)" },
	{ .name = "interactive", .letter = 'i', .groups = GROUP_SANDBOX, .set = set_always_true,
	  .help = "standard input is passed: always so" },
	{ .name = "tty", .letter = 't', .groups = GROUP_RUN, .set = set_always_true,
	  .help = "your terminal is passed through as it is: always so",
	  .detail = "There is no second terminal in between, hence no job control inside." },
	{ .name = "rm", .groups = GROUP_SANDBOX, .set = set_always_true, .help = "nothing is kept afterwards: always so" },
	{ .name = "init", .groups = GROUP_SANDBOX, .set = set_always_true, .help = "an init process reaps inside: always so" },

	/* limits */
	{ .name = "memory", .letter = 'm', .arg = "SIZE", .groups = GROUP_SANDBOX, .set = set_memory,
	  .help = "memory of each process (4g), 0 for no limit",
	  .detail = "Today it bounds the private data of each single process (RLIMIT_DATA), not the sum; /tmp, the home and /dev/shm "
		    "have sizes of their own. Programs that reserve far more than they use, such as those built with "
		    "AddressSanitizer or ThreadSanitizer, need 0." },
	{ .name = "cpus", .arg = "N", .groups = GROUP_SANDBOX, .set = set_cpus, .help = "number of CPUs, rounded up to whole ones",
	  .detail = "Such as 2 or 0.5. Today the sandbox is bound to that many of the CPUs." },
	{ .name = "pids-limit", .arg = "N", .groups = GROUP_SANDBOX, .set = set_pids,
	  .help = "processes and threads of a sandbox (512), -1 for no limit" },
	{ .name = "ulimit", .arg = "NAME=SOFT[:HARD]", .groups = GROUP_SANDBOX, .set = set_ulimit,
	  .help = "a resource limit for commands, as in nofile=1024:2048",
	  .detail = "Names: core, cpu, data, fsize, locks, memlock, msgqueue, nice, nofile, nproc, rss, rtprio, rttime, sigpending, stack, as. "
		    "A limit can only be lowered below your own. core is always 0." },

	/* isolation, always on */
	{ .name = "network", .alias = "net", .arg = "none", .groups = GROUP_SANDBOX, .set = set_network,
	  .help = "no network but loopback: always so" },
	{ .name = "cap-drop", .arg = "CAPABILITY", .groups = GROUP_SANDBOX, .set = set_cap_drop,
	  .help = "all capabilities are dropped: always so" },
	{ .name = "security-opt", .arg = "OPTION", .groups = GROUP_SANDBOX, .set = set_security_opt,
	  .help = "only no-new-privileges, which always holds" },

	/* the server */
	{ .name = "log-level", .arg = "LEVEL", .groups = GROUP_MCP, .set = set_log_level,
	  .help = "what the server tells on stderr (error); also LOG_LEVEL",
	  .detail = "One of debug, info, notice, warning, error, critical. It goes before the variable LOG_LEVEL." },
	{ .name = "structured-output", .groups = GROUP_MCP, .set = set_structured_output,
	  .help = "repeat each answer as structuredContent {\"result\": ...}" },
	{ .name = "json", .groups = GROUP_DOCTOR, .set = set_json, .help = "print the findings as JSON" },

	REFUSED("privileged", 0, NULL, "would give the sandbox the host: cloche never does that"),
	REFUSED("cap-add", 0, "CAPABILITY", "is not possible: nothing inside ever has a capability"),
	REFUSED("device", 0, "DEVICE", "is not possible: the sandbox sees no devices of the host"),
	REFUSED("gpus", 0, "GPUS", "is not possible: the sandbox sees no devices of the host"),
	REFUSED("pid", 0, "MODE", "is not possible: the sandbox always has its own process ids"),
	REFUSED("ipc", 0, "MODE", "is not possible: the sandbox always has its own IPC namespace"),
	REFUSED("uts", 0, "MODE", "is not possible: the sandbox always has its own UTS namespace"),
	REFUSED("userns", 0, "MODE", "is not possible: the sandbox always has its own user namespace"),
	REFUSED("cgroupns", 0, "MODE", "is not possible: the sandbox always has its own cgroup namespace"),
	REFUSED("cgroup-parent", 0, "PATH", "is not supported yet"),
	REFUSED("publish", 'p', "PORT", "is not possible: the sandbox has no network"),
	REFUSED("add-host", 0, "HOST", "is not possible: the sandbox has no network"),
	REFUSED("dns", 0, "ADDRESS", "is not possible: the sandbox has no network"),
	REFUSED("group-add", 0, "GROUP", "is not possible: the sandbox has one user and one group"),
	REFUSED("detach", 'd', NULL, "is not possible: a sandbox lives and dies with the program that started it"),
	REFUSED("restart", 0, "POLICY", "is not possible: a sandbox lives and dies with the program that started it"),
	REFUSED("entrypoint", 0, "COMMAND", "is not needed: give the command itself"),
	REFUSED("memory-swap", 0, "SIZE", "is not supported yet: use --memory"),
	REFUSED("cpu-shares", 0, "N", "is not supported yet: use --cpus"),
	REFUSED("cpuset-cpus", 0, "LIST", "is not supported yet: use --cpus, or start cloche under taskset"),
	REFUSED("volumes-from", 0, "NAME", "is not possible: there are no other containers. Use -v"),
	REFUSED("platform", 0, "PLATFORM", "is not possible: the root is composed from this host"),
	REFUSED("pull", 0, "POLICY", "is not needed: there is no image to pull"),
	{ .name = NULL },
};
