/*
 * What stays read-only in a writable workspace because programs of the host would execute or trust it: the list of
 * rootfs/protected.list, and paths that a caller adds or takes away.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/err.h"

/* What takes the place of a path that does not exist, while the sandbox runs. */
enum protected_stand_in {
	PROTECTED_FOLDER, /* an empty folder, whatever the name would be: git ignores those, inside and outside */
	PROTECTED_FILE,   /* an empty file: in repositories, where git reads these names and a folder would stop it */
	PROTECTED_HERE,   /* a file that says ".": for git, which reads there which folder it belongs to, and would stop at an empty one */
	PROTECTED_NONE,   /* nothing: a path that matters only when it is there */
	PROTECTED_EACH,   /* not the path itself, but each repository found below it */
};

struct protected_path {
	const char *path;   /* relative to the workspace */
	const char *reason; /* what it is for programs of the host, without a full stop */
	enum protected_stand_in stand_in;
};

/* The built-in list, in its order, ended by a row without path. */
extern const struct protected_path protected_paths[];

/* Whether @path is @dir or lies below it. Both are relative, without "." and "..". */
bool protected_is_below(const char *path, const char *dir);

/* The row of the built-in list that protects @path (relative to the workspace), or for which it is a folder on the way. Or NULL. */
const struct protected_path *protected_find(const char *path);

/*
 * The path that an option names, relative to the workspace: @value is that, or starts with /workspace. Points into @value, a final
 * slash left where it is. NULL with @err filled when it is none, or leads out.
 */
const char *protected_parse(const char *option, const char *value, struct err *err);
