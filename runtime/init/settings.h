/*
 * The options of cloche-init: what the launcher decided about the sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/init/command.h"
#include "runtime/init/reprotect.h"
#include "runtime/spec/initmsg.h"
#include "runtime/spec/spec.h"

enum { SETTINGS_FOLDERS_MAX = SPEC_MOUNTS_MAX };

struct settings {
	const struct seccomp_program *filter; /* for commands */
	struct command_limits limits;
	bool shared_proc; /* no procfs can be mounted here: commands keep the sandbox's /proc */
	struct reprotect protected; /* paths that shall stay read-only when somebody outside replaces them */
	const char *folders[SETTINGS_FOLDERS_MAX]; /* in memory, beside those that every sandbox has */
	size_t folder_count;
	struct initmsg_limits sandbox; /* of all commands together; 0 = no limit */
	struct initmsg_limits command; /* of one that asks for no other; 0 = as the sandbox */
};

/*
 * Reads the options at the start of @argv, which are known names with a fixed number of arguments each. Returns the index of
 * the first other word; ends the program when an option is wrong, since the launcher wrote it.
 */
int settings_read(struct settings *settings, int argc, char **argv);
