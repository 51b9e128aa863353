/*
 * What /etc/passwd says of a user: see account.h. Runs in the launcher.
 */
#include "runtime/life/account.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t cap, const char *from)
{
	size_t len = strlen(from);

	to[0] = '\0';
	if (len < cap)
		memcpy(to, from, len + 1);
}

bool account_find(uid_t uid, struct account *ret)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;

	while (file && (entry = fgetpwent(file)) && entry->pw_uid != uid)
		;
	if (entry) {
		ret->gid = entry->pw_gid;
		copy(ret->name, sizeof(ret->name), entry->pw_name);
		copy(ret->home, sizeof(ret->home), entry->pw_dir);
	}
	if (file)
		(void) fclose(file);
	return entry != NULL;
}
