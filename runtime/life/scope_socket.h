/*
 * The sockets at which a systemd manager can be asked, found without asking.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/spec/scopemsg.h"

enum { SCOPE_SOCKET_MAX = SCOPEMSG_PATH_MAX + 8 }; /* "direct=" and a path */

struct scope_sockets {
	size_t count;
	char words[SCOPEMSG_SOCKETS_MAX][SCOPE_SOCKET_MAX]; /* arguments of cloche-scope, the best one first */
};

/*
 * With @system those of the system manager, else those of the caller's own: below $XDG_RUNTIME_DIR, below /run/user/UID, and the
 * one in $DBUS_SESSION_BUS_ADDRESS when that is nothing but a path. The manager's own socket comes before the message bus: it is
 * there where no bus is, and a bus that its first caller starts does not know the manager yet. Who listens is not known here;
 * cloche-scope looks before it says a word. 0, or -ENOENT with @err saying why there is no socket and what to do.
 */
int scope_sockets_find(struct scope_sockets *sockets, bool system, struct err *err) _must_check_;
