/*
 * File name patterns.
 *
 *   *  ?       any characters, one character, but not "/"
 *   [a-z] [!x] one character of a set, or not of it
 *   **         as a whole component: any number of directories, also none; at the end: everything below
 *   {a,b}      either; may be nested
 *   \*         the character itself
 *
 * A pattern without "/" matches a name at any depth; one with "/" is matched from the root. Case matters; a leading dot
 * does not. Matching takes at most (pattern × path) steps for each of at most GLOB_ALTERNATIVES_MAX alternatives,
 * whatever the pattern.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"

enum {
	GLOB_PATTERN_MAX = 1024,     /* bytes */
	GLOB_ALTERNATIVES_MAX = 128, /* after braces were expanded */
	GLOB_COMPONENTS_MAX = 64,
};

struct glob_alternative {
	char *text; /* its components, each NUL-terminated, one behind the other */
	unsigned short start[GLOB_COMPONENTS_MAX];
	unsigned char count;
	char *whole; /* as written, for glob_excludes() */
};

struct glob {
	struct glob_alternative *alt;
	size_t count;
};

/* Compiles @pattern. 0, or a negative errno with *@ret_why (a constant) telling what is wrong with it. */
int glob_compile(struct glob *g, const char *pattern, const char **ret_why) _must_check_;
void glob_done(struct glob *g);
#define _cleanup_glob_ _cleanup_(glob_done)

/* Whether @path (relative, single slashes) matches. */
bool glob_match(const struct glob *g, const char *path);

/* Whether anything below the directory @dir could match: false lets a walk skip it. */
bool glob_may_match_below(const struct glob *g, const char *dir);

/*
 * Like glob_match(), but "*", "?" and sets also match "/", so that "tests/" followed by a star covers everything below
 * tests.
 */
bool glob_excludes(const struct glob *g, const char *path);
