/*
 * The options of `cloche run` and `cloche mcp`: see options.h.
 *
 * Docker's spellings are used where the meaning is shared, so that a config line can be carried over. What Docker knows and
 * cloche does not do falls into two groups: options that ask for what always holds here are accepted (--rm, --init,
 * --read-only, --cap-drop), options that ask for less isolation, or for something we would have to ignore, are refused by
 * name with the reason.
 */
#include "runtime/cli/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/command.h"
#include "runtime/cli/setters.h"

void options_init(struct options *o)
{
	memset(o, 0, sizeof(*o));
	spec_init(&o->spec);
	o->profile = o->narrowing = (struct profile) PROFILE_NONE;
}

void options_done(struct options *o)
{
	spec_done(&o->spec);
	free(o->by_profile);
	profile_done(&o->profile);
	profile_done(&o->narrowing);
}

/* An option of Docker's that cloche refuses. Not shown in the help; @why_not completes "option '--x' ...". */
#define REFUSED(option_name, option_letter, option_arg, why_not)                                                       \
	{                                                                                                              \
		.name = (option_name), .letter = (option_letter), .arg = (option_arg), .groups = GROUP_SANDBOX,        \
		.set = set_refused, .data = (why_not)                                                                  \
	}

/* An option without a value that sets one bool of struct options. */
#define SWITCH(member) .set = set_switch, .data = &(const size_t) { offsetof(struct options, member) }

