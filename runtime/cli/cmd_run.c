/*
 * `cloche run`: one command in a sandbox, with our standard streams and its exit status.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/cli/command.h"
#include "runtime/cli/layers.h"
#include "runtime/cli/options.h"
#include "runtime/life/launch.h"
#include "runtime/life/supervise.h"

static int run(int argc, char **argv, struct err *err)
{
	static const int stdio[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	_cleanup_options_ struct options o = { .help = false };
	struct sandbox sandbox = SANDBOX_NONE;

	options_init(&o);
	int operands = layers_parse(&o, GROUP_RUN, OPT_STOP_AT_OPERAND, argc, argv, err);
	if (operands < 0)
		return operands;
	if (o.help) {
		cli_print_help(&cmd_run);
		return EXIT_SUCCESS;
	}
	if (operands == 0)
		return err_set(err, ERR_USAGE, EINVAL, "no command to run: write it behind the options, as in: cloche run -- python3 x.py");
	argv[operands] = NULL;
	if (argv[0][0] == '\0')
		return err_set(err, ERR_NOT_FOUND, ENOENT, "the command is empty");
	int r = layers_settle(&o, err);
	if (r < 0)
		return r;
	r = supervise_block_signals();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot block signals: %m");
	cli_choose_weaker(&o.spec);
	_cleanup_spawnmsg_ struct spawnmsg message = { 0 };
	r = spawnmsg_make(&message, o.spec.workdir, argv, stdio, err);
	if (r >= 0)
		r = launch_start(&o.spec, &message, NULL, &sandbox, err);
	if (r >= 0)
		r = supervise_run(&sandbox, o.spec.workdir, argv[0], err);
	return r;
}

const struct cli_command cmd_run = {
	.name = "run",
	.usage = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
	.summary = "run one command in a sandbox",
	.about = "Runs COMMAND in a new sandbox: your current folder (or --workspace) is /workspace, the host's /usr is there\n"
		 "read-only, and there is no network. Standard input, output and error are yours. The exit status is the\n"
		 "command's own; 128+n when signal n ended it; 127 when it was not found, 126 when it could not be executed,\n"
		 "125 when the sandbox itself failed.\n",
	.group = GROUP_RUN,
	.run = run,
};
