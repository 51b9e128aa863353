/*
 * The options of `cloche run` and `cloche mcp`: one table, from which the parser, --help, the completion and the man page come.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/err.h"
#include "runtime/base/opt.h"
#include "runtime/spec/spec.h"

/* What the table's setters fill. */
struct options {
	struct spec spec;
	bool help;
	bool json;               /* doctor */
	bool structured_output;  /* mcp */
	const char *log_level;   /* mcp */
};

void options_init(struct options *o);
void options_done(struct options *o);
#define _cleanup_options_ _cleanup_(options_done)

extern const struct opt options_table[];
