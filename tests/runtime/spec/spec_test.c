/*
 * A specification: its defaults, the caps of its lists, and which paths inside are taken.
 */
#include "runtime/spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/harness/unit.h"

START_TEST(test_defaults)
{
	_cleanup_spec_ struct spec spec;

	memset(&spec, 0xa5, sizeof(spec)); /* nothing of what was there before stays */
	spec_init(&spec);
	ck_assert_int_eq(spec.workspace, SPEC_WORKSPACE_CWD);
	ck_assert(!spec.workspace_read_only && !spec.allow_home);
	ck_assert(spec.uid != 0 && spec.gid != 0);
	ck_assert_str_eq(spec.workdir, SPEC_WORKSPACE);
	ck_assert_ptr_nonnull(spec.hostname);
	ck_assert_uint_eq(spec.mount_count + spec.env_count + spec.owned_count + spec.server_arg_count, 0);
	/* Nothing is unlimited unless somebody says so, but the time on the CPUs. */
	ck_assert(spec.tmp_size && spec.home_size && spec.shm_size && spec.memory && spec.pids);
	ck_assert_uint_eq(spec.cpu_milli, 0);
	for (size_t i = 0; i < RLIM_NLIMITS; i++)
		ck_assert_msg(spec.rlimits[i].set == (i == RLIMIT_NOFILE || i == RLIMIT_RTPRIO || i == RLIMIT_NICE), "limit %zu", i);
	ck_assert_uint_eq(spec.rlimits[RLIMIT_RTPRIO].hard + spec.rlimits[RLIMIT_NICE].hard, 0);
	ck_assert(spec.rlimits[RLIMIT_NOFILE].soft <= spec.rlimits[RLIMIT_NOFILE].hard);
}
END_TEST

#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)

/* With the memory limit, the folders in memory get smaller, unless their size was said; nothing grows above the usual. */
START_TEST(test_sizes)
{
	static const struct {
		uint64_t memory, folder, shm;
	} rows[] = {
		{ 0, GIB, 256 * MIB },	      { 6 * MIB, 1536 << 10, 384 << 10 }, { 64 * MIB, 16 * MIB, 4 * MIB },
		{ GIB, 256 * MIB, 64 * MIB }, { 4 * GIB, GIB, 256 * MIB },	  { 64 * GIB, GIB, 256 * MIB },
		{ 10000001, 2498560, 622592 }, /* whole pages, and never more than the part */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (unsigned int sized = 0; sized < 16; sized++) {
			_cleanup_spec_ struct spec spec;
			spec_init(&spec);
			spec.memory = rows[i].memory;
			spec.sized = sized;
			for (int times = 0; times < 2; times++) {
				spec_settle_sizes(&spec);
				ck_assert_uint_eq(spec.tmp_size, sized & SPEC_FOLDER_TMP ? GIB : rows[i].folder);
				ck_assert_uint_eq(spec.home_size, sized & SPEC_FOLDER_HOME ? GIB : rows[i].folder);
				ck_assert_uint_eq(spec.workspace_size, sized & SPEC_FOLDER_WORKSPACE ? GIB : rows[i].folder);
				ck_assert_uint_eq(spec.shm_size, sized & SPEC_FOLDER_SHM ? 256 * MIB : rows[i].shm);
			}
			ck_assert(spec.memory == 0 || sized || 3 * spec.tmp_size + spec.shm_size <= spec.memory - spec.memory / 8);
		}
	}
}
END_TEST

START_TEST(test_owned_memory)
{
	struct spec spec;

	spec_init(&spec);
	for (size_t i = 0; i < ARRAY_LEN(spec.owned); i++)
		ck_assert_int_eq(spec_own(&spec, malloc(1)), 0);
	ck_assert_int_eq(spec_own(&spec, malloc(1)), -ENOSPC); /* released: the sanitizer looks */
	spec_done(&spec);
	ck_assert_uint_eq(spec.owned_count, 0);
	spec_done(&spec);
}
END_TEST

START_TEST(test_mounts)
{
	_cleanup_spec_ struct spec spec;
	struct err err = { 0 };
	struct spec_mount mount = { .kind = SPEC_TMPFS };
	char targets[SPEC_MOUNTS_MAX][16];

	spec_init(&spec);
	for (mount.size = 0; mount.size < SPEC_MOUNTS_MAX; mount.size++) {
		(void) snprintf(targets[mount.size], sizeof(targets[0]), "/data%u", (unsigned int) mount.size);
		mount.target = targets[mount.size];
		ck_assert_int_eq(spec_add_mount(&spec, &mount, &err), 0);
		if (mount.size == 1) /* a target has one mount */
			ck_assert_int_eq(spec_add_mount(&spec, &mount, &err), -EEXIST);
	}
	ck_assert_int_eq(spec_add_mount(&spec, &mount, &err), -ENOSPC);
	ck_assert_int_eq(err.code, ERR_USAGE);
	ck_assert_uint_eq(spec.mount_count, SPEC_MOUNTS_MAX);
	for (size_t i = 0; i < SPEC_MOUNTS_MAX; i++)
		ck_assert_uint_eq(spec.mounts[i].size, i);
}
END_TEST

