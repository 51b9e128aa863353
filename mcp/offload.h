/*
 * Requests beside tool calls that need the file system: served on a worker thread, so that a slow disk holds nobody up.
 *
 * Such a request is one of those in progress, like a tool call: its id is in use, it can be cancelled, and it counts
 * among the calls that run at the same time; so its method is METHOD_TAKES_TIME.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "mcp/loop.h"
#include "mcp/state.h"
#include "mcp/tool.h"
#include "mcp/work.h"

/* Embedded in its owner's structure. */
struct offload {
	/* For the functions of ws.h: call.text is what they found wrong. Not for commands (tool_exec()) and tool_log(). */
	struct tool_call call;
	struct server *server;
	struct request *request; /* for done(): NULL when it has been cancelled or answered */

	/* Private. */
	struct offload *next;
	bool is_running;       /* a worker has it */
	atomic_bool cancelled; /* or answered */
	struct work_item work;
	struct loop_post finished;
	void (*run)(struct offload *o);
	void (*done)(struct offload *o);
};

/*
 * Has @run called on a worker thread, and after it @done on the event loop: once, in any case but the end of the process. It waits
 * while as many run as there are workers, and while the reader of our output does not keep up: what it finds may be large. Takes @req
 * over and sets @o up. @done answers o->request, unless that is NULL, and ends with offload_release() and the end of what embeds @o; it
 * may be called at once, without @run, when no thread could be started, which has been answered then.
 */
void offload_start(struct server *s, struct request *req, struct offload *o, void (*run)(struct offload *o),
		   void (*done)(struct offload *o));

/* Begins with those that wait and need not any longer. */
void offload_tick(struct server *s);

/* Cancels those that wait, when the server ends. */
void offload_stop(struct server *s);

/* Releases the members of @o. */
void offload_release(struct offload *o);

/* Whether one that will be answered has the id with the JSON text @id. */
bool offload_has(const struct server *s, const char *id);

/* Cancels the one whose id has the JSON text @id: it is not answered. False when there is none. */
bool offload_cancel(struct server *s, const char *id);
