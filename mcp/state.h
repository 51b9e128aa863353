/*
 * What one MCP server on one stream knows, and a request on its way through it.
 *
 * Everything here belongs to the event loop's thread. Memory is bounded: by the number and size of the requests that
 * are held, by what a tool's answer may hold, and by the output queue, which stops new work while its reader does not
 * keep up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mcp/frame.h"
#include "mcp/initc.h"
#include "mcp/loop.h"
#include "mcp/out.h"
#include "mcp/rpc.h"
#include "mcp/session.h"
#include "mcp/subscribe.h"
#include "mcp/tool.h"
#include "mcp/work.h"

enum {
	SERVER_CALLS_MAX = 128,                 /* tool calls in progress; more wait */
	SERVER_WAITING_MAX = 256,               /* requests that wait; then reading stops */
	SERVER_HELD_MAX = 64 * 1024 * 1024,     /* bytes of the lines of both */
	SERVER_BATCH_MAX = 100,                 /* elements of a batch */
	SERVER_BAD_LINES_MAX = 100,             /* bad lines in a row that are answered */
	SERVER_READ_SIZE = 64 * 1024,
	SERVER_GRACE_MS = 1000,                 /* for what was asked before the end of the input */
	SERVER_PROGRESS_MS = 5000,
};

struct batch;
struct call;
struct offload;
struct task;

/* A request on its way to its answer. */
struct request {
	struct request *next; /* in the list of waiting requests */
	struct rpc rpc;
	struct terms terms;  /* what it is served under */
	struct batch *batch; /* or NULL */
	const char *task_id; /* of the task that its call has become, which has been answered; or NULL */
};

struct server {
	const struct mcp_config *config;
	struct facts facts; /* known from the first call on */
	struct facts_files facts_files;
	bool facts_known;
	int root_fd;  /* borrowed */
	int input_fd; /* borrowed */
	struct loop loop;
	struct out out;
	struct initc initc;
	struct work work;
	struct session session;

	struct loop_source input, signals;
	bool input_watched, input_is_file, input_open;
	struct frame frame;
	char *chunk; /* bytes read and not yet framed: */
	const char *chunk_next;
	size_t chunk_len;
	int bad_lines; /* in a row */

	struct call *calls;       /* in progress, */
	struct offload *offloads; /* these too, oldest first */
	unsigned int call_count;  /* of both */
	unsigned int worker_calls; /* those of the first that a worker has, or had and that are not yet answered */
	unsigned int offload_running; /* those of them that a worker has */
	struct task *tasks;       /* oldest first; those that work have a call in progress */
	unsigned int task_count, task_working, task_readers;
	struct subscribe subscribe;
	struct request *waiting, **waiting_last;
	unsigned int waiting_count;
	size_t held; /* bytes of the lines of all live requests */

	bool stopping;
	int64_t stop_deadline_ms;
};

/* What is known about the sandbox; found out by the first who asks, on the event loop. */
const struct facts *state_facts(struct server *s);

/* A request that belongs to no line yet, or NULL when there is no memory. */
struct request *request_new(struct server *s, struct batch *batch);

/* Keeps of @req, which waits for long, its id and terms: the message's text and tree may be large. */
void request_slim(struct server *s, struct request *req);

/* Ends the life of a request, answered or not. */
void request_free(struct server *s, struct request *req);
