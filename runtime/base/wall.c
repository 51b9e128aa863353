/*
 * Walls that a test build leaves out: see wall.h. Empty in every build that is not for tests; runs in all programs of one that is.
 */
#include "runtime/base/wall.h"

#ifdef CLOCHE_TEST_HOLES

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/attr.h"

static const char *const names[WALL_COUNT] = {
	[WALL_BENEATH] = "beneath",
	[WALL_CAPS] = "caps",
	[WALL_CGROUPNS] = "cgroupns",
	[WALL_CLOSE_FDS] = "close-fds",
	[WALL_DEV] = "dev",
	[WALL_DUMPABLE] = "dumpable",
	[WALL_ENV] = "env",
	[WALL_FRESH_PROC] = "fresh-proc",
	[WALL_HIDEPID] = "hidepid",
	[WALL_IPCNS] = "ipcns",
	[WALL_KEYRING] = "keyring",
	[WALL_LANDLOCK] = "landlock",
	[WALL_LIMITS] = "limits",
	[WALL_NETNS] = "netns",
	[WALL_NO_NEW_PRIVS] = "no-new-privs",
	[WALL_NODEV] = "nodev",
	[WALL_NOSUID] = "nosuid",
	[WALL_OLD_ROOT] = "old-root",
	[WALL_PARENT_DEATH] = "parent-death",
	[WALL_PIDNS] = "pidns",
	[WALL_PIN] = "pin",
	[WALL_PROC_MASK] = "proc-mask",
	[WALL_PROGRAM_READONLY] = "program-readonly",
	[WALL_PROTECT] = "protect",
	[WALL_READONLY] = "readonly",
	[WALL_ROOT_READONLY] = "root-readonly",
	[WALL_SECCOMP] = "seccomp",
	[WALL_SECCOMP_INIT] = "seccomp-init",
	[WALL_SECCOMP_SERVER] = "seccomp-server",
	[WALL_SESSION] = "session",
	[WALL_STREAMS] = "streams",
	[WALL_UCOUNTS] = "ucounts",
	[WALL_UTSNS] = "utsns",
};

static const char *missing;
static uint64_t missing_mask;

bool wall_stands(enum wall w)
{
	return !(missing_mask >> w & 1);
}

const char *wall_missing(void)
{
	return missing;
}

static uint64_t mask_of(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return UINT64_C(1) << i;
	(void) dprintf(STDERR_FILENO, "cloche (a build for tests): there is no wall '%.*s'\n", (int) len, name);
	_exit(99);
}

static void set_missing(const char *list)
{
	missing = list;
	for (const char *at = list; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		missing_mask |= mask_of(at, len);
		at += len;
	}
}

void wall_from_environment(void)
{
	const char *list = getenv("CLOCHE_TEST_WITHOUT");

	if (list && *list)
		set_missing(list);
}

void wall_from_arguments(int *argc, char ***argv)
{
	if (*argc < 3 || strcmp((*argv)[1], "--without") != 0)
		return;
	set_missing((*argv)[2]);
	(*argv)[2] = (*argv)[0];
	*argc -= 2;
	*argv += 2;
}

#endif
