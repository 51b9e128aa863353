/*
 * Why namespaces cannot be made, in words: each errno has its own cause and a way out. Which one is told depends on this host's
 * settings too, so these are looked at first.
 */
#include "runtime/life/userns_diagnose.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

static bool file_says(const char *path, const char *part)
{
	char text[8192];

	return fd_read_text(AT_FDCWD, path, text, sizeof(text)) >= 0 && strstr(text, part) != NULL;
}

/* A setting of this host that explains every failure; NULL when there is none. */
static const char *switched_off(void)
{
	static const char *const settings[] = { "user/max_user_namespaces", "kernel/unprivileged_userns_clone",
						"user/max_net_namespaces", "user/max_pid_namespaces", "user/max_mnt_namespaces" };
	char path[128], text[64];

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		(void) snprintf(path, sizeof(path), "/proc/sys/%s", settings[i]);
		if (fd_read_text(AT_FDCWD, path, text, sizeof(text)) == 1 && text[0] == '0')
			return strchr(settings[i], '/') + 1;
	}
	return NULL;
}

static void check(int errnum, enum err_code code, const char *part)
{
	const char *setting = switched_off();
	struct err err = { 0 };

	ck_assert_int_eq(userns_diagnose(errnum, &err), -errnum);
	ck_assert_int_eq(err.errnum, errnum);
	ck_assert_int_eq(err.code, setting ? ERR_UNSUPPORTED : code);
	ck_assert_msg(strstr(err.text, setting ? setting : part) != NULL, "errno %d: '%s'", errnum, err.text);
}

START_TEST(test_causes)
{
	check(ENOSPC, ERR_UNSUPPORTED, "a limit of namespaces is reached");
	check(EUSERS, ERR_UNSUPPORTED, "nested too deeply");
	check(EAGAIN, ERR_SYSTEM, "too many processes");
	check(ENOMEM, ERR_SYSTEM, "Cannot allocate memory");
	check(EIO, ERR_SYSTEM, "Input/output error");
}
END_TEST

START_TEST(test_policies)
{
	bool filtered = file_says("/proc/self/status", "\nSeccomp:\t2");

	check(ENOSYS, ERR_UNSUPPORTED, filtered ? "system-call filter" : "kernel is too old");
	check(EPERM, ERR_UNSUPPORTED, filtered ? "system-call filter" : "security module");
}
END_TEST

/* In a container whose filter forbids namespaces, the filter is named: not the kernel, not a security module. */
START_TEST(test_policies_under_a_filter)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	check(ENOSYS, ERR_UNSUPPORTED, "system-call filter");
	check(EPERM, ERR_UNSUPPORTED, "--security-opt seccomp=unconfined");
	check(ENOSPC, ERR_UNSUPPORTED, "a limit of namespaces is reached"); /* no filter answers that */
}
END_TEST

UNIT_MAIN("runtime/life/userns_diagnose", test_causes, test_policies, test_policies_under_a_filter)
