/*
 * Watched paths of the workspace: whether what is there has come, gone, been replaced or been changed.
 *
 * Every folder that the path leads through is watched for the next name on it, also behind symbolic links, and so is what the
 * path leads to (marks.h); whenever one of them says something, the path is resolved anew and compared with what was there
 * before. That happens in rounds on a worker thread, at most one every WATCH_SETTLE_MS, because a file system may be slow. What
 * the kernel cannot watch (its limits are shared with all programs of the user, folders may be unreadable) is looked at every
 * WATCH_POLL_MS instead: no watch fails.
 *
 * Everything here belongs to the event loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mcp/loop.h"
#include "mcp/marks.h"
#include "mcp/work.h"
#include "runtime/base/attr.h"

enum {
	WATCH_SETTLE_MS = 100, /* from the first sign of a change to the look at it: changes come in groups */
	WATCH_POLL_MS = 2000,
	WATCH_DEPTH_MAX = 64,  /* folders watched on one path; what is deeper is polled */
};

enum watch_event {
	WATCH_READY,   /* the path is watched from now on; comes once */
	WATCH_CHANGED,
};

struct mcp_config;
struct watch;

/* May drop this watch or others, and add new ones. */
typedef void (*watch_fn)(void *owner, enum watch_event event);

struct watcher {
	struct loop *loop;
	struct work *work;
	const struct mcp_config *config;
	int root_fd;
	struct watch *watches;
	int64_t due_ms; /* the next round, or INT64_MAX */
	struct loop_source source;
	bool listening; /* the source is in the loop */

	/* A worker has the rest, and the watches from @first on, while @busy. */
	bool busy;
	struct marks marks;
	struct watch *first;
	struct work_item round;
	struct loop_post round_done;
};

/* Nothing is opened before the first watch. The pointers and @root_fd are borrowed. */
void watch_init(struct watcher *w, struct loop *loop, struct work *work, const struct mcp_config *config, int root_fd);

/* To be called when no worker thread is left. */
void watch_done(struct watcher *w);

/* Watches @rel, a path relative to the workspace, and calls @event with @owner. NULL when there is no memory. */
struct watch *watch_add(struct watcher *w, const char *rel, watch_fn event, void *owner);

/* Ends the watch; no event follows. NULL is allowed. */
void watch_drop(struct watch *watch);

/* Starts a round when one is due; returns when the next one is, or INT64_MAX. */
int64_t watch_tick(struct watcher *w, int64_t now_ms);
