/*
 * A profile, a JSON file that says what a sandbox may see, reach and spend, as a list of options of `cloche run`.
 *
 * Each member is an option without its dashes, so that a profile can say nothing that the command line cannot, and the same
 * code checks every value. docs/profiles.md and profiles/schema.json describe the members.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

enum {
	PROFILE_BYTES_MAX = 64 * 1024,   /* of a profile */
	PROFILE_OUTPUT_MAX = 128 * 1024, /* of its options */
	PROFILE_ENTRIES_MAX = 256,       /* of one object or array */
	PROFILE_DESCRIPTION_MAX = 200,
};

/* How the value of a member is written. */
enum profile_kind {
	PROFILE_TEXT,   /* a string */
	PROFILE_NUMBER, /* a number, or a string for what has a unit or a sign of its own */
	PROFILE_SWITCH, /* true or false */
	PROFILE_LIST,   /* an array of strings: the option once for each */
	PROFILE_MAP,    /* an object: the option once for each member, with its name in front of its value */
};

struct profile_member {
	const char *name; /* of the option, too */
	enum profile_kind kind;
	char joint;       /* PROFILE_MAP: what stands between name and value */
	bool must_be_path; /* begins with a path, which must be absolute: a file has no current folder */
	char path_behind;  /* behind this sign a path may stand, which must be absolute too; or 0 */
};

/* Sorted by name, ended by one without. */
extern const struct profile_member profile_members[];

/*
 * Appends the profile @text to @out: its description, then its options in the form --NAME=VALUE, each ended by a NUL. 0, or
 * -errno with @err filled: the member that is wrong, and why.
 */
int profile_compile(const char *text, size_t len, struct buf *out, struct err *err) _must_check_;
