/*
 * The layers of options: see layers.h. Runs in the launcher, before anything is created.
 */
#include "runtime/cli/layers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/command.h"
#include "runtime/cli/limits.h"
#include "runtime/cli/narrow.h"
#include "runtime/cli/setters.h"

enum { OPTION_NAME_MAX = 63, SHOWN_NAME_MAX = 200 };

/* --- who said what ----------------------------------------------------------------------------------------------------- */

static size_t row_of(const struct opt *opt)
{
	return (size_t) (opt - options_table);
}

static void note(struct options *o, const struct opt *opt, enum layer layer)
{
	if (row_of(opt) < ARRAY_LEN(o->origins))
		o->origins[row_of(opt)] = (unsigned char) layer;
}

static void note_flag(void *userdata, const struct opt *opt, _unused_ const char *value)
{
	note(userdata, opt, LAYER_FLAG);
}

/* The profile that the command line names; @second is another one that it names too. */
struct search {
	const char *name, *second;
	bool help; /* asked for: nothing else matters then */
};

static void find_profile(void *userdata, const struct opt *opt, const char *value)
{
	struct search *s = userdata;

	s->help |= opt->set == set_help && opt_is_true(value);
	if (opt->set != set_profile)
		return;
	if (s->name && strcmp(s->name, value) != 0)
		s->second = s->name;
	s->name = value;
}

/* Whether @field, a part of the specification of @o, is the same in @other. */
static bool same_in(const struct options *o, const struct spec *other, const void *field, size_t size)
{
	size_t at = (size_t) ((const char *) field - (const char *) &o->spec);

	return memcmp((const char *) other + at, field, size) == 0;
}

/* One option sets many values: which of them did who set? @layer is the last that used the option. */
static enum layer layer_of_field(const struct options *o, enum layer layer, const void *field, size_t size)
{
	const char *mounts = (const char *) o->spec.mounts, *at = field;
	static struct spec by_default;

	if (at >= mounts && at < mounts + sizeof(o->spec.mounts)) /* these are there or not, and in order */
		return (size_t) (at - mounts) / sizeof(o->spec.mounts[0]) < o->spec.mounts_settled ? LAYER_PROFILE : LAYER_FLAG;
	spec_init(&by_default);
	by_default.memory = o->spec.memory; /* which sizes nobody said follow */
	spec_settle_sizes(&by_default);
	if (same_in(o, &by_default, field, size))
		return LAYER_DEFAULT;
	return layer > LAYER_PROFILE && o->by_profile && same_in(o, o->by_profile, field, size) ? LAYER_PROFILE : layer;
}

const char *layers_origin(const void *userdata, const char *name, const void *field, size_t size)
{
	static char text[SHOWN_NAME_MAX];
	const struct options *o = userdata;
	enum layer layer = LAYER_DEFAULT;

	for (const struct opt *opt = options_table; opt->name; opt++)
		if (strcmp(opt->name, name) == 0 && row_of(opt) < ARRAY_LEN(o->origins))
			layer = MAX(layer, (enum layer) o->origins[row_of(opt)]);
	if (field)
		layer = layer_of_field(o, layer, field, size);
	if (layer == LAYER_PROFILE) {
		(void) snprintf(text, sizeof(text), "profile %.180s", o->profile.name);
		return text;
	}
	return layer == LAYER_FLAG ? "command line" : layer == LAYER_WORKSPACE ? "workspace profile" : "default";
}

/* --- profiles ---------------------------------------------------------------------------------------------------------- */

/* The name of the option @text, "--NAME=VALUE". */
static const char *name_of(const char *text, char name[static OPTION_NAME_MAX + 1])
{
	size_t len = MIN(strcspn(text + 2, "="), (size_t) OPTION_NAME_MAX);

	memcpy(name, text + 2, len);
	name[len] = '\0';
	return name;
}

static void note_profile(void *userdata, const struct opt *opt, _unused_ const char *value)
{
	note(userdata, opt, LAYER_PROFILE);
}

static void note_workspace(void *userdata, const struct opt *opt, _unused_ const char *value)
{
	note(userdata, opt, LAYER_WORKSPACE);
}

static int apply_option(struct options *o, const char *text, struct err *err)
{
	char *argv[] = { (char *) (uintptr_t) text };

	return opt_parse(options_table, GROUP_IN_PROFILE, OPT_PERMUTE, o, 1, argv, err);
}

