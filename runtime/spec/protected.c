/*
 * The protected paths of a workspace: see protected.h. Pure; host side.
 */
#include "runtime/spec/protected.h"

#include <errno.h>
#include <string.h>

#include "gen/protected.h"
#include "runtime/spec/spec.h"

bool protected_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

const struct protected_path *protected_find(const char *path)
{
	for (const struct protected_path *row = protected_paths; row->path; row++)
		if (protected_is_below(path, row->path))
			return row;
	for (const struct protected_path *row = protected_paths; row->path; row++)
		if (protected_is_below(row->path, path))
			return row;
	return NULL;
}

/* Whether @path consists of plain names: none empty, "." or "..", no control characters. A final slash is allowed. */
static bool is_plain(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char) *c < 0x20 || *c == 0x7f)
			return false;
	while (*path) {
		size_t len = strcspn(path, "/");
		if (len == 0 || (len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len + (path[len] == '/');
	}
	return true;
}

const char *protected_parse(const char *option, const char *value, struct err *err)
{
	static const char inside[] = SPEC_WORKSPACE "/";
	const char *path = value;

	if (strncmp(path, inside, sizeof(inside) - 1) == 0)
		path += sizeof(inside) - 1;
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	if (strlen(value) < SPEC_PATH_MAX && path[0] && path[0] != '/' && is_plain(path))
		return path;
	(void) err_set(err, ERR_USAGE, EINVAL,
		       "--%s '%s' is not a path in the workspace: write it relative to that, or below " SPEC_WORKSPACE
		       ", without '.' or '..', as in .github/workflows", option, value);
	return NULL;
}
