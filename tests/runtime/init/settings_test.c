/*
 * Init's own options: what the launcher writes is taken, and a wrong word ends the start instead of a limit.
 */
#include "runtime/init/settings.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/init/die.h"
#include "tests/harness/unit.h"

enum { WORDS_MAX = 24 };

static struct settings settings;

static int read_words(const char *const *words)
{
	char *argv[WORDS_MAX] = { (char *) (uintptr_t) "cloche-init" };
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *) (uintptr_t) words[argc - 1];
	settings = (struct settings) { .shared_proc = false };
	return settings_read(&settings, argc, argv);
}

START_TEST(test_limits)
{
	static const char *const words[] = {
		"--memory", "18446744073709551615", "--pids", "512", "--cpus", "1500", "--command-memory", "1048576", "--command-pids",
		"7", "--command-cpus", "250", "--shared-proc", "mcp", "--memory", NULL,
	};

	ck_assert_int_eq(read_words(words), 14);
	ck_assert(settings.sandbox.memory == UINT64_MAX);
	ck_assert_uint_eq(settings.sandbox.pids, 512);
	ck_assert_uint_eq(settings.sandbox.cpu_milli, 1500);
	ck_assert_uint_eq(settings.command.memory, 1048576);
	ck_assert_uint_eq(settings.command.pids, 7);
	ck_assert_uint_eq(settings.command.cpu_milli, 250);
	ck_assert(settings.shared_proc);
}
END_TEST

START_TEST(test_none)
{
	static const char *const words[] = { "run", NULL };

	ck_assert_int_eq(read_words(words), 1);
	ck_assert_uint_eq(settings.sandbox.memory, 0);
	ck_assert_uint_eq(settings.sandbox.pids, 0);
	ck_assert_uint_eq(settings.sandbox.cpu_milli, 0);
}
END_TEST

START_TEST(test_wrong_words)
{
	static const char *const cases[][4] = {
		{ "--memory", "0", "run" }, { "--memory", "1k", "run" }, { "--memory", "-1", "run" }, { "--memory" },
		{ "--pids", "0", "run" }, { "--pids", "4294967296", "run" }, { "--cpus", "1.5", "run" }, { "--cpus", "0", "run" },
		{ "--command-memory", "0", "run" }, { "--command-pids", "4294967296", "run" }, { "--command-cpus", "", "run" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = -1;
		pid_t pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			(void) close(STDERR_FILENO);
			(void) read_words(cases[i]);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == DIE_STATUS, "case %zu", i);
	}
}
END_TEST

UNIT_MAIN("runtime/init/settings", test_limits, test_none, test_wrong_words)
