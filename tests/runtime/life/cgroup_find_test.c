/*
 * Where a cgroup can be made: what the kernel prints about mounts and groups is taken apart right, however odd, and nothing is believed
 * to be below what it is not below. The search itself: tests/system/cgroup.sh.
 */
#include "runtime/life/cgroup_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/life/cgroup.h"
#include "tests/harness/unit.h"

START_TEST(test_mounts)
{
	static const struct {
		const char *line, *root, *mount;
	} good[] = {
		{ "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n", "/", "/sys/fs/cgroup/unified" },
		{ "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n", "/", "/sys/fs/cgroup" },
		{ "30 23 0:26 /../../a /sys/fs/cgroup rw - cgroup2 none rw", "/../../a", "/sys/fs/cgroup" },
		{ "30 23 0:26 / /mnt/with\\040blank\\134x rw - cgroup2 none rw", "/", "/mnt/with blank\\x" },
		{ "30 23 0:26 /user.slice /x\\9 rw - cgroup2 none rw", "/user.slice", "/x\\9" },
	};
	static const char *const bad[] = {
		"", "\n", "30", "30 23 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,memory", "30 23 0:26 / /x rw - ext4 cgroup2 rw",
		"30 23 0:26 / /cgroup2 rw - tmpfs tmpfs rw", " - cgroup2 none rw", "30 23 - cgroup2 none rw", "30 23 0:26 /  rw - cgroup2 none rw",
		"30 23 0:26 x /y rw - cgroup2 none rw", "30 23 0:26 / y rw - cgroup2 none rw", "30 23 0:26 / /y rw - cgroup2x none rw",
	};
	static struct cgroup_view v;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		ck_assert_msg(cgroup_parse_mount(good[i].line, &v), "%s", good[i].line);
		ck_assert_str_eq(v.root, good[i].root);
		ck_assert_str_eq(v.mount, good[i].mount);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(!cgroup_parse_mount(bad[i], &v), "%s", bad[i]);
}
END_TEST

START_TEST(test_long_mounts)
{
	static char line[3 * SPEC_PATH_MAX];
	static struct cgroup_view v;
	int n = snprintf(line, sizeof(line), "30 23 0:26 / /");

	memset(line + n, 'a', SPEC_PATH_MAX);
	(void) snprintf(line + n + SPEC_PATH_MAX, sizeof(line) - (size_t) n - SPEC_PATH_MAX, " rw - cgroup2 none rw");
	ck_assert(!cgroup_parse_mount(line, &v));
	line[n + SPEC_PATH_MAX - 2] = ' '; /* the longest that fits */
	ck_assert(cgroup_parse_mount(line, &v));
	ck_assert_uint_eq(strlen(v.mount), SPEC_PATH_MAX - 1);
}
END_TEST

START_TEST(test_own)
{
	static char own[SPEC_PATH_MAX], text[2 * SPEC_PATH_MAX];

	ck_assert_int_eq(cgroup_parse_own("9:name=systemd:/\n1:cpu:/x\n0::/user.slice/a b\n", own), 0);
	ck_assert_str_eq(own, "/user.slice/a b");
	ck_assert_int_eq(cgroup_parse_own("0::/", own), 0);
	ck_assert_str_eq(own, "/");
	ck_assert_int_eq(cgroup_parse_own("0::/../other", own), 0);
	ck_assert_str_eq(own, "/../other");
	ck_assert_int_eq(cgroup_parse_own("", own), -ENODATA);
	ck_assert_int_eq(cgroup_parse_own("1:cpu:/x\n10::/x\n", own), -ENODATA);
	ck_assert_int_eq(cgroup_parse_own("0::x", own), -ENODATA);
	ck_assert_int_eq(cgroup_parse_own("0::", own), -ENODATA);
	int n = snprintf(text, sizeof(text), "0::/");
	memset(text + n, 'a', SPEC_PATH_MAX);
	ck_assert_int_eq(cgroup_parse_own(text, own), -ENODATA);
}
END_TEST

START_TEST(test_below)
{
	ck_assert_str_eq(cgroup_below("/a/b", "/"), "/a/b");
	ck_assert_str_eq(cgroup_below("/", "/"), "");
	ck_assert_str_eq(cgroup_below("/a/b", "/a"), "/b");
	ck_assert_str_eq(cgroup_below("/a", "/a"), "");
	ck_assert_ptr_null(cgroup_below("/ab", "/a"));
	ck_assert_ptr_null(cgroup_below("/", "/a"));
	ck_assert_ptr_null(cgroup_below("/b/a", "/a"));
}
END_TEST

START_TEST(test_join)
{
	static char path[SPEC_PATH_MAX], name[SPEC_PATH_MAX];

	ck_assert_int_eq(cgroup_join(path, "/a", "/b"), 0);
	ck_assert_str_eq(path, "/a/b");
	ck_assert_int_eq(cgroup_join(path, path, "c"), 0);
	ck_assert_str_eq(path, "/a/bc");
	memset(name, 'x', sizeof(name) - 1);
	ck_assert_int_eq(cgroup_join(path, "/", name), -ENAMETOOLONG);
	name[SPEC_PATH_MAX - 2] = '\0';
	ck_assert_int_eq(cgroup_join(path, "/", name), 0);
}
END_TEST

START_TEST(test_needed)
{
	static struct spec spec;

	ck_assert_uint_eq(cgroup_needed(&spec), 0);
	spec.memory = 1;
	ck_assert_uint_eq(cgroup_needed(&spec), CGROUP_MEMORY);
	spec.command.pids = 1;
	ck_assert_uint_eq(cgroup_needed(&spec), CGROUP_MEMORY | CGROUP_PIDS);
	spec.cpu_shares = 2;
	ck_assert_uint_eq(cgroup_needed(&spec), CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU);
}
END_TEST

START_TEST(test_required)
{
	static struct cgroup_report report;
	static struct spec spec;
	struct err err = { .errnum = 0 };

	spec.memory = spec.pids = 1;
	spec.require_limits = true;
	report.backend = CGROUP_NONE;
	IGNORE_RESULT(cgroup_miss_set(&report.missed[CGROUP_OWN], EPERM, "do this", "one %s", "reason"));
	IGNORE_RESULT(cgroup_miss_set(&report.missed[CGROUP_SYSTEMD], ENOENT, "", "another: %m"));
	ck_assert_int_eq(cgroup_check_required(&spec, &report, &err), -ENOENT);
	ck_assert_int_eq(err.code, ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "--require-limits"));
	ck_assert_ptr_nonnull(strstr(err.text, "one reason; another: No such file or directory. Repair: do this"));

	report.backend = CGROUP_OWN;
	report.controllers = CGROUP_MEMORY | CGROUP_PIDS;
	ck_assert_int_eq(cgroup_check_required(&spec, &report, &err), 0);
	spec.cpu_milli = 500;
	ck_assert_int_eq(cgroup_check_required(&spec, &report, &err), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(err.text, "the controller cpu is not handed down"));
	report.controllers = 0; /* not known yet */
	ck_assert_int_eq(cgroup_check_required(&spec, &report, &err), 0);
}
END_TEST

UNIT_MAIN("runtime/life/cgroup_find", test_mounts, test_long_mounts, test_own, test_below, test_join, test_needed, test_required)
