/*
 * Attacks on the kernel's key rings, where logins, disks and browsers keep secrets. Runs inside; `key-owner` runs outside, before a
 * sandbox, and is what is attacked.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"

#define KEY_NAME "cloche-escape-key"

static const struct {
	const char *name;
	int ring;
} rings[] = { { "session", KEY_SPEC_SESSION_KEYRING }, { "user", KEY_SPEC_USER_KEYRING } };

/* Puts @args[1] as a key into the ring @args[0], then executes the rest. */
static enum verdict own_key(char **args)
{
	if (!args[0] || !args[1] || !args[2] || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return NOT_TRIED;
	for (size_t i = 0; i < ARRAY_LEN(rings); i++)
		if (strcmp(rings[i].name, args[0]) == 0 &&
		    syscall(SYS_add_key, "user", KEY_NAME, args[1], strlen(args[1]), rings[i].ring) < 0)
			return NOT_TRIED;
	(void) execvp(args[2], args + 2);
	return NOT_TRIED;
}

/* The secret of a key in one of the caller's rings. */
static enum verdict read_key(_unused_ char **args)
{
	enum verdict v = REFUSED;
	char secret[128];

	for (size_t i = 0; i < ARRAY_LEN(rings); i++) {
		long key = syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i].ring, "user", KEY_NAME, 0);
		long n = key < 0 ? key : syscall(SYS_keyctl, KEYCTL_READ, key, secret, sizeof(secret));
		if (attack_result(n, rings[i].name) == REFUSED)
			continue;
		printf("read: %.*s\n", (int) n, secret);
		v = SUCCEEDED;
	}
	return v;
}

/* The names of keys, which say who logs in where. */
static enum verdict name_keys(_unused_ char **args)
{
	char line[512];
	FILE *keys = fopen("/proc/keys", "re");

	if (!keys)
		return attack_result(-1, "/proc/keys");
	while (fgets(line, sizeof(line), keys))
		if (strstr(line, KEY_NAME)) {
			printf("%s", line);
			return SUCCEEDED;
		}
	return REFUSED;
}

const struct attack key_attacks[] = {
	{ "key-owner", "session|user SECRET PROGRAM [ARGUMENT...]", own_key },
	{ "key-read", NULL, read_key },
	{ "key-names", NULL, name_keys },
	{ NULL, NULL, NULL },
};