static int wrap_member(const struct profile *p, const char *text, struct err *err)
{
	char name[OPTION_NAME_MAX + 1];

	return err_wrap(err, "the profile '%s', member '%s'", p->name, name_of(text, name));
}

int layers_apply(struct options *o, const struct profile *p, enum layer layer, struct err *err)
{
	opt_visitor *visit = layer == LAYER_WORKSPACE ? note_workspace : note_profile;

	for (const char *text = profile_next_option(p, NULL); text; text = profile_next_option(p, text)) {
		char *argv[] = { (char *) (uintptr_t) text };

		if (apply_option(o, text, err) < 0)
			return wrap_member(p, text, err);
		opt_visit(options_table, GROUP_IN_PROFILE, OPT_PERMUTE, visit, o, 1, argv);
	}
	return 0;
}

/* --- the whole --------------------------------------------------------------------------------------------------------- */

int layers_parse(struct options *o, unsigned int group, enum opt_order order, int argc, char **argv, struct err *err)
{
	const char *inherited = getenv("CLOCHE_PROFILE");
	struct search found = { .name = NULL };

	opt_visit(options_table, group, order, find_profile, &found, argc, argv);
	if (found.second)
		return err_set(err, ERR_USAGE, EINVAL, "one profile only, but '%s' and '%s' were given", found.second, found.name);
	const char *name = found.name ? found.name : inherited;
	if (name && *name && !found.help) {
		int r = profiles_load(name, &o->profile, err);
		if (r == 0)
			r = layers_apply(o, &o->profile, LAYER_PROFILE, err);
		if (r < 0)
			return name == inherited ? err_wrap(err, "the variable CLOCHE_PROFILE") : r;
		spec_settle_mounts(&o->spec);
		o->by_profile = malloc(sizeof(*o->by_profile));
		if (!o->by_profile)
			return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
		*o->by_profile = o->spec;
	}
	opt_visit(options_table, group, order, note_flag, o, argc, argv);
	return opt_parse(options_table, group, order, o, argc, argv, err);
}

/* Asked for, a workspace in memory; named, a folder: which of the two was meant? */
static int settle_workspace(struct options *o, struct err *err)
{
	struct spec *s = &o->spec;

	if (!s->workspace_in_memory)
		return 0;
	if (s->workspace == SPEC_WORKSPACE_PATH)
		return err_set(err, ERR_USAGE, EINVAL,
			       "the workspace is an empty one in memory (by: %s), but '%s' was named. Leave the folder out, or add "
			       "--workspace-mode rw, or ro to let it only be read",
			       layers_origin(o, "workspace-mode", NULL, 0), s->workspace_path);
	s->workspace = SPEC_WORKSPACE_NONE;
	return 0;
}

/* Each of its options is held against what holds without any of them, so that their order makes no difference. */
static int check_narrowing(const struct options *o, const struct spec *before, struct err *err)
{
	const struct profile *p = &o->narrowing;
	char name[OPTION_NAME_MAX + 1];

	for (const char *text = profile_next_option(p, NULL); text; text = profile_next_option(p, text))
		if (narrow_check(name_of(text, name), before, &o->spec, err) < 0)
			return wrap_member(p, text, err);
	return 0;
}

static int narrow(struct options *o, struct err *err)
{
	struct spec before = o->spec;
	int r = profiles_load_workspace(&o->spec, &o->narrowing, err);

	if (r == 0)
		r = layers_apply(o, &o->narrowing, LAYER_WORKSPACE, err);
	if (r == 0)
		r = check_narrowing(o, &before, err);
	if (r == 0 && o->spec.workspace_in_memory)
		o->spec.workspace = SPEC_WORKSPACE_NONE;
	return r;
}

int layers_settle(struct options *o, struct err *err)
{
	int r = settle_workspace(o, err);

	if (r == 0)
		r = profiles_check_place(&o->profile, &o->spec, err);
	if (r == 0 && o->workspace_profile)
		r = narrow(o, err);
	else if (r == 0 && isatty(STDERR_FILENO) && profiles_workspace_has_one(&o->spec))
		(void) dprintf(STDERR_FILENO, "cloche: the workspace has a '" PROFILES_WORKSPACE_FILE "', which was not read: with "
					      "--workspace-profile it may narrow the sandbox\n");
	return r < 0 ? r : limits_settle(o, err);
}
