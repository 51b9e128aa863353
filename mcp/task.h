/*
 * Tool calls that outlive their request: tasks of revision 2025-11-25 and of the extension io.modelcontextprotocol/tasks.
 *
 * A task is a call whose request has been answered with a handle; the client asks for its state and its result later. A call
 * becomes one when its client of 2025-11-25 asks for it, and in 2026-07-28 when it has run for TASK_AFTER_MS and its client
 * takes tasks. The table is bounded: TASK_WORKING_MAX work at the same time; of those that have ended, each is kept for its time
 * to live, and the one that ended first makes room for a new one. Both eras see the same tasks, each in its own words.
 * Everything belongs to the event loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/call.h"
#include "mcp/state.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum {
	TASK_MAX = 64,
	TASK_WORKING_MAX = 16,
	TASK_READERS_MAX = 64,         /* requests that wait for results, of all tasks together */
	TASK_ID_SIZE = 33,             /* 128 random bits in hexadecimal, and NUL */
	TASK_AFTER_MS = 4000,          /* the least patient clients give a call up after 5 s */
	TASK_TTL_MIN_MS = 60 * 1000,
	TASK_TTL_MS = 3600 * 1000,     /* unless the client asks for another */
	TASK_TTL_MAX_MS = 24 * 3600 * 1000,
	TASK_KEEP_MS = 60 * 1000,      /* how long a result is kept at least */
	TASK_OUTPUT_TELL_MS = 1000,    /* between two looks whether a command has printed more */
};

struct task {
	char id[TASK_ID_SIZE];
	struct task *next;
	struct call *call;              /* its own once it is over; in progress until then */
	bool over, cancelled;           /* in any order */
	int64_t created_ms, updated_ms; /* since 1970 */
	int64_t begun_ms, ended_ms;     /* on the monotonic clock */
	int64_t ttl_ms;                 /* from its begin */
	uint64_t told;                  /* bytes of output that subscribers have been told of, */
	int64_t look_ms;                /* and when to look whether there are more */
	struct request *readers;        /* that wait for the result */
};

/* --- for other parts of the server -------------------------------------------------------------------------------- */

/* Whether there is a task @id. */
bool task_exists(const struct server *s, const char *id);

/*
 * Adds what the task @id has printed so far, as run_bash would show it (at most mcp_config.max_answer_chars bytes of UTF-8), or the
 * text of its result when it has ended.
 * False when there is no such task; then nothing is added.
 */
bool task_write_output(struct server *s, const char *id, struct buf *b);

/* Adds a JSON array of all tasks, oldest first: {"id","tool","status","created","updated","summary"}, times as in RFC 3339. */
void task_write_list(struct server *s, struct buf *b);

/*
 * Stores at most @max ids that begin with @prefix ("" = all), oldest first, and returns how many. The strings are borrowed; they
 * hold until the event loop goes on.
 */
size_t task_ids(struct server *s, const char *prefix, const char **ids, size_t max);

/* --- for calls ---------------------------------------------------------------------------------------------------- */

/* Whether one more task may work. */
bool task_has_room(const struct server *s);

/*
 * Makes @call a task that is kept for @ttl_ms from now on (longer when it works for longer), and answers its request with the
 * handle. 0; or -EBUSY when too many work, -ENOMEM, -EIO without random numbers: then nothing has happened.
 */
int task_begin(struct call *call, int64_t ttl_ms) _must_check_;

/* The call of @task, which is no longer among those in progress, has ended: it belongs to the task from now on. */
void task_end(struct task *task);

/* --- for the methods ---------------------------------------------------------------------------------------------- */

/* The task @id, or NULL. */
struct task *task_find(const struct server *s, const char *id);

/* Whether it has been cancelled or its call has ended: its status changes no more. */
bool task_is_terminal(const struct task *task);

/* Adds the members of a Task object as @version has them, without the braces. */
void task_write(struct buf *b, const struct task *task, enum mcp_version version);

/* As task_write() for 2026-07-28, with the result when it is completed (DetailedTask of the extension). */
void task_write_detailed(struct buf *b, struct task *task);

/* Adds the members of its result, which must be there, as @version has them. */
void task_write_result(struct buf *b, struct task *task, enum mcp_version version);

/* Kills what the task runs. Its status is "cancelled" at once, its result is there when everything is dead. */
void task_cancel(struct task *task);

/*
 * Answers @req (tasks/result) with the result of @task, now or when it is there, and takes @req over. -ENOBUFS when too many
 * wait already: then nothing was taken over.
 */
int task_answer_result(struct server *s, struct task *task, struct request *req) _must_check_;

/* Whether a request that waits for a result has the id with the JSON text @id. */
bool task_reader_has(const struct server *s, const char *id);

/* Drops it, unanswered. False when there is none. */
bool task_reader_cancel(struct server *s, const char *id);

/* --- for the server ----------------------------------------------------------------------------------------------- */

/* Drops results whose time is over and tells subscribers of new output; returns when there is more to do, or INT64_MAX. */
int64_t task_tick(struct server *s, int64_t now_ms);

/* No request comes any more: cancels every task whose result nobody waits for. */
void task_stop(struct server *s);

/* Frees all tasks. None may work. */
void task_done(struct server *s);
