/*
 * The options of `cloche run` and `cloche mcp`: one table, from which the parser, --help, the completion and the man page come.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/err.h"
#include "runtime/base/opt.h"
#include "runtime/life/profiles.h"
#include "runtime/spec/spec.h"

enum { OPTIONS_MAX = 128 }; /* rows of the table of which the origin is known */

/* Who set an option; later ones go before earlier ones. */
enum layer { LAYER_DEFAULT, LAYER_PROFILE, LAYER_FLAG, LAYER_WORKSPACE };

/* What the table's setters fill. */
struct options {
	struct spec spec;
	bool help;
	bool json;               /* doctor, ps */
	bool quiet;              /* ps */
	bool all;                /* ps, kill */
	bool by_force;           /* kill */
	bool dry_run;            /* gc */
	bool structured_output;  /* mcp */
	const char *log_level;   /* mcp */
	const char *client;      /* mcp: whose configuration to make, or "list" */
	const char *client_file; /* mcp: in place of the client's own */
	bool client_write;       /* mcp: put it there */
	const char *max_answer_chars; /* mcp */
	bool plan;               /* explain */
	bool workspace_profile;         /* --workspace-profile: the consent */
	struct profile profile;         /* of --profile; what is above points into it */
	struct profile narrowing;       /* the workspace's own, with consent */
	struct spec *by_profile;        /* what holds with the profile alone, to tell who said what; owned, NULL without one */
	unsigned char origins[OPTIONS_MAX]; /* enum layer, beside options_table */
};

void options_init(struct options *o);
void options_done(struct options *o);
#define _cleanup_options_ _cleanup_(options_done)

extern const struct opt options_table[];
