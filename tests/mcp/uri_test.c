/*
 * URIs: paths out of them and into them, and those of resources.
 */
#include "mcp/uri.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mcp/resource.h"
#include "mcp/skill.h"
#include "tests/harness/unit.h"

static const struct {
	const char *uri;
	int result;
	const char *path;
} rows[] = {
	{ "file:///workspace/src/a.c", 0, "/workspace/src/a.c" },
	{ "file:/workspace/a", 0, "/workspace/a" },
	{ "FILE://LocalHost/workspace/a", 0, "/workspace/a" },
	{ "file:///workspace", 0, "/workspace" },
	{ "file:///workspace/", 0, "/workspace/" },
	{ "file:///", 0, "/" },
	{ "file:///a%20b%C3%a9%25", 0, "/a b\xc3\xa9%" },
	{ "file:///a%2520", 0, "/a%20" }, /* once, not twice */
	{ "file:///a b\xc3\xa9", 0, "/a b\xc3\xa9" },
	{ "file:///c#/what?.c", 0, "/c#/what?.c" },
	{ "file:///%FF", 0, "/\xff" }, /* names of files are bytes */
	{ "file:///...", 0, "/..." },
	{ "file:///.a/..b", 0, "/.a/..b" },

	{ "http://localhost/a", -EPROTOTYPE, NULL },
	{ "", -EPROTOTYPE, NULL },
	{ "file", -EPROTOTYPE, NULL },
	{ "/workspace/a", -EPROTOTYPE, NULL },
	{ "file://example.org/workspace/a", -EREMOTE, NULL },
	{ "file://localhost.example.org/a", -EREMOTE, NULL },
	{ "file://localhost:80/a", -EREMOTE, NULL },
	{ "file://me@localhost/a", -EREMOTE, NULL },
	{ "file:", -EINVAL, NULL },
	{ "file://", -EINVAL, NULL },
	{ "file://localhost", -EINVAL, NULL },
	{ "file:a/b", -EINVAL, NULL },
	{ "file:///a%", -EINVAL, NULL },
	{ "file:///a%4", -EINVAL, NULL },
	{ "file:///a%4g", -EINVAL, NULL },
	{ "file:///a%G4", -EINVAL, NULL },
	{ "file:///a%%41", -EINVAL, NULL },
	{ "file:///a%+1", -EINVAL, NULL },
	{ "file:///a%00", -EINVAL, NULL },
	{ "file:///a%2fb", -EINVAL, NULL },
	{ "file:///a%2Fb", -EINVAL, NULL },
	{ "file:///a\nb", -EINVAL, NULL },
	{ "file:///a\x7f", -EINVAL, NULL },
	{ "file:///..", -EINVAL, NULL },
	{ "file:///a/../b", -EINVAL, NULL },
	{ "file:///a/..", -EINVAL, NULL },
	{ "file:///a/%2e%2E/b", -EINVAL, NULL },
	{ "file:///a/.%2e", -EINVAL, NULL },
	{ "file:///a/./b", -EINVAL, NULL },
	{ "file:///a/.", -EINVAL, NULL },
	{ "file:///a/%2e/b", -EINVAL, NULL },
	{ "file:///a//b", -EINVAL, NULL },
	{ "file:////etc/passwd", -EINVAL, NULL },
};

START_TEST(test_paths)
{
	char path[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int r = uri_to_path(rows[i].uri, path, sizeof(path));
		ck_assert_msg(r == rows[i].result, "%s: %d", rows[i].uri, r);
		if (r == 0)
			ck_assert_str_eq(path, rows[i].path);
	}
}
END_TEST

START_TEST(test_lengths)
{
	static char uri[URI_MAX + 16], path[WS_PATH_MAX];

	ck_assert_int_eq(uri_to_path("file:///abc", path, 5), 0);
	ck_assert_str_eq(path, "/abc");
	ck_assert_int_eq(uri_to_path("file:///abc", path, 4), -ENAMETOOLONG);
	/* The longest path, every byte of it escaped. */
	(void) snprintf(uri, sizeof(uri), "file:///");
	for (size_t i = 0; i < WS_PATH_MAX - 2; i++)
		memcpy(uri + 8 + 3 * i, "%41", 4);
	ck_assert_int_eq(uri_to_path(uri, path, sizeof(path)), 0);
	ck_assert_uint_eq(strlen(path), WS_PATH_MAX - 1);
	memcpy(uri + 8 + 3 * (WS_PATH_MAX - 2), "A", 2);
	ck_assert_int_eq(uri_to_path(uri, path, sizeof(path)), -ENAMETOOLONG);
	memset(uri + 8, 'A', URI_MAX);
	uri[8 + URI_MAX] = '\0';
	ck_assert_int_eq(uri_to_path(uri, path, sizeof(path)), -ENAMETOOLONG);
}
END_TEST

