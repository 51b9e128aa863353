/*
 * What must hold between several limits: contradictions are refused with both names, in every order of the options; what fits passes.
 */
#include "runtime/cli/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cli/command.h"
#include "tests/harness/unit.h"

enum { OPTIONS_OF_A_CASE = 3, LINE_SIZE = 64 };

struct limits_case {
	const char *line[OPTIONS_OF_A_CASE];
	const char *says[2]; /* NULL: it passes */
};

static const struct limits_case cases[] = {
	{ { "--memory=1g" }, { NULL } },
	{ { "--memory-swap=8g" }, { NULL } }, /* beside the default of 4g */
	{ { "--memory=1g", "--memory-swap=1g" }, { NULL } },
	{ { "--memory=1g", "--memory-swap=3g" }, { NULL } },
	{ { "--memory=1g", "--memory-swap=-1" }, { NULL } },
	{ { "--memory=0", "--memory-swap=-1" }, { NULL } },
	{ { "--memory=0", "--memory-swap=0" }, { NULL } },
	{ { "--memory=1g", "--memory-swap=1023m" }, { "--memory-swap 1023m (by: default) is less", "--memory 1g" } },
	{ { "--memory-swap=3g" }, { "--memory-swap 3g", "--memory 4g" } },
	{ { "--memory=0", "--memory-swap=3g" }, { "--memory-swap 3g", "needs a limit of memory" } },
	{ { "--memory=1g", "--command-memory=1g" }, { NULL } },
	{ { "--memory=0", "--command-memory=1t" }, { NULL } },
	{ { "--memory=1g", "--command-memory=1025m" }, { "--command-memory 1025m", "--memory 1g" } },
	{ { "--memory=10000001", "--command-memory=10000002" }, { "--command-memory 10000002b", "--memory 10000001b" } },
	{ { "--command-memory=5g" }, { "--command-memory 5g", "--memory 4g" } },
	{ { "--command-cpus=64" }, { NULL } },
	{ { "--cpus=2", "--command-cpus=2" }, { NULL } },
	{ { "--cpus=1.5", "--command-cpus=1.501" }, { "--command-cpus 1.501", "--cpus 1.5" } },
	{ { "--pids-limit=-1", "--command-pids-limit=9999" }, { NULL } },
	{ { "--pids-limit=9", "--command-pids-limit=9" }, { NULL } },
	{ { "--pids-limit=9", "--command-pids-limit=10" }, { "--command-pids-limit 10", "--pids-limit 9" } },
	{ { "--command-pids-limit=513" }, { "--command-pids-limit 513", "--pids-limit 512" } },
	{ { "--cgroup=none" }, { NULL } },
	{ { "--require-limits" }, { NULL } },
	{ { "--require-limits", "--cgroup=systemd" }, { NULL } },
	{ { "--require-limits", "--cgroup=none" }, { "--require-limits", "--cgroup none" } },
};

/* Parses the options of @c, forward or backward, and settles. */
static int settle(const struct limits_case *c, bool backward, struct options *o, struct err *err)
{
	char words[OPTIONS_OF_A_CASE][LINE_SIZE], *argv[OPTIONS_OF_A_CASE];
	int count = 0;

	while (count < OPTIONS_OF_A_CASE && c->line[count])
		count++;
	for (int i = 0; i < count; i++) {
		argv[i] = words[i];
		(void) snprintf(words[i], sizeof(words[i]), "%s", c->line[backward ? count - 1 - i : i]);
	}
	options_init(o);
	ck_assert_int_eq(opt_parse(options_table, GROUP_RUN, OPT_PERMUTE, o, count, argv, err), 0);
	return limits_settle(o, err);
}

START_TEST(test_what_fits_passes_and_what_does_not_is_told)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (int backward = 0; backward < 2; backward++) {
			_cleanup_options_ struct options o;
			struct err err = { .code = ERR_NONE };
			const struct limits_case *c = &cases[i];
			int r = settle(c, backward, &o, &err);
			if (!c->says[0]) {
				ck_assert_msg(r == 0, "case %zu: %s", i, err.text);
				continue;
			}
			ck_assert_msg(r == -EINVAL && err.code == ERR_USAGE, "case %zu was taken", i);
			for (size_t j = 0; j < ARRAY_LEN(c->says); j++)
				ck_assert_msg(strstr(err.text, c->says[j]) != NULL, "case %zu lacks '%s': %s", i, c->says[j], err.text);
		}
	}
}
END_TEST

/* In whatever order a size and the limit of memory are said. */
START_TEST(test_sizes_follow)
{
	static const struct limits_case orders[] = {
		{ { "--memory=512m", "--tmpfs=/tmp:size=1g", "--workspace=none" }, { NULL } },
		{ { "--tmpfs=/tmp:size=1g", "--workspace=none", "--memory=512m" }, { NULL } },
	};

	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		_cleanup_options_ struct options o;
		struct err err = { .code = ERR_NONE };
		ck_assert_int_eq(settle(&orders[i], false, &o, &err), 0);
		ck_assert_uint_eq(o.spec.tmp_size, 1 << 30);
		ck_assert_uint_eq(o.spec.home_size, 128 << 20);
		ck_assert_uint_eq(o.spec.workspace_size, 128 << 20);
		ck_assert_uint_eq(o.spec.shm_size, 32 << 20);
	}
}
END_TEST

UNIT_MAIN("runtime/cli/limits", test_what_fits_passes_and_what_does_not_is_told, test_sizes_follow)
