/*
 * `cloche profile`: lists, shows and checks profiles.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"
#include "runtime/cli/command.h"
#include "runtime/cli/layers.h"
#include "runtime/cli/limits.h"
#include "runtime/cli/options.h"

enum { OUTPUT_MAX = 256 * 1024, EXIT_WRONG = 1 };

/* --- ls ---------------------------------------------------------------------------------------------------------------- */

struct list {
	struct buf out;
	bool json;
};

static int list_one(void *userdata, const char *name, bool built_in)
{
	_cleanup_profile_ struct profile p = PROFILE_NONE;
	struct err err = { .code = ERR_NONE };
	struct list *list = userdata;
	bool wrong = profiles_load(name, &p, &err) < 0;
	const char *origin = built_in ? "built in" : "yours";
	const char *about = wrong ? err.text : profile_description(&p);

	if (!list->json) {
		buf_addf(&list->out, "%-16s %-9s %s", name, origin, wrong ? "WRONG: " : "");
		utf8_add_printable(&list->out, about, strlen(about));
		buf_add_char(&list->out, '\n');
		return 0;
	}
	buf_add_str(&list->out, list->out.len > 1 ? ",{" : "{");
	jsonw_name(&list->out, "name");
	jsonw_str(&list->out, name);
	jsonw_name(&list->out, "origin");
	jsonw_str(&list->out, origin);
	jsonw_name(&list->out, wrong ? "error" : "description");
	jsonw_str(&list->out, about);
	buf_add_char(&list->out, '}');
	return 0;
}

static int list_profiles(const struct options *o, struct err *err)
{
	struct list list = { .out = BUF_INIT(OUTPUT_MAX), .json = o->json };

	if (o->json)
		buf_add_char(&list.out, '[');
	(void) profiles_visit(list_one, &list);
	if (o->json)
		buf_add_str(&list.out, "]\n");
	int r = cli_print(&list.out, "the list", err);
	buf_done(&list.out);
	return r;
}

/* --- show, check ------------------------------------------------------------------------------------------------------- */

static void print_options(const struct options *o, struct buf *out)
{
	const struct profile *p = &o->profile;

	buf_addf(out, "%s: ", p->name);
	utf8_add_printable(out, profile_description(p), strlen(profile_description(p)));
	buf_addf(out, "\nfrom: %s\n\nIt stands for these options:\n", p->path[0] ? p->path : "cloche itself");
	if (!profile_next_option(p, NULL))
		buf_add_str(out, "  none\n");
	for (const char *option = profile_next_option(p, NULL); option; option = profile_next_option(p, option))
		buf_addf(out, "  %s\n", option);
	buf_add_char(out, '\n');
}

/* Loads the profile @what into @o, each of its options checked as on the command line. */
static int take(struct options *o, const char *what, struct err *err)
{
	int r = profiles_load(what, &o->profile, err);

	if (r == 0)
		r = layers_apply(o, &o->profile, LAYER_PROFILE, err);
	spec_settle_mounts(&o->spec);
	return r < 0 ? r : limits_settle(o, err);
}

/* What holds with it is told for an empty workspace: which folder it will be used on is not known here. */
static int show(struct options *o, const char *what, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	int r = take(o, what, err);

	if (r < 0)
		return r;
	if (!o->json) {
		print_options(o, &out);
		r = cli_print(&out, "the profile", err);
	}
	if (o->spec.workspace == SPEC_WORKSPACE_CWD)
		o->spec.workspace = SPEC_WORKSPACE_NONE;
	if (r == 0)
		r = cli_explain(o, err);
	return r < 0 ? r : EXIT_SUCCESS;
}

static int check(struct options *o, const char *what, struct err *err)
{
	if (take(o, what, err) < 0) {
		(void) dprintf(STDERR_FILENO, "cloche: %s\n", err->text);
		return EXIT_WRONG;
	}
	(void) dprintf(STDOUT_FILENO, "OK: %s: %s\n", o->profile.name, profile_description(&o->profile));
	return EXIT_SUCCESS;
}

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };

	options_init(&o);
	int operands = opt_parse(options_table, GROUP_PROFILES, OPT_PERMUTE, &o, argc, argv, err);
	if (operands < 0)
		return operands;
	if (o.help) {
		cli_print_help(&cmd_profile);
		return EXIT_SUCCESS;
	}
	if (operands == 1 && strcmp(argv[0], "ls") == 0)
		return list_profiles(&o, err);
	if (operands == 2 && strcmp(argv[0], "show") == 0)
		return show(&o, argv[1], err);
	if (operands == 2 && strcmp(argv[0], "check") == 0)
		return check(&o, argv[1], err);
	return err_set(err, ERR_USAGE, EINVAL, "write: cloche profile ls, cloche profile show NAME|FILE, or cloche profile check NAME|FILE");
}

const struct cli_command cmd_profile = {
	.name = "profile",
	.usage = "ls | show NAME|FILE | check NAME|FILE",
	.summary = "list, show and check profiles",
	.about = "ls lists the built-in profiles and those in $XDG_CONFIG_HOME/cloche/profiles (~/.config/cloche/profiles). show prints the\n"
		 "options that a profile stands for, and what holds with it. check says whether a profile is right, with exit\n"
		 "status 1 when it is not. A FILE has a slash in its path or .json at its end. The format: docs/profiles.md.\n",
	.group = GROUP_PROFILES,
	.run = run,
};