/* Every byte that a name may have comes back. */
START_TEST(test_round_trip)
{
	_cleanup_buf_ struct buf uri = BUF_INIT(URI_MAX);
	char name[256] = "/", path[256];
	size_t len = 1;

	for (int c = 1; c < 256; c++)
		if (c != '/')
			name[len++] = (char) c;
	name[len] = '\0';
	buf_add_str(&uri, "file://");
	uri_add_path(&uri, name);
	ck_assert_int_eq(uri_to_path(buf_cstr(&uri), path, sizeof(path)), 0);
	ck_assert_str_eq(path, name);
	for (size_t i = 0; i < uri.len; i++)
		ck_assert_int_eq((unsigned char) uri.p[i] > 0x20 && (unsigned char) uri.p[i] < 0x7F, 1);
	buf_clear(&uri);
	uri_add_path(&uri, "src/a b#?%[c]{d}.c");
	ck_assert_str_eq(buf_cstr(&uri), "src/a%20b%23%3F%25%5Bc%5D%7Bd%7D.c");
}
END_TEST

static const struct {
	const char *uri;
	int result;
	enum resource_kind kind;
	const char *path;
} resources[] = {
	{ SKILL_URI, 0, RESOURCE_SKILL, "" },
	{ "cloche://policy", 0, RESOURCE_POLICY, "" },
	{ "cloche://jobs", 0, RESOURCE_JOBS, "" },
	{ "cloche://jobs/0f-A_z/output", 0, RESOURCE_JOB_OUTPUT, "0f-A_z" },
	{ "file:///workspace", 0, RESOURCE_FILE, "." },
	{ "file:///workspace/", 0, RESOURCE_FILE, "." },
	{ "file:///workspace/a%20b/c.txt", 0, RESOURCE_FILE, "a b/c.txt" },
	{ "file:///workspace/src/", 0, RESOURCE_FILE, "src/" },
	{ "file:///workspace/workspace/a", 0, RESOURCE_FILE, "workspace/a" },

	{ "skill://cloche/SKILL.md/", -ENOENT, 0, NULL },
	{ "cloche://policy/", -ENOENT, 0, NULL },
	{ "cloche://jobs/", -ENOENT, 0, NULL },
	{ "cloche://jobs//output", -ENOENT, 0, NULL },
	{ "cloche://jobs/a/output/", -ENOENT, 0, NULL },
	{ "cloche://jobs/a/b/output", -ENOENT, 0, NULL },
	{ "cloche://jobs/../output", -ENOENT, 0, NULL },
	{ "cloche://jobs/%41/output", -ENOENT, 0, NULL },
	{ "cloche://jobs/{id}/output", -ENOENT, 0, NULL },
	{ "test://nothing", -ENOENT, 0, NULL },
	{ "", -ENOENT, 0, NULL },
	{ "file:///etc/passwd", -EXDEV, 0, NULL },
	{ "file:///", -EXDEV, 0, NULL },
	{ "file:///workspaces/a", -EXDEV, 0, NULL },
	{ "file:///Workspace/a", -EXDEV, 0, NULL },
	{ "file:///%77orkspace/%61", 0, RESOURCE_FILE, "a" },
	{ "file:///workspace/../etc/passwd", -EINVAL, 0, NULL },
	{ "file:///workspace/%2e%2e/etc/passwd", -EINVAL, 0, NULL },
	{ "file:///workspace//etc/passwd", -EINVAL, 0, NULL },
	{ "file://host/workspace/a", -EREMOTE, 0, NULL },
};

START_TEST(test_resources)
{
	struct resource what;

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		int r = resource_parse(resources[i].uri, &what);
		ck_assert_msg(r == resources[i].result, "%s: %d", resources[i].uri, r);
		if (r < 0)
			continue;
		ck_assert_msg(what.kind == resources[i].kind, "%s: kind %d", resources[i].uri, (int) what.kind);
		ck_assert_str_eq(what.path, resources[i].path);
	}
}
END_TEST

START_TEST(test_job_ids)
{
	char uri[256], id[RESOURCE_JOB_ID_MAX + 2];
	struct resource what;

	memset(id, 'f', sizeof(id));
	id[RESOURCE_JOB_ID_MAX + 1] = '\0';
	(void) snprintf(uri, sizeof(uri), RESOURCE_URI_JOB_OUTPUT, id);
	ck_assert_int_eq(resource_parse(uri, &what), -ENOENT);
	id[RESOURCE_JOB_ID_MAX] = '\0';
	(void) snprintf(uri, sizeof(uri), RESOURCE_URI_JOB_OUTPUT, id);
	ck_assert_int_eq(resource_parse(uri, &what), 0);
	ck_assert_str_eq(what.path, id);
}
END_TEST

/* Each refusal has a sentence of its own. */
START_TEST(test_problems)
{
	static const int errors[] = { -ENOENT, -EXDEV, -EREMOTE, -EINVAL, -ENAMETOOLONG };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(resource_problem(errors[i]), resource_problem(errors[j]));
}
END_TEST

UNIT_MAIN("mcp/uri", test_paths, test_lengths, test_round_trip, test_resources, test_job_ids, test_problems)
