/*
 * Sub-commands of `cloche`: each is one file that ends in one row.
 */
#pragma once

#include "runtime/base/err.h"
#include "runtime/base/opt.h"

/* Groups of options: which commands know them. */
enum cli_group {
	GROUP_RUN = 1 << 0,
	GROUP_MCP = 1 << 1,
	GROUP_DOCTOR = 1 << 2,
	GROUP_SANDBOX = GROUP_RUN | GROUP_MCP,
};

struct cli_command {
	const char *name;
	const char *usage;   /* what follows the name */
	const char *summary; /* one line */
	const char *about;   /* paragraphs for --help */
	unsigned int group;
	/* Gets the words behind the name. Returns the exit status, or -errno with @err filled. */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct cli_command cmd_mcp, cmd_run, cmd_doctor;

/* The commands in the order of the help, ended by NULL. */
extern const struct cli_command *const cli_commands[];

/* Prints the help of one command on stdout. */
void cli_print_help(const struct cli_command *command);
