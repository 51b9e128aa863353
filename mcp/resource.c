/*
 * The URIs of resources: see resource.h. Runs in cloche-mcp, on any thread, without any capability.
 */
#include "mcp/resource.h"

#include <errno.h>
#include <string.h>

#include "mcp/skill.h"
#include "runtime/spec/spec.h"

static const struct {
	const char *uri;
	enum resource_kind kind;
} fixed[] = {
	{ SKILL_URI, RESOURCE_SKILL },
	{ RESOURCE_URI_POLICY, RESOURCE_POLICY },
	{ RESOURCE_URI_JOBS, RESOURCE_JOBS },
};

/* Takes the id out of "cloche://jobs/ID/output". False when @uri is no such thing. */
static bool take_job(const char *uri, struct resource *ret)
{
	static const char front[] = RESOURCE_URI_JOBS "/", marks[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	if (strncmp(uri, front, sizeof(front) - 1) != 0)
		return false;
	const char *id = uri + sizeof(front) - 1;
	size_t len = strspn(id, marks);
	if (len == 0 || len > RESOURCE_JOB_ID_MAX || strcmp(id + len, "/output") != 0)
		return false;
	ret->kind = RESOURCE_JOB_OUTPUT;
	memcpy(ret->path, id, len);
	ret->path[len] = '\0';
	return true;
}

/* Makes the absolute @path one relative to the workspace. */
static int make_relative(char *path)
{
	const size_t len = sizeof(SPEC_WORKSPACE) - 1;

	if (strncmp(path, SPEC_WORKSPACE, len) != 0 || (path[len] != '\0' && path[len] != '/'))
		return -EXDEV;
	const char *rel = path + len + (path[len] == '/');
	if (*rel)
		memmove(path, rel, strlen(rel) + 1);
	else
		memcpy(path, ".", 2);
	return 0;
}

int resource_parse(const char *uri, struct resource *ret)
{
	ret->path[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		ret->kind = fixed[i].kind;
		if (strcmp(uri, fixed[i].uri) == 0)
			return 0;
	}
	if (take_job(uri, ret))
		return 0;
	ret->kind = RESOURCE_FILE;
	int r = uri_to_path(uri, ret->path, sizeof(ret->path));
	if (r == 0)
		r = make_relative(ret->path);
	return r == -EPROTOTYPE ? -ENOENT : r;
}

const char *resource_problem(int error)
{
	static const struct {
		int errnum;
		const char *text;
	} problems[] = {
		{ EXDEV, "is outside the workspace: files have URIs that begin with " RESOURCE_URI_WORKSPACE "/" },
		{ EREMOTE, "names a file of another host: files have URIs that begin with " RESOURCE_URI_WORKSPACE "/" },
		{ EINVAL, "is malformed: a path consists of names with single slashes between them, none of them \".\" or \"..\"; "
			  "an escape is % and two hexadecimal digits, and stands for neither NUL nor a slash" },
		{ ENAMETOOLONG, "is too long: a path may have 4095 bytes" },
	};

	for (size_t i = 0; i < ARRAY_LEN(problems); i++)
		if (problems[i].errnum == -error)
			return problems[i].text;
	return "is none of those here. resources/list and resources/templates/list tell which there are";
}
