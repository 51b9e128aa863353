/*
 * `cloche mcp`: a sandbox that serves MCP on our standard input and output.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "runtime/base/str.h"
#include "runtime/cli/clients.h"
#include "runtime/cli/command.h"
#include "runtime/cli/layers.h"
#include "runtime/cli/options.h"
#include "runtime/life/launch.h"
#include "runtime/life/supervise.h"

/* Variables of our own environment that set the server's limits, and its option for each. */
static const struct {
	const char *variable;
	const char *option;
	uint64_t min, max;
	size_t flag; /* where struct options has the value of our option of the same name, which goes before the variable; or 0 */
} settings[] = {
	{ "COMMAND_TIMEOUT", "--command-timeout", 1, SPEC_COMMAND_TIMEOUT_MAX, 0 },
	{ "MAX_SEARCH_RESULTS", "--max-search-results", 1, SPEC_SEARCH_RESULTS_MAX, 0 },
	{ "MAX_READ_SIZE_BYTES", "--max-read-bytes", 1, SPEC_FILE_BYTES_MAX, 0 },
	{ "MAX_WRITE_SIZE_BYTES", "--max-write-bytes", 1, SPEC_FILE_BYTES_MAX, 0 },
	{ "MAX_ANSWER_CHARS", "--max-answer-chars", SPEC_ANSWER_CHARS_MIN, SPEC_ANSWER_CHARS_MAX,
	  offsetof(struct options, max_answer_chars) },
};

static int add_server_arg(struct spec *spec, const char *arg, struct err *err)
{
	if (spec->server_arg_count >= SPEC_SERVER_ARGS_MAX)
		return err_set(err, ERR_USAGE, E2BIG, "too many options for the server");
	spec->server_args[spec->server_arg_count++] = arg;
	return 0;
}

static int add_setting(struct options *o, size_t i, struct err *err)
{
	const char *value = NULL;
	uint64_t number;

	if (settings[i].flag > 0)
		memcpy(&value, (const char *) o + settings[i].flag, sizeof(value));
	if (!value)
		value = getenv(settings[i].variable);
	if (!value || !*value)
		return 0;
	if (str_to_uint(value, settings[i].min, settings[i].max, &number) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "the variable %s='%s' is not a number from %llu to %llu: correct it or unset it",
			       settings[i].variable, value, (unsigned long long) settings[i].min, (unsigned long long) settings[i].max);
	int r = add_server_arg(&o->spec, settings[i].option, err);
	return r < 0 ? r : add_server_arg(&o->spec, value, err);
}

static int add_log_level(struct options *o, struct err *err)
{
	static const char *const levels[] = { "debug", "info", "notice", "warning", "error", "critical" };
	const char *level = o->log_level ? o->log_level : getenv("LOG_LEVEL");

	if (!level || !*level)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		if (strcasecmp(level, levels[i]) != 0)
			continue;
		int r = add_server_arg(&o->spec, "--log-level", err);
		return r < 0 ? r : add_server_arg(&o->spec, levels[i], err);
	}
	return err_set(err, ERR_USAGE, EINVAL,
		       "the log level '%s' (--log-level or LOG_LEVEL) is unknown: use debug, info, notice, warning, error or critical", level);
}

int cli_server_args(struct options *o, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		int r = add_setting(o, i, err);
		if (r < 0)
			return r;
	}
	int r = add_log_level(o, err);
	if (r == 0 && o->structured_output)
		r = add_server_arg(&o->spec, "--structured-output", err);
	return r;
}

const char *cli_server_variable(size_t i)
{
	static const char *const others[] = { "LOG_LEVEL", "CLOCHE_PROFILE" };

	if (i < ARRAY_LEN(settings))
		return settings[i].variable;
	i -= ARRAY_LEN(settings);
	return i < ARRAY_LEN(others) ? others[i] : NULL;
}

/* The usual reason for an operand too many. */
#define FROM_DOCKER ". Of a Docker line, drop `run` and the image name"

int cli_take_workspace(struct spec *spec, int operands, char **argv, struct err *err)
{
	if (operands > 1)
		return err_set(err, ERR_USAGE, EINVAL, "one workspace only, but '%s' and '%s' were given" FROM_DOCKER, argv[0], argv[1]);
	if (operands == 0)
		return 0;
	if (!argv[0][0])
		return err_set(err, ERR_USAGE, EINVAL, "the workspace is empty: name a folder");
	if (spec->workspace != SPEC_WORKSPACE_CWD)
		return err_set(err, ERR_USAGE, EINVAL, "the workspace is given twice: as '%s' and as a volume at /workspace" FROM_DOCKER,
			       argv[0]);
	spec->workspace = SPEC_WORKSPACE_PATH;
	spec->workspace_path = argv[0];
	return 0;
}

/* Docker's -w says where the first process works; the server works in the workspace, whatever that is called outside. */
static int check_workdir(const struct spec *spec, struct err *err)
{
	if (strcmp(spec->workdir, SPEC_WORKSPACE) == 0)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "--workdir '%s' is not possible here: the server works in " SPEC_WORKSPACE ". Leave it out",
		       spec->workdir);
}

static void greet_people(void)
{
	if (isatty(STDIN_FILENO))
		(void) dprintf(STDERR_FILENO, "cloche: serving MCP on this terminal. This command is meant to be started by an MCP client; "
					      "end it with Ctrl-D\n");
}

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };
	struct sandbox sandbox = SANDBOX_NONE;

	if (clients_asked(argc, argv))
		return clients_run(argc, argv, err);
	options_init(&o);
	int operands = layers_parse(&o, GROUP_MCP | GROUP_CLIENT, OPT_PERMUTE, argc, argv, err);
	if (operands < 0)
		return operands;
	if (o.help) {
		cli_print_help(&cmd_mcp);
		return EXIT_SUCCESS;
	}
	int r = cli_take_workspace(&o.spec, operands, argv, err);
	if (r < 0 || (r = layers_settle(&o, err)) < 0 || (r = check_workdir(&o.spec, err)) < 0 || (r = cli_server_args(&o, err)) < 0)
		return r;
	greet_people();
	r = supervise_block_signals();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot block signals: %m");
	cli_choose_weaker(&o.spec);
	const struct launch_teller teller = { .write = cli_tell_agent, .userdata = &o };
	r = launch_start(&o.spec, NULL, &teller, &sandbox, err);
	if (r >= 0)
		r = supervise_mcp(&sandbox, err);
	return r;
}

const struct cli_command cmd_mcp = {
	.name = "mcp",
	.usage = "[OPTIONS] [WORKSPACE]",
	.summary = "serve MCP from inside a sandbox, on stdin and stdout",
	.about = "Starts a sandbox with WORKSPACE (default: the current folder) at /workspace, and in it an MCP server that\n"
		 "speaks with the client that started this command. When the client closes the connection, everything is gone.\n"
		 "The variables COMMAND_TIMEOUT (seconds, 60), MAX_SEARCH_RESULTS (50), MAX_READ_SIZE_BYTES (1048576),\n"
		 "MAX_WRITE_SIZE_BYTES (5242880), MAX_ANSWER_CHARS (40000) and LOG_LEVEL set the server's limits.\n"
		 "With --client NAME nothing is started: it prints how that client starts this (--write puts it into its file).\n",
	.group = GROUP_MCP | GROUP_CLIENT,
	.run = run,
};
