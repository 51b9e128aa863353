/*
 * The options of cloche-init: what the launcher decided about the sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/init/command.h"
#include "runtime/init/reprotect.h"

struct settings {
	const struct seccomp_program *filter; /* for commands */
	struct command_limits limits;
	bool shared_proc; /* no procfs can be mounted here: commands keep the sandbox's /proc */
	struct reprotect protected; /* paths that shall stay read-only when somebody outside replaces them */
	uint64_t memory; /* bytes of all commands together, watched over by init; 0 = no limit */
};

/*
 * Reads the options at the start of @argv, which are known names with a fixed number of arguments each. Returns the index of
 * the first other word; ends the program when an option is wrong, since the launcher wrote it.
 */
int settings_read(struct settings *settings, int argc, char **argv);
