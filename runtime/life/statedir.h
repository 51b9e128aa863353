/*
 * Where cloche keeps what must outlive a process: which sandboxes run, compiled filters, placeholders to sweep.
 *
 * State is never required: whoever cannot have a folder goes on without. It is kept in the first of these that is there and
 * belongs to the caller alone, where UID is the effective user id:
 *     $XDG_RUNTIME_DIR/cloche   the session's folder in memory
 *     /run/user/UID/cloche      the same, for callers that were started with an almost empty environment (MCP clients do that)
 *     /run/cloche/UID           made by real root, for the identity that it gives itself up for
 *     /tmp/cloche-UID           elsewhere
 * Each has one folder for each kind of state. Everything is reached through descriptors, below which no symbolic link is
 * followed; a folder that another user owns or may write to is not used.
 */
#pragma once

#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"

#define STATEDIR_SANDBOXES "sandboxes"

enum { STATEDIR_PATH_MAX = 4096 };

/*
 * Opens the folder @sub ("sandboxes", "filters", "placeholders") of the calling user's state; made with mode 0700 where it is
 * missing. Returns a descriptor (owned, close-on-exec), or -errno with the places that were tried in @err (may be NULL).
 */
int statedir_open(const char *sub, struct err *err) _must_check_;

/*
 * As real root, before it becomes the identity @uid: makes /run/cloche/UID for it, so that a system account, which has no
 * session, finds a folder that nobody else can have made first. A failure shows later, in statedir_open().
 */
void statedir_make_for(uid_t uid, gid_t gid);

/* One folder @sub that exists: @fd is borrowed, all in it may have been written by the user @owner. Negative ends the visit. */
typedef int statedir_visitor(int fd, uid_t owner, const char *path, void *userdata);

/*
 * Calls @visit for each existing folder @sub in the caller's places and, when the caller is real root, in those of all users
 * (the session folders of others as far as they are below /run/user). Returns what the visitor returned when negative, else 0.
 */
int statedir_visit(const char *sub, statedir_visitor *visit, void *userdata);
