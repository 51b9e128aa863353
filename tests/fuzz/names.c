/*
 * Fuzz target: URIs of resources (mcp/resource.h, mcp/uri.h) and patterns of paths (mcp/glob.h). Sees what a client and a model send.
 *
 * The first line is a URI or pattern, the second a path.
 */
#include <string.h>

#include "mcp/glob.h"
#include "mcp/resource.h"
#include "runtime/base/utf8.h"
#include "tests/fuzz/fuzz.h"

/* A path of the workspace is relative, and no part of it leads upwards. */
static void check_path(const char *path)
{
	fuzz_need(path[0] && path[0] != '/', "a path that is empty or absolute");
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		fuzz_need(strncmp(part, "..", 2) != 0 || (part[2] && part[2] != '/'), "a path that leads upwards");
	}
}

static void check_job_id(const char *id)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	fuzz_need(id[0] && strlen(id) <= RESOURCE_JOB_ID_MAX && strspn(id, letters) == strlen(id), "an id of other characters");
}

/* A path of a resource, written as a URI, leads back to itself. */
static void check_way_back(const char *path)
{
	struct buf uri = BUF_INIT(URI_MAX);
	struct resource again;

	buf_add_str(&uri, RESOURCE_URI_WORKSPACE "/");
	uri_add_path(&uri, path);
	if (!buf_error(&uri)) {
		fuzz_need(resource_parse(buf_cstr(&uri), &again) == 0 && again.kind == RESOURCE_FILE, "a URI of ours is none");
		fuzz_need(strcmp(again.path, path) == 0, "a URI of ours leads elsewhere");
	}
	buf_done(&uri);
}

static void check_uri(const char *uri)
{
	struct resource resource;
	int r = resource_parse(uri, &resource);

	if (r < 0) {
		const char *problem = resource_problem(r);
		fuzz_need(problem && problem[0], "a refusal without a reason");
		return;
	}
	if (resource.kind == RESOURCE_FILE) {
		check_path(resource.path);
		if (strcmp(resource.path, ".") != 0)
			check_way_back(resource.path);
	} else if (resource.kind == RESOURCE_JOB_OUTPUT) {
		check_job_id(resource.path);
	} else {
		fuzz_need(!resource.path[0], "a path where there is none");
	}
}

static void check_glob(const char *pattern, const char *path)
{
	const char *why = NULL;
	struct glob glob;
	int r = glob_compile(&glob, pattern, &why);

	if (r < 0) {
		fuzz_need(why && why[0], "a refusal without a reason");
		return;
	}
	bool match = glob_match(&glob, path);
	(void) glob_excludes(&glob, path);
	/* What matches must be reachable through each folder above it. */
	for (const char *slash = strchr(path, '/'); match && slash; slash = strchr(slash + 1, '/')) {
		char *dir = strndup(path, (size_t) (slash - path));
		fuzz_need(dir && glob_may_match_below(&glob, dir), "a walk would miss a match");
		free(dir);
	}
	glob_done(&glob);
}

/* Whether @path is as glob_match() wants it: relative, no empty part. */
static bool is_plain(const char *path)
{
	return path[0] && path[0] != '/' && !strstr(path, "//") && path[strlen(path) - 1] != '/';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *) data, size), *path;

	fuzz_need(text, "no memory");
	path = strchr(text, '\n');
	if (path)
		*path++ = '\0';
	check_uri(text);
	if (path && is_plain(path))
		check_glob(text, path);
	free(text);
	return 0;
}
