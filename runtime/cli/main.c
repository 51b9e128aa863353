/*
 * `cloche`: finds the sub-command and prints what went wrong. Runs on the host as the invoking user.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/wall.h"
#include "runtime/cli/command.h"
#include "runtime/cli/options.h"
#include "runtime/life/graded.h"

enum { HELP_MAX = 64 * 1024, EXIT_OWN_FAILURE = 125 };

const struct cli_command *const cli_commands[] = {
	&cmd_mcp, &cmd_run, &cmd_explain, &cmd_profile, &cmd_ps, &cmd_kill, &cmd_gc, &cmd_doctor, NULL,
};

/* Prints a text on stdout, or ends the program when that cannot be done. */
static void print(const struct buf *text)
{
	if (buf_error(text) || fd_write_all(STDOUT_FILENO, buf_cstr(text), text->len) < 0)
		_exit(EXIT_OWN_FAILURE);
}

int cli_print(const struct buf *out, const char *what, struct err *err)
{
	int r = buf_error(out);

	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, buf_cstr(out), out->len);
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "cannot print %s: %m", what) : 0;
}

void cli_choose_weaker(struct spec *spec)
{
	graded_choose(spec);
	for (unsigned int left = spec->weaker; left; left &= left - 1)
		(void) dprintf(STDERR_FILENO, "cloche: weaker than usual: %s\n", graded_describe((enum spec_weaker) (left & -left)));
}

void cli_print_help(const struct cli_command *command)
{
	_cleanup_buf_ struct buf out = BUF_INIT(HELP_MAX);

	buf_addf(&out, "Usage: cloche %s %s\n\n%s\nOptions:\n", command->name, command->usage, command->about);
	opt_help(options_table, command->group, &out);
	print(&out);
}

static void print_overview(void)
{
	_cleanup_buf_ struct buf out = BUF_INIT(HELP_MAX);

	buf_add_str(&out, "Usage: cloche COMMAND [OPTIONS] ...\n\n"
			  "A rootless sandbox for AI agents, with the MCP server inside it.\n\nCommands:\n");
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		buf_addf(&out, "  %-12s %s\n", (*c)->name, (*c)->summary);
	buf_add_str(&out, "  completion   print a completion script for bash\n\n`cloche COMMAND --help` explains one. "
			  "`cloche --version` prints the version. The manual: man cloche\n");
	print(&out);
}

/* Words for bash: commands first, then each command's options. */
static void print_completion_script(void)
{
	_cleanup_buf_ struct buf out = BUF_INIT(HELP_MAX);

	buf_add_str(&out, "# bash completion for cloche: source <(cloche completion)\n_cloche() {\n"
			  "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct cli_command *const *c = cli_commands; *c; c++) {
		_cleanup_buf_ struct buf words = BUF_INIT(HELP_MAX);
		opt_words(options_table, (*c)->group | (*c)->more, &words);
		buf_addf(&out, "\t%s) words=\"%s\" ;;\n", (*c)->name, buf_cstr(&words));
	}
	buf_add_str(&out, "\tesac\n\t[ \"$COMP_CWORD\" -gt 1 ] || words=\"");
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		buf_addf(&out, "%s ", (*c)->name);
	buf_add_str(&out, "completion --help --version\"\n\tcase $cur in\n\t-*) ;;\n\t*) [ \"$COMP_CWORD\" -eq 1 ] || words= ;;\n\tesac\n"
			  "\tcase ${COMP_WORDS[1]},${COMP_WORDS[COMP_CWORD-1]} in\n"
			  "\tprofile,profile) words=\"ls show check\" ;;\n"
			  "\tmcp,--client) words=$(cloche mcp --client list 2>/dev/null | cut -d' ' -f1; echo list) ;;\n"
			  "\t*,--profile | profile,show | profile,check) words=$(cloche profile ls 2>/dev/null | cut -d' ' -f1) ;;\n\tesac\n"
			  "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
			  "complete -o default -F _cloche cloche\n");
	print(&out);
}

/* @arg: what stands behind `completion`, or NULL. */
static int run_completion(const char *arg, struct err *err)
{
	if (!arg || strcmp(arg, "bash") == 0)
		print_completion_script();
	else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
		(void) dprintf(STDOUT_FILENO, "Usage: cloche completion\n\n"
					      "Prints a completion script for bash. To use it: source <(cloche completion)\n");
	else
		return err_set(err, ERR_USAGE, EINVAL, "completion is there for bash only, not for '%s'", arg);
	return EXIT_SUCCESS;
}

/* The option lists of the man page, made while building (docs/man/cloche.1.in). */
static int print_man_options(const char *name, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT(HELP_MAX);

	for (const struct cli_command *const *c = cli_commands; *c; c++) {
		if (strcmp((*c)->name, name) != 0)
			continue;
		opt_man(options_table, (*c)->group, &out);
		print(&out);
		return EXIT_SUCCESS;
	}
	return err_set(err, ERR_USAGE, EINVAL, "unknown command '%s'", name);
}

static int unknown_command(const char *word, struct err *err)
{
	const char *names[ARRAY_LEN(cli_commands)];
	size_t count = 0;

	for (const struct cli_command *const *c = cli_commands; *c; c++)
		names[count++] = (*c)->name;
	const char *near = opt_nearest(word, names, count);
	if (word[0] == '-')
		return err_set(err, ERR_USAGE, EINVAL, "unknown option '%s': the command comes first, as in: cloche mcp --memory 2g .",
			       word);
	if (near)
		return err_set(err, ERR_USAGE, EINVAL, "unknown command '%s': did you mean '%s'? See `cloche --help`", word, near);
	return err_set(err, ERR_USAGE, EINVAL, "unknown command '%s': see `cloche --help` for those that exist", word);
}

static int dispatch(int argc, char **argv, struct err *err)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	if (!word)
		return err_set(err, ERR_USAGE, EINVAL, "no command given: see `cloche --help`");
	for (const struct cli_command *const *c = cli_commands; *c; c++)
		if (strcmp((*c)->name, word) == 0)
			return (*c)->run(argc - 2, argv + 2, err);
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_overview();
		return EXIT_SUCCESS;
	}
	if (strcmp(word, "--version") == 0) {
		(void) dprintf(STDOUT_FILENO, "cloche %s\n", CLOCHE_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(word, "completion") == 0)
		return run_completion(argv[2], err);
	if (strcmp(word, "man-options") == 0 && argc == 3)
		return print_man_options(argv[2], err);
	return unknown_command(word, err);
}

int main(int argc, char **argv)
{
	struct err err = { .code = ERR_NONE };

	wall_from_environment();
	/* A limit of the caller's on file sizes shall be an error to explain, not our death. The sandbox gets its default back. */
	(void) signal(SIGXFSZ, SIG_IGN);
	/* A closed standard stream would otherwise become one of our own files. */
	int r = fd_ensure_stdio();

	if (r >= 0)
		r = fd_cloexec_from(STDERR_FILENO + 1);
	if (r < 0)
		(void) err_set(&err, ERR_SYSTEM, -r, "cannot prepare the standard streams: %m%s",
			       r == -ENOSYS ? ". This kernel is too old, or a filter hides close_range(2): cloche needs Linux 5.12 or later" : "");
	else
		r = dispatch(argc, argv, &err);
	if (r >= 0)
		return r;
	(void) dprintf(STDERR_FILENO, "cloche: %s\n", err.text);
	return err_exit_status(err.code);
}
