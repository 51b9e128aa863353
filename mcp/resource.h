/*
 * Resources: what a client can read by a URI.
 *
 *	skill://cloche/SKILL.md        the guide for agents
 *	cloche://policy                what this sandbox may and may not do
 *	cloche://jobs                  the calls that outlive their request
 *	cloche://jobs/ID/output        what one of them has printed so far
 *	file:///workspace/PATH         a file or directory of the workspace
 */
#pragma once

#include "mcp/uri.h"
#include "mcp/ws.h"
#include "runtime/base/attr.h"

/* Besides SKILL_URI of skill.h. */
#define RESOURCE_URI_POLICY "cloche://policy"
#define RESOURCE_URI_JOBS "cloche://jobs"
#define RESOURCE_URI_JOB_OUTPUT RESOURCE_URI_JOBS "/%s/output" /* format; the argument is the job's id */
#define RESOURCE_URI_WORKSPACE "file:///workspace"             /* and below it: paths of the workspace */

/* As in resources/templates/list. */
#define RESOURCE_TEMPLATE_FILE RESOURCE_URI_WORKSPACE "/{+path}"
#define RESOURCE_TEMPLATE_JOB_OUTPUT RESOURCE_URI_JOBS "/{id}/output"

enum resource_kind {
	RESOURCE_SKILL,
	RESOURCE_POLICY,
	RESOURCE_JOBS,
	RESOURCE_JOB_OUTPUT,
	RESOURCE_FILE,
};

enum { RESOURCE_JOB_ID_MAX = 64 }; /* bytes of a job's id */

struct resource {
	enum resource_kind kind;
	/*
	 * RESOURCE_FILE: the path relative to the workspace for the functions of ws.h, escapes decoded, without ".."; "." for
	 * the workspace itself. RESOURCE_JOB_OUTPUT: the id, of letters, digits, "-" and "_"; whether there is such a job is
	 * not looked at. Otherwise "".
	 */
	char path[WS_PATH_MAX];
};

/*
 * Reads @uri. 0; -ENOENT when nothing here has such a URI, -EXDEV when it is a file outside the workspace, -EREMOTE when it
 * is one of another host, -EINVAL when it is malformed (a bad escape, "..", an escaped NUL or "/"), -ENAMETOOLONG.
 */
int resource_parse(const char *uri, struct resource *ret) _must_check_;

/* What is wrong, for a message, with a URI that resource_parse() refused with @error (negative). */
const char *resource_problem(int error);
