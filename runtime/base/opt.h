/*
 * Command-line options as a table.
 *
 * One row describes an option once: the parser, `--help`, the shell completion and the option list of the man page are all made
 * from it. Names are exact (no abbreviations), so that an abbreviation never becomes an interface.
 *
 * Accepted spellings: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and clusters of letters without value (-it).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

struct opt;

/*
 * Takes one occurrence of an option. @value is the argument, or NULL for an option without one (or "true"/"false" when it was
 * written as --name=BOOL). Returns 0, or a negative errno with @err filled.
 */
typedef int opt_setter(void *target, const struct opt *opt, const char *value, struct err *err);

struct opt {
	const char *name;     /* long name without dashes */
	char letter;          /* short name, or 0 */
	const char *alias;    /* a second long name, or NULL */
	const char *arg;      /* the argument's name in the help, or NULL when it takes none */
	unsigned int groups;  /* a mask of the commands that know this option */
	opt_setter *set;
	const void *data;     /* for the setter */
	const char *help;     /* one line, lower case, no final full stop */
	const char *detail;   /* further sentences for the man page, or NULL */
};

/* What an option without argument says: --name and --name=true are true. */
static inline bool opt_is_true(const char *value)
{
	return !value || strcmp(value, "true") == 0;
}

enum opt_order {
	OPT_STOP_AT_OPERAND, /* what follows the first operand belongs to it */
	OPT_PERMUTE,         /* options and operands may be mixed */
};

/*
 * Parses @argv (without the command's own name) against the rows of @table (ended by a row without name) whose groups
 * intersect @group. Operands are moved to the front of @argv, in order; returns their number, or -errno with @err filled.
 */
int opt_parse(const struct opt *table, unsigned int group, enum opt_order order, void *target, int argc, char **argv,
	      struct err *err) _must_check_;

/* Sees one occurrence of an option, with its value as a setter would get it. */
typedef void opt_visitor(void *userdata, const struct opt *opt, const char *value);

/* Goes through @argv as opt_parse() does, up to the first mistake, and neither sets nor moves anything. */
void opt_visit(const struct opt *table, unsigned int group, enum opt_order order, opt_visitor *visit, void *userdata, int argc,
	       char **argv);

/* The option list of --help, one or two lines a row. */
void opt_help(const struct opt *table, unsigned int group, struct buf *out);

/* The option list as mdoc(7) source for the man page. */
void opt_man(const struct opt *table, unsigned int group, struct buf *out);

/* Every long and short spelling, space-separated, for shell completion. */
void opt_words(const struct opt *table, unsigned int group, struct buf *out);

/* The most similar of @names to @word, or NULL when none is close. For "did you mean". */
const char *opt_nearest(const char *word, const char *const *names, size_t count);
