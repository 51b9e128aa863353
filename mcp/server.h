/*
 * One MCP server on one stream: lines in, answers out, and what runs in between.
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

/* A request on its way to its answer. */
struct request {
	struct request *next; /* in the list of waiting requests */
	struct rpc rpc;
	enum mcp_version version;
	struct batch *batch; /* or NULL */
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

	struct call *calls; /* in progress */
	unsigned int call_count;
	struct request *waiting, **waiting_last;
	unsigned int waiting_count;
	size_t held; /* bytes of the lines of all live requests */

	bool stopping;
	int64_t stop_deadline_ms;
};

/* Takes @files over; the other descriptors stay the caller's. 0 or -errno. */
int server_init(struct server *s, const struct mcp_config *config, const struct facts_files *files, int root_fd, int input_fd,
		int output_fd, int init_fd) _must_check_;

/* Serves until the end. Returns the exit status. */
int server_run(struct server *s);

/* True when something still runs after server_run(): then the process must _exit(2) instead of tidying up. */
bool server_busy(const struct server *s);
void server_done(struct server *s);

/* What is known about the sandbox; found out by the first who asks, on the event loop. */
const struct facts *server_facts(struct server *s);

/* --- for methods and calls ---------------------------------------------------------------------------------------- */

/* Sends the answer of @req (the buffer is emptied). One that is too long becomes an error. */
void server_answer(struct server *s, const struct request *req, struct buf *json);

/* Answers with an error; @data is JSON text or NULL. */
void server_refuse(struct server *s, const struct request *req, enum rpc_code code, const char *message,
		   const char *data);

/* Sends notifications/message to a handshake client that wants this level. */
void server_notify_log(struct server *s, enum mcp_log_level level, const char *text);

/* Drops the waiting request whose id has the JSON text @id, if there is one. It is not answered. */
void server_forget(struct server *s, const char *id);

/* Ends the life of a request, answered or not. */
void request_free(struct server *s, struct request *req);