/* What was there when the list was settled gives way, once; the others still exclude each other. */
START_TEST(test_settled_mounts)
{
	static const char *const targets[] = { "/a", "/b", "/c" };
	_cleanup_spec_ struct spec spec;
	struct err err = { 0 };
	struct spec_mount mount = { .kind = SPEC_TMPFS, .size = 1 };

	spec_init(&spec);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		mount.target = targets[i];
		ck_assert_int_eq(spec_add_mount(&spec, &mount, &err), 0);
	}
	spec_settle_mounts(&spec);
	mount = (struct spec_mount) { .kind = SPEC_TMPFS, .target = "/b", .size = 2 };
	ck_assert_int_eq(spec_add_mount(&spec, &mount, &err), 0);
	ck_assert_uint_eq(spec.mount_count, 3);
	ck_assert_uint_eq(spec.mounts_settled, 2);
	ck_assert_str_eq(spec.mounts[0].target, "/a");
	ck_assert_str_eq(spec.mounts[1].target, "/c");
	ck_assert(strcmp(spec.mounts[2].target, "/b") == 0 && spec.mounts[2].size == 2);
	ck_assert_int_eq(spec_add_mount(&spec, &mount, &err), -EEXIST);
}
END_TEST

START_TEST(test_limit_names)
{
	ck_assert_str_eq(spec_limit_name(RLIMIT_NOFILE), "nofile");
	for (int i = 0; i < RLIM_NLIMITS; i++)
		ck_assert_ptr_nonnull(spec_limit_name(i));
	ck_assert_ptr_null(spec_limit_name(-1));
	ck_assert_ptr_null(spec_limit_name(RLIM_NLIMITS));
}
END_TEST

START_TEST(test_env)
{
	static const char *const given[] = { "AB=1", "A=2", "A=3", "ABC=", "AB=", "B=A=1" };
	static const char *const wanted[] = { "AB=", "A=3", "ABC=", "B=A=1" };
	_cleanup_spec_ struct spec spec;
	struct err err = { 0 };

	spec_init(&spec);
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		ck_assert_int_eq(spec_add_env(&spec, given[i], &err), 0);
	ck_assert_uint_eq(spec.env_count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		ck_assert_str_eq(spec.env[i], wanted[i]);
}
END_TEST

START_TEST(test_env_is_capped)
{
	static char names[SPEC_ENV_MAX][16];
	_cleanup_spec_ struct spec spec;
	struct err err = { 0 };

	spec_init(&spec);
	for (size_t i = 0; i < SPEC_ENV_MAX; i++) {
		(void) snprintf(names[i], sizeof(names[i]), "V%zu=", i);
		ck_assert_int_eq(spec_add_env(&spec, names[i], &err), 0);
	}
	ck_assert_int_eq(spec_add_env(&spec, "ONE_MORE=", &err), -ENOSPC);
	ck_assert_int_eq(err.code, ERR_USAGE);
	ck_assert_int_eq(spec_add_env(&spec, "V7=replaced", &err), 0);
	ck_assert_str_eq(spec.env[7], "V7=replaced");
	ck_assert_uint_eq(spec.env_count, SPEC_ENV_MAX);
}
END_TEST

START_TEST(test_targets)
{
	static const struct {
		const char *path;
		const char *message; /* a part of it; NULL: the path is taken */
	} cases[] = {
		{ "/data", NULL },
		{ "/data/", NULL },
		{ "/", NULL },
		{ "/a/b c/\xc3\xa9", NULL },
		{ "/...", NULL },
		{ "/.hidden/..data/a..", NULL },
		{ "", "must be an absolute path" },
		{ "data", "must be an absolute path" },
		{ "./data", "must be an absolute path" },
		{ "/.", "'.' or '..'" },
		{ "/..", "'.' or '..'" },
		{ "/a/../b", "'.' or '..'" },
		{ "/a/./b", "'.' or '..'" },
		{ "/a/..", "'.' or '..'" },
		{ "/a/../", "'.' or '..'" },
		{ "//", "double slash" },
		{ "//a", "double slash" },
		{ "/a//b", "double slash" },
		{ "/a//", "double slash" },
		{ "/a\nb", "control character" },
		{ "/a\x1b[2J", "control character" },
		{ "/a\x7f", "control character" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		int r = spec_check_target("the target", cases[i].path, &err);
		ck_assert_msg((r == 0) == !cases[i].message, "'%s': %d %s", cases[i].path, r, err.text);
		if (r == 0)
			continue;
		ck_assert_int_eq(err.code, ERR_USAGE);
		ck_assert_msg(strstr(err.text, cases[i].message) != NULL, "'%s': '%s'", cases[i].path, err.text);
	}
}
END_TEST

START_TEST(test_target_length)
{
	static char path[SPEC_PATH_MAX + 1];
	struct err err = { 0 };

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	ck_assert_int_eq(spec_check_target("the target", path, &err), -ENAMETOOLONG);
	path[SPEC_PATH_MAX - 1] = '\0';
	ck_assert_int_eq(spec_check_target("the target", path, &err), 0);
}
END_TEST

UNIT_MAIN("runtime/spec/spec", test_defaults, test_sizes, test_owned_memory, test_mounts, test_settled_mounts, test_limit_names, test_env,
	  test_env_is_capped, test_targets,
	  test_target_length)