const struct opt options_table[] = {
	{ .name = "help", .letter = 'h', .groups = GROUP_COMMANDS, .set = set_help, .help = "print this help and exit" },

	/* where the others come from */
	{ .name = "profile", .arg = "NAME|FILE", .groups = GROUP_SANDBOX, .set = set_profile,
	  .help = "start from a profile: airgap, strict, interpreter, or yours",
	  .detail = "A profile is a set of these options, by name or in a JSON file (with a slash in its path, or .json at its end). "
		    "Options that are written out go before those of the profile. Also CLOCHE_PROFILE. See: cloche profile ls." },
	{ .name = "workspace-profile", .groups = GROUP_SANDBOX, SWITCH(workspace_profile),
	  .help = "let .cloche.json in the workspace narrow the sandbox",
	  .detail = "Without it that file, which an agent may have written, is not read. With it, it may only take away: less memory, a "
		    "read-only workspace. Anything else in it is an error." },

	/* the workspace and other files */
	{ .name = "workspace", .arg = "DIR", .groups = GROUP_RUN, .set = set_workspace,
	  .help = "the host folder at /workspace; 'none' for an empty one",
	  .detail = "Without it the current folder is the workspace." },
	{ .name = "workspace-mode", .arg = "rw|ro|tmpfs", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_workspace_mode,
	  .help = "the workspace is writable (rw), read-only, or empty in memory",
	  .detail = "With ro, a volume or tmpfs directly in the workspace needs no folder there to be mounted at: --tmpfs /workspace/build. The "
		    "workspace is then shown entry by entry, so that what appears in it later on the host is not seen. With tmpfs, "
		    "--tmpfs /workspace:size=SIZE sets its size (1g, or a quarter of --memory where that is less)." },
	{ .name = "allow-home", .groups = GROUP_SANDBOX, SWITCH(spec.allow_home),
	  .help = "let the workspace be (or contain) your home directory",
	  .detail = "Normally refused, since it hands the agent every key and setting in it." },
	{ .name = "volume", .letter = 'v', .arg = "HOST:INSIDE[:ro]", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_volume,
	  .help = "show a host file or folder inside",
	  .detail = "A volume at /workspace is the workspace. Writable unless :ro is given. The target is made where it does not "
		    "exist, but never in a folder of the host." },
	{ .name = "mount", .arg = "type=bind|tmpfs,...", .groups = GROUP_SANDBOX, .set = set_mount,
	  .help = "the long form of --volume and --tmpfs",
	  .detail = "Keys: type, source (src), target (dst, destination), readonly (ro), tmpfs-size, tmpfs-mode." },
	{ .name = "tmpfs", .arg = "INSIDE[:OPTIONS]", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_tmpfs,
	  .help = "an empty folder in memory",
	  .detail = "Options: size=SIZE, mode=OCTAL, noexec, exec, and those that always hold (rw, nosuid, nodev). /tmp, /home/agent and "
		    "/dev/shm are such folders already; naming one of them changes what is said. /workspace becomes one. Without a size, /tmp, "
		    "/home/agent and /workspace have 1g or a quarter of --memory, whichever is less, and others 64m." },
	{ .name = "shm-size", .arg = "SIZE", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_shm_size,
	  .help = "size of /dev/shm (256m, or a 16th of --memory)",
	  .detail = "Without it, 256m or a sixteenth of --memory, whichever is less." },
	{ .name = "read-only", .groups = GROUP_SANDBOX, .set = set_always_true,
	  .help = "the root is read-only: always so", .detail = "Accepted for Docker's sake. For the workspace use -v DIR:/workspace:ro." },

	{ .name = "protect", .arg = "PATH", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_protect,
	  .help = "keep a path of the workspace read-only",
	  .detail = "Beside what is protected anyway, because programs of the host would run or trust it: git hooks and settings, settings "
		    "of agents and editors, .envrc, .github/workflows and the like. A path that does not exist cannot be made inside." },
	{ .name = "unprotect", .arg = "PATH", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_unprotect,
	  .help = "let a protected path be written; 'all' for all of them",
	  .detail = "With everything below it. An agent that can write such a path can have programs of the host run what it likes: look "
		    "at the changes before you use the folder again." },

	/* the process inside */
	{ .name = "workdir", .letter = 'w', .arg = "DIR", .groups = GROUP_SANDBOX, .set = set_workdir,
	  .help = "working directory inside (/workspace)",
	  .detail = "For mcp only /workspace is possible." },
	{ .name = "env", .letter = 'e', .arg = "NAME[=VALUE]", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_env,
	  .help = "set a variable inside; without a value, pass yours",
	  .detail = "Nothing of your environment is passed unless named here." },
	{ .name = "env-file", .arg = "FILE", .groups = GROUP_SANDBOX, .set = set_env_file,
	  .help = "set the variables listed in a file, one NAME=VALUE a line" },
	{ .name = "user", .letter = 'u', .arg = "UID[:GID]", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_user,
	  .help = "numeric ids inside (1000:1000)",
	  .detail = "Files made in the workspace belong to you on the host whatever the number inside." },
	{ .name = "userns", .arg = "MODE", .groups = GROUP_SANDBOX, .set = set_userns,
	  .help = "ids inside: single (one), subid (yours of /etc/subuid too), auto",
	  .detail = "With subid, the inside id N is the N-th of your subordinate ids, as in rootless Podman, so that files of theirs show "
		    "their numbers instead of nobody's; nothing inside can become one of them. It needs newuidmap and newgidmap (Debian: "
		    "uidmap) and a range in /etc/subuid and /etc/subgid. auto is subid where all of that is there, else single. When root "
		    "starts cloche, the ranges are those of the id that it becomes." },
	{ .name = "hostname", .arg = "NAME", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_hostname, .help = "host name inside (cloche)" },
	{ .name = "name", .arg = "NAME", .groups = GROUP_SANDBOX, .set = set_name, .help = "a name for `cloche ps` and `cloche kill`",
	  .detail = "Several sandboxes may have one name, so that a client may start a session before its last one has ended." },
	{ .name = "interactive", .letter = 'i', .groups = GROUP_SANDBOX, .set = set_always_true,
	  .help = "standard input is passed: always so" },
	{ .name = "tty", .letter = 't', .groups = GROUP_RUN, .set = set_always_true,
	  .help = "your terminal is passed through as it is: always so",
	  .detail = "There is no second terminal in between, hence no job control inside." },
	{ .name = "rm", .groups = GROUP_SANDBOX, .set = set_always_true, .help = "nothing is kept afterwards: always so" },
	{ .name = "init", .groups = GROUP_SANDBOX, .set = set_always_true, .help = "an init process reaps inside: always so" },

	/* limits */
	{ .name = "memory", .letter = 'm', .arg = "SIZE", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_memory,
	  .help = "memory of all commands together (4g), 0 for no limit",
	  .detail = "What is used counts, not what is reserved; files in /tmp, the home and /dev/shm count too. With a control group (see --cgroup) "
		    "the kernel holds it exactly, and a command that needs more is killed with all its processes. Without one it is approximate: "
		    "the sandbox's init adds up what all commands use, the more often the nearer it is to the limit, and kills the command that "
		    "uses the most." },
	{ .name = "memory-swap", .arg = "SIZE", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_memory_swap,
	  .help = "memory and swap together, -1 for no limit of swap",
	  .detail = "As with Docker it is the total: --memory 1g --memory-swap 3g allows 2g of swap. The same value as --memory means no "
		    "swap, and so does leaving it out (where Docker allows as much swap as memory)." },
	{ .name = "cpus", .arg = "N", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_cpus, .help = "number of CPUs, such as 2 or 0.5",
	  .detail = "The time on all CPUs together. With a control group exact; without one approximate: as many CPUs as N rounded up, and "
		    "the commands are stopped for moments so that the fraction holds." },
	{ .name = "cpu-shares", .arg = "N", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_cpu_shares,
	  .help = "weight where CPUs are scarce, 2 to 262144; 1024 is usual",
	  .detail = "Of two sandboxes beside each other, the one with twice the number gets twice the time when both want all of it. Needs a control "
		    "group with the controller cpu; without one it has no effect." },
	{ .name = "pids-limit", .arg = "N", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_pids,
	  .help = "processes and threads of a sandbox (512), -1 for no limit",
	  .detail = "Held exactly everywhere. One command gets seven eighths of it at most where there is a control group, so that another can still "
		    "be started beside one that has used up its own." },
	{ .name = "ulimit", .arg = "NAME=SOFT[:HARD]", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_ulimit,
	  .help = "a resource limit for commands, as in nofile=1024:2048",
	  .detail = "Names: core, cpu, data, fsize, locks, memlock, msgqueue, nice, nofile, nproc, rss, rtprio, rttime, sigpending, stack, as. "
		    "A limit can only be lowered below your own. core is left as it is: no core files are made." },
	{ .name = "command-memory", .arg = "SIZE", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_command_memory,
	  .help = "the same as --memory for each command alone",
	  .detail = "At most --memory, which is what one command may use without it. A call of run_bash may name another value, up to --memory." },
	{ .name = "command-cpus", .arg = "N", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_command_cpus,
	  .help = "the same as --cpus for each command alone", .detail = "At most --cpus." },
	{ .name = "command-pids-limit", .arg = "N", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_command_pids,
	  .help = "the same as --pids-limit for each command alone", .detail = "At most --pids-limit." },
	{ .name = "cgroup", .arg = "auto|systemd|PATH|none", .groups = GROUP_SANDBOX | GROUP_DOCTOR, .set = set_cgroup,
	  .help = "where the kernel holds the limits (auto)",
	  .detail = "In a control group (cgroup v2) of the sandbox's own, one below it for each command. With auto it is made where it can be had, the "
		    "strongest first: in the group that this program is in, if that has been delegated to you; as a scope of your systemd manager "
		    "(root: of the system's); as root, or in a container, wherever one can be made. Else there is none, and the limits are "
		    "approximate: cloche doctor says why. systemd and PATH, a directory of a cgroup2 file system that you may write to, ask for one "
		    "by name, and it is an error when it cannot be had." },
	{ .name = "require-limits", .groups = GROUP_SANDBOX | GROUP_DOCTOR | GROUP_IN_PROFILE, SWITCH(spec.require_limits),
	  .help = "do not start where limits would be approximate",
	  .detail = "Refuses to start, with the reason and the repair, where there is no control group, or where it lacks a controller that one of "
		    "the limits needs." },

	/* isolation, always on */
	{ .name = "network", .alias = "net", .arg = "none", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_network,
	  .help = "no network but loopback: always so" },
	{ .name = "cap-drop", .arg = "CAPABILITY", .groups = GROUP_SANDBOX, .set = set_cap_drop,
	  .help = "all capabilities are dropped: always so" },
	{ .name = "security-opt", .arg = "OPTION", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, .set = set_security_opt,
	  .help = "seccomp=FILE: a system-call filter of your own",
	  .detail = "FILE is Docker's JSON. What would undo other walls stays refused whatever FILE says: namespaces, mounts, keyrings, "
		    "tracing (but see --allow-debug), io_uring, foreign ABIs. seccomp=default and seccomp=debug name the built-in filters, "
		    "the second as --allow-debug does. no-new-privileges is accepted too: it always holds." },
	{ .name = "allow-debug", .groups = GROUP_SANDBOX | GROUP_IN_PROFILE, SWITCH(spec.allow_debug),
	  .help = "let debuggers work: gdb, strace, LeakSanitizer",
	  .detail = "Processes of one command may trace each other (ptrace, process_vm_readv), and fix their addresses." },

	{ .name = "allow-weaker", .arg = "LAYER[,LAYER]", .groups = GROUP_SANDBOX | GROUP_DOCTOR, .set = set_allow_weaker,
	  .help = "accept less where a host cannot give more: proc, root, hostname",
	  .detail = "With proc, inside a container that hides parts of /proc: show that container's /proc, read-only, instead of "
		    "refusing to start; the names and command lines of its processes can then be read. With root, on an initramfs: keep the "
		    "host's root mounted, out of reach, instead of detaching it. With hostname, where a container's filter forbids to set one: show "
		    "that container's name. Where the full layer can be had this changes nothing; "
		    "where not, one line on standard error says what is weaker." },

	/* the server */
	{ .name = "log-level", .arg = "LEVEL", .groups = GROUP_MCP, .set = set_log_level,
	  .help = "what the server tells on stderr (error); also LOG_LEVEL",
	  .detail = "One of debug, info, notice, warning, error, critical. It goes before the variable LOG_LEVEL." },
	{ .name = "max-answer-chars", .arg = "N", .groups = GROUP_MCP, .set = set_max_answer_chars,
	  .help = "longest text of one answer (40000); also MAX_ANSWER_CHARS",
	  .detail = "From 2000 to 200000, counted in bytes of UTF-8, of which there are never fewer than characters. What is longer is "
		    "cut, and the answer says what is left out and how to get it. More than a client takes is of no use: see docs/clients.md. It "
		    "goes before the variable MAX_ANSWER_CHARS." },
	{ .name = "structured-output", .groups = GROUP_MCP, SWITCH(structured_output),
	  .help = "repeat each answer as structuredContent {\"result\": ...}" },
	{ .name = "client", .arg = "NAME", .groups = GROUP_CLIENT, .set = set_client,
	  .help = "print how NAME starts this, instead; 'list' for the names",
	  .detail = "The configuration of that MCP client for a server with the other options given: with whole paths, with the time limits that it "
		    "needs, and with those of the variables below that are set. No sandbox is started." },
	{ .name = "write", .groups = GROUP_CLIENT, SWITCH(client_write),
	  .help = "with --client: put it into the client's file",
	  .detail = "Beside what the file has, which stays as it is, comments included. A copy of the old file is left beside it, and the command "
		    "that undoes it is printed. A file that cannot be understood is left alone." },
	{ .name = "client-file", .arg = "FILE", .groups = GROUP_CLIENT, .set = set_client_file,
	  .help = "with --client: the file, if not the client's usual one" },
	{ .name = "json", .groups = GROUP_DOCTOR | GROUP_PS | GROUP_EXPLAIN | GROUP_PROFILES, SWITCH(json), .help = "print JSON" },
	{ .name = "plan", .groups = GROUP_EXPLAIN, SWITCH(plan),
	  .help = "print the steps of a start and the mounts, in their order" },

	/* other sandboxes */
	{ .name = "all", .letter = 'a', .groups = GROUP_PS | GROUP_KILL, SWITCH(all),
	  .help = "ps: killed ones as well; kill: every one",
	  .detail = "With ps, list the records that killed sandboxes have left as well. With kill, end all of your sandboxes; as root, "
		    "those of everybody." },
	{ .name = "quiet", .letter = 'q', .groups = GROUP_PS, SWITCH(quiet), .help = "print ids only" },
	{ .name = "signal", .letter = 's', .arg = "SIGNAL", .groups = GROUP_KILL, .set = set_kill_signal,
	  .help = "ask, and kill after 5 seconds (TERM), or kill at once (KILL)" },
	{ .name = "dry-run", .letter = 'n', .groups = GROUP_GC, SWITCH(dry_run), .help = "only say what would be removed" },

	REFUSED("privileged", 0, NULL, "would give the sandbox the host: cloche never does that"),
	REFUSED("cap-add", 0, "CAPABILITY", "is not possible: nothing inside ever has a capability"),
	REFUSED("device", 0, "DEVICE", "is not possible: the sandbox sees no devices of the host"),
	REFUSED("gpus", 0, "GPUS", "is not possible: the sandbox sees no devices of the host"),
	REFUSED("pid", 0, "MODE", "is not possible: the sandbox always has its own process ids"),
	REFUSED("ipc", 0, "MODE", "is not possible: the sandbox always has its own IPC namespace"),
	REFUSED("uts", 0, "MODE", "is not possible: the sandbox always has its own UTS namespace"),
	REFUSED("cgroupns", 0, "MODE", "is not possible: the sandbox always has its own cgroup namespace"),
	REFUSED("cgroup-parent", 0, "PATH", "is not needed: give the directory itself, as in --cgroup /sys/fs/cgroup/mine"),
	REFUSED("publish", 'p', "PORT", "is not possible: the sandbox has no network"),
	REFUSED("add-host", 0, "HOST", "is not possible: the sandbox has no network"),
	REFUSED("dns", 0, "ADDRESS", "is not possible: the sandbox has no network"),
	REFUSED("group-add", 0, "GROUP", "is not possible: the sandbox has one user and one group"),
	REFUSED("detach", 'd', NULL, "is not possible: a sandbox lives and dies with the program that started it"),
	REFUSED("restart", 0, "POLICY", "is not possible: a sandbox lives and dies with the program that started it"),
	REFUSED("entrypoint", 0, "COMMAND", "is not needed: give the command itself"),
	REFUSED("cpuset-cpus", 0, "LIST", "is not supported yet: use --cpus, or start cloche under taskset"),
	REFUSED("volumes-from", 0, "NAME", "is not possible: there are no other containers. Use -v"),
	REFUSED("platform", 0, "PLATFORM", "is not possible: the root is composed from this host"),
	REFUSED("pull", 0, "POLICY", "is not needed: there is no image to pull"),
	{ .name = NULL },
};
