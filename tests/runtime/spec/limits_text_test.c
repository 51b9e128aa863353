/*
 * What a limit did to a command, in words.
 */
#include "runtime/spec/limits_text.h"

#include <string.h>

#include "tests/harness/unit.h"

#define MIB(n) ((uint64_t) (n) << 20)

static struct buf text = BUF_INIT(LIMITS_TEXT_MAX);

/* A command that was measured exactly, under the limits of an ordinary sandbox. */
static struct initmsg_metrics metrics;
static struct initmsg_limits limits, sandbox;
static struct limits_told told;

static void begin(void)
{
	metrics = (struct initmsg_metrics) { .wall_us = 10000000, .memory_peak = MIB(512), .measured = INITMSG_EXACT };
	sandbox = (struct initmsg_limits) { .memory = MIB(2048), .cpu_milli = 2000, .pids = 512 };
	limits = (struct initmsg_limits) { .memory = MIB(512), .cpu_milli = 500, .pids = 448 };
	told = (struct limits_told) { .metrics = &metrics, .limits = &limits, .sandbox = &sandbox, .for_agent = true };
}

static const char *memory(void)
{
	buf_clear(&text);
	limits_add_memory(&text, &told);
	ck_assert_int_eq(buf_error(&text), 0);
	return buf_cstr(&text);
}

static const char *others(unsigned int lines)
{
	buf_clear(&text);
	ck_assert_uint_eq(limits_add_others(&text, &told, "<", ">\n"), lines);
	ck_assert_int_eq(buf_error(&text), 0);
	return buf_cstr(&text);
}

#define ck_assert_has(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text)
#define ck_assert_has_not(text, part) ck_assert_msg(strstr(text, part) == NULL, "\"%s\" in: %s", part, text)

START_TEST(test_values)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} sizes[] = {
		{ 0, "0 MiB" }, { 1, "1 KiB" }, { 300 * 1024, "300 KiB" }, { MIB(6), "6 MiB" }, { MIB(6) + 1, "6145 KiB" },
		{ MIB(512) - 4096, "512 MiB" }, { MIB(512) + MIB(1) / 2, "513 MiB" }, { MIB(4096), "4096 MiB" },
		{ UINT64_MAX, "17592186044416 MiB" },
	};
	static const struct {
		uint32_t milli;
		const char *want;
	} cpus[] = { { 500, "0.5" }, { 2000, "2" }, { 1250, "1.25" }, { 10, "0.01" }, { 1001, "1.001" }, { UINT32_MAX, "4294967.295" } };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		buf_clear(&text);
		limits_add_size(&text, sizes[i].bytes);
		ck_assert_str_eq(buf_cstr(&text), sizes[i].want);
	}
	for (size_t i = 0; i < ARRAY_LEN(cpus); i++) {
		buf_clear(&text);
		limits_add_cpus(&text, cpus[i].milli);
		ck_assert_str_eq(buf_cstr(&text), cpus[i].want);
	}
}
END_TEST

START_TEST(test_memory)
{
	begin();
	ck_assert(!limits_out_of_memory(&told));
	told.killed = INITMSG_KILLED_ON_REQUEST;
	ck_assert(!limits_out_of_memory(&told));
	told.killed = INITMSG_KILLED_MEMORY;
	ck_assert(limits_out_of_memory(&told));
	ck_assert_str_eq(memory(), "killed: used 512 MiB of 512 MiB of memory, the limit of a single command. Work in smaller parts or with fewer "
				   "processes at once, or ask for more with the argument memory, at most 2048 MiB; the user can allow more "
				   "(option --memory of cloche).");
	told.asked.memory = MIB(512);
	ck_assert_has(memory(), "the limit of this call (its argument memory). ");
	limits.memory = sandbox.memory;
	metrics.memory_peak = MIB(2048) - 1;
	ck_assert_str_eq(memory(), "killed: used 2048 MiB of 2048 MiB of memory, the limit of this sandbox. Work in smaller parts or with fewer "
				   "processes at once, or ask the user to allow more (option --memory of cloche).");
	metrics.memory_peak = 0; /* not known */
	ck_assert_has(memory(), "killed: used all of 2048 MiB of memory, ");
	metrics.memory_peak = MIB(2100);
	metrics.measured = INITMSG_APPROXIMATE;
	ck_assert_has(memory(), "killed: used about 2100 MiB of 2048 MiB of memory, ");
	sandbox.memory = 0; /* only this command is limited */
	limits.memory = MIB(64);
	ck_assert_has(memory(), "ask for more with the argument memory; the user");
}
END_TEST

