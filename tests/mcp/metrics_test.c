/*
 * What programs are told of a command's use.
 */
#include "mcp/metrics.h"

#include "tests/mcp/double.h"

static char *json;

/* The member "cloche/metrics" for @res, as text. */
static const char *told_of(const struct exec_result *res)
{
	d.args = d.args ? d.args : cJSON_CreateObject();
	d.call.args = d.args;
	metrics_add(&d.call, res);
	ck_assert_int_eq(cJSON_GetArraySize(d.call.meta), 1);
	free(json);
	json = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(d.call.meta, "cloche/metrics"));
	ck_assert_ptr_nonnull(json);
	return json;
}

static struct exec_result nothing_known(void)
{
	return (struct exec_result) {
		.wait_status = 3 << 8,
		.metrics = { .read_bytes = INITMSG_UNKNOWN, .written_bytes = INITMSG_UNKNOWN, .throttled_us = INITMSG_UNKNOWN },
	};
}

START_TEST(test_unknown)
{
	double_setup();
	struct exec_result res = nothing_known();

	ck_assert_str_eq(told_of(&res), "{\"exit_status\":3,\"wall_ms\":0,\"cpu_user_ms\":0,\"cpu_system_ms\":0,\"output_bytes\":0,"
					"\"timed_out\":false,\"oom_killed\":false,\"truncated\":false,\"measured\":\"approximate\","
					"\"limits\":{}}");
	res.metrics.throttled_us = 5000; /* by no limit of a CPU: it cannot be */
	ck_assert_has_not(told_of(&res), "throttled_ms");
	double_teardown();
}
END_TEST

START_TEST(test_all)
{
	double_setup();
	struct exec_result res = {
		.wait_status = SIGKILL,
		.killed = INITMSG_KILLED_MEMORY,
		.timed_out = true,
		.output_total = 100,
		.metrics = {
			.wall_us = 1234567, .cpu_user_us = 2345678, .cpu_system_us = 999, .memory_peak = 5000000000, .read_bytes = 4096,
			.written_bytes = 0, .throttled_us = 7000, .max_rss = 77, .processes_peak = 9, .pids_refused = 1,
			.oom_kills = 2, .measured = INITMSG_EXACT,
		},
		.limits = { .memory = 6000000000, .cpu_milli = 1500, .pids = 448 },
	};

	ck_assert_str_eq(told_of(&res), "{\"signal\":9,\"wall_ms\":1234,\"cpu_user_ms\":2345,\"cpu_system_ms\":0,\"memory_peak\":5000000000,"
					"\"processes_peak\":9,\"bytes_read\":4096,\"bytes_written\":0,\"throttled_ms\":7,\"output_bytes\":100,"
					"\"timed_out\":true,\"oom_killed\":true,\"pids_limit_hit\":true,\"truncated\":true,"
					"\"measured\":\"exact\",\"limits\":{\"memory\":6000000000,\"cpus\":1.5,\"pids\":448}}");
	/* A second command of the same call takes the place of the first. */
	res = nothing_known();
	ck_assert_has(told_of(&res), "\"exit_status\":3");
	double_teardown();
}
END_TEST

START_TEST(test_flags)
{
	double_setup();
	struct exec_result res = nothing_known();

	res.metrics.cpu_user_us = res.metrics.cpu_system_us = INITMSG_UNKNOWN; /* of one that was killed with its shim */
	ck_assert_ptr_null(strstr(told_of(&res), "cpu_"));
	res.metrics.measured = INITMSG_EXACT;
	ck_assert_has(told_of(&res), "\"pids_limit_hit\":false");
	res.metrics.oom_kills = 1; /* a process of it, and it went on */
	ck_assert_has(told_of(&res), "\"oom_killed\":true");
	res.metrics.oom_kills = 0;
	res.killed = INITMSG_KILLED_ON_REQUEST;
	ck_assert_has(told_of(&res), "\"oom_killed\":false");
	res.killed = INITMSG_KILLED_MEMORY_ALL;
	ck_assert_has(told_of(&res), "\"oom_killed\":true");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/metrics", test_unknown, test_all, test_flags)
