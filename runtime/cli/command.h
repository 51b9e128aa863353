/*
 * Sub-commands of `cloche`: each is one file that ends in one row.
 */
#pragma once

#include "runtime/base/err.h"
#include "runtime/base/opt.h"
#include "runtime/spec/spec.h"

/* Groups of options: which commands know them. */
enum cli_group {
	GROUP_RUN = 1 << 0,
	GROUP_MCP = 1 << 1,
	GROUP_DOCTOR = 1 << 2,
	GROUP_PS = 1 << 3,
	GROUP_KILL = 1 << 4,
	GROUP_GC = 1 << 5,
	GROUP_EXPLAIN = 1 << 6,
	GROUP_PROFILES = 1 << 7,
	GROUP_IN_PROFILE = 1 << 8, /* no command: what a profile may say */
	GROUP_CLIENT = 1 << 9,     /* of `cloche mcp`: the configuration of a client */
	GROUP_SANDBOX = GROUP_RUN | GROUP_MCP,
	GROUP_RECORDS = GROUP_PS | GROUP_KILL | GROUP_GC,
	GROUP_COMMANDS = GROUP_SANDBOX | GROUP_RECORDS | GROUP_DOCTOR | GROUP_EXPLAIN | GROUP_PROFILES,
};

struct cli_command {
	const char *name;
	const char *usage;   /* what follows the name */
	const char *summary; /* one line */
	const char *about;   /* paragraphs for --help */
	unsigned int group;
	unsigned int more;   /* groups whose options it takes too, without listing them */
	/* Gets the words behind the name. Returns the exit status, or -errno with @err filled. */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct cli_command cmd_mcp, cmd_run, cmd_ps, cmd_kill, cmd_gc, cmd_doctor, cmd_explain, cmd_profile;

/* The commands in the order of the help, ended by NULL. */
extern const struct cli_command *const cli_commands[];

/* Finds out which of the layers that the caller accepts as weaker have to be, and says so on stderr, a line for each. */
void cli_choose_weaker(struct spec *spec);

/* What `cloche mcp` makes of its operands and of its variables; `cloche explain` asks the same. 0, or -errno with @err filled. */
struct options;
int cli_take_workspace(struct spec *spec, int operands, char **argv, struct err *err) _must_check_;
int cli_server_args(struct options *o, struct err *err) _must_check_;

/* The variables of our own environment that `cloche mcp` looks at, by their number from 0 on; NULL behind the last one. */
const char *cli_server_variable(size_t i);

/* Prints the policy of @o in the form that it asks for. The exit status of `cloche explain`, or -errno with @err filled. */
int cli_explain(const struct options *o, struct err *err) _must_check_;

/* The write() of a struct launch_teller whose userdata is a struct options: the policy as the agent is told it. */
struct launch;
void cli_tell_agent(const struct launch *l, const void *userdata, struct buf *out);

/* Prints @out on stdout, all of it; @what completes "cannot print ...". 0, or -errno with @err filled. */
int cli_print(const struct buf *out, const char *what, struct err *err) _must_check_;

/* Prints the help of one command on stdout. */
void cli_print_help(const struct cli_command *command);