START_TEST(test_memory_together)
{
	begin();
	told.killed = INITMSG_KILLED_MEMORY_ALL;
	ck_assert(limits_out_of_memory(&told));
	ck_assert_has(memory(), "killed: all commands together used all of 2048 MiB of memory, and this one itself 512 MiB. ");
	ck_assert_has(buf_cstr(&text), "ask the user to allow more (option --memory of cloche).");
	ck_assert_has_not(buf_cstr(&text), "the argument");
	metrics.measured = INITMSG_APPROXIMATE;
	ck_assert_has(memory(), "this one itself about 512 MiB. ");
	metrics.memory_peak = 0;
	ck_assert_has(memory(), "used all of 2048 MiB of memory. ");
	metrics.memory_peak = MIB(1900); /* there was hardly anybody else */
	ck_assert_has(memory(), "together");
	metrics.memory_peak = MIB(1920);
	ck_assert_has(memory(), "killed: used about 1920 MiB of 2048 MiB of memory, the limit of this sandbox. ");
	told.for_agent = false;
	ck_assert_has(memory(), "killed: used about 1920 MiB of 2048 MiB of memory, the limit of this sandbox. ");
	metrics.memory_peak = MIB(100); /* `cloche run` knows no other command */
	ck_assert_has(memory(), "killed: used all of 2048 MiB of memory together with files in /tmp and other folders in memory, and itself "
				"about 100 MiB. ");
	ck_assert_has(buf_cstr(&text), "or allow more with --memory.");
}
END_TEST

START_TEST(test_memory_partly)
{
	begin();
	ck_assert_str_eq(others(0), "");
	metrics.oom_kills = 3;
	ck_assert_has(others(1), "<3 of its processes lost to want of memory; killed: used 512 MiB of 512 MiB");
	told.killed = INITMSG_KILLED_MEMORY; /* all of them: told elsewhere */
	ck_assert_str_eq(others(0), "");
}
END_TEST

START_TEST(test_pids)
{
	begin();
	metrics.pids_refused = 7;
	ck_assert(limits_out_of_pids(&told));
	ck_assert_str_eq(others(1), "<new processes or threads were refused 7 times: there may be 448 at once, the limit of a single command. Start "
				    "fewer at once (as in make -j2), or ask for more with the argument pids, at most 512; the user can allow "
				    "more (option --pids-limit of cloche).>\n");
	metrics.pids_refused = 1;
	limits.pids = 512;
	ck_assert_has(others(1), "<a new process or thread was refused: there may be 512 at once, the limit of this sandbox. ");
	metrics.pids_refused = UINT32_MAX;
	ck_assert_has(others(1), "refused 4294967295 times");
	limits.pids = sandbox.pids = 0; /* another limit, of the machine or a group around us */
	ck_assert_has(others(1), "refused 4294967295 times. Start fewer");
	metrics.pids_refused = 0;
	ck_assert(!limits_out_of_pids(&told));
	told.fork_failed = true; /* somebody else's message, perhaps */
	ck_assert_str_eq(others(0), "");
	told.failed = true;
	ck_assert_has(others(1), "<a process or thread could not be started. Start fewer");
}
END_TEST

/* Where nobody counts refusals: only next to the limit. */
START_TEST(test_pids_seen)
{
	begin();
	metrics.measured = INITMSG_APPROXIMATE;
	metrics.processes_peak = 440;
	ck_assert(!limits_out_of_pids(&told)); /* it could do with them */
	told.fork_failed = true;
	ck_assert(limits_out_of_pids(&told));
	told.fork_failed = false;
	told.failed = true;
	ck_assert(limits_out_of_pids(&told));
	ck_assert_has(others(1), "probably refused, since it was seen with about 440: there may be 448 at once, ");
	metrics.processes_peak = 300;
	ck_assert(!limits_out_of_pids(&told));
	ck_assert_str_eq(others(0), "");
	metrics.processes_peak = 0;
	limits.pids = 4;
	ck_assert(!limits_out_of_pids(&told));
	metrics.processes_peak = 2;
	ck_assert(!limits_out_of_pids(&told));
	metrics.processes_peak = 3;
	ck_assert(limits_out_of_pids(&told));
	metrics.measured = INITMSG_EXACT; /* the kernel would have counted */
	metrics.processes_peak = 440;
	limits.pids = 448;
	ck_assert(!limits_out_of_pids(&told));
}
END_TEST

