/*
 * What /etc/passwd says of a user: see account.h. Runs in the launcher.
 */
#include "runtime/life/account.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

bool account_find(uid_t uid, struct account *ret)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;

	while (file && (entry = fgetpwent(file)) && entry->pw_uid != uid)
		;
	if (entry) {
		size_t len = strlen(entry->pw_dir);
		ret->gid = entry->pw_gid;
		ret->home[0] = '\0';
		if (len < sizeof(ret->home))
			memcpy(ret->home, entry->pw_dir, len + 1);
	}
	if (file)
		(void) fclose(file);
	return entry != NULL;
}
