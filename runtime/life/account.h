/*
 * What /etc/passwd says of a user. Read by ourselves: a static program cannot load the C library's name services, and users
 * of other sources (LDAP) are simply not found.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/spec/spec.h"

enum { ACCOUNT_NAME_MAX = 64 };

struct account {
	gid_t gid;
	char name[ACCOUNT_NAME_MAX]; /* of the login; "" when longer */
	char home[SPEC_PATH_MAX]; /* as written there; "" when longer than a path may be */
};

/* Fills @ret for @uid. False when the file does not name it. */
bool account_find(uid_t uid, struct account *ret);