START_TEST(test_cpus)
{
	begin();
	metrics.throttled_us = metrics.wall_us / 2;
	ck_assert_str_eq(others(0), "");
	metrics.throttled_us++;
	ck_assert(limits_held_back(&told));
	ck_assert_has(others(1), "<held back for most of its time, because it wanted more than the CPU time of 0.5 CPUs, the limit of a single "
				 "command. Give it more time or less work at once, or ask for more with the argument cpus, at most 2; ");
	limits.cpu_milli = sandbox.cpu_milli = 1000;
	ck_assert_has(others(1), "CPU time of 1 CPU, the limit of this sandbox. ");
	ck_assert_has(buf_cstr(&text), "ask the user to allow more (option --cpus of cloche).");
	metrics.throttled_us = INITMSG_UNKNOWN;
	ck_assert(!limits_held_back(&told));
	metrics.wall_us = LIMITS_THROTTLED_LEAST_US - 1; /* too short to matter */
	metrics.throttled_us = metrics.wall_us;
	ck_assert(!limits_held_back(&told));
	metrics.wall_us = metrics.throttled_us = 10000000;
	limits.cpu_milli = 0;
	ck_assert(!limits_held_back(&told));
}
END_TEST

/* It may have waited without anybody counting. */
START_TEST(test_cpu_time)
{
	begin();
	limits.cpu_milli = 1500;
	metrics.processes_peak = 2;
	metrics.wall_us = 2000000;
	metrics.cpu_user_us = 2000000;
	metrics.cpu_system_us = 699999;
	ck_assert_str_eq(others(0), "");
	metrics.cpu_system_us++; /* nine tenths */
	ck_assert(!limits_held_back(&told));
	ck_assert_has(others(1), "<perhaps held back: it used all of the CPU time that it may have, that of 1.5 CPUs, the limit of a single command. ");
	metrics.processes_peak = 1; /* one thread can have no more */
	ck_assert_str_eq(others(0), "");
	metrics.processes_peak = 2;
	metrics.cpu_user_us = INITMSG_UNKNOWN;
	ck_assert_str_eq(others(0), "");
	metrics.cpu_user_us = 2000000;
	metrics.wall_us--;
	ck_assert_str_eq(others(0), "");
	metrics.wall_us++;
	limits.cpu_milli = 0;
	ck_assert_str_eq(others(0), "");
}
END_TEST

START_TEST(test_for_the_user)
{
	begin();
	told.for_agent = false;
	told.killed = INITMSG_KILLED_MEMORY;
	ck_assert_has(memory(), "or allow more with --memory or --command-memory.");
	limits.memory = sandbox.memory;
	ck_assert_has(memory(), "of 2048 MiB of memory, the limit of this sandbox. ");
	ck_assert_has(buf_cstr(&text), "or allow more with --memory.");
	metrics.pids_refused = 2;
	metrics.throttled_us = metrics.wall_us; /* nobody waits with a time limit */
	ck_assert_has(others(1), "or allow more with --pids-limit or --command-pids-limit.>\n");
	ck_assert_has_not(buf_cstr(&text), "argument");
}
END_TEST

/* Figures that make no sense, and the longest text. */
START_TEST(test_hostile)
{
	begin();
	memset(&metrics, 0xFF, sizeof(metrics));
	memset(&limits, 0xFF, sizeof(limits));
	memset(&sandbox, 0xFF, sizeof(sandbox));
	sandbox.cpu_milli = sandbox.pids = UINT32_MAX;
	for (uint32_t killed = 0; killed < 8; killed++) {
		told.killed = killed;
		ck_assert_uint_gt(strlen(memory()), 50);
		(void) others(killed == INITMSG_KILLED_MEMORY || killed == INITMSG_KILLED_MEMORY_ALL ? 1 : 2);
	}
	metrics.throttled_us = UINT64_MAX - 1;
	metrics.wall_us = UINT64_MAX / 2;
	told.killed = 0;
	(void) others(3);
}
END_TEST

UNIT_MAIN("runtime/spec/limits_text", test_values, test_memory, test_memory_together, test_memory_partly, test_pids, test_pids_seen, test_cpus, test_cpu_time,
	  test_for_the_user, test_hostile)
