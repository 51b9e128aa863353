/*
 * The client of cloche-init: starts commands, moves their output, keeps their time, and learns how they ended.
 *
 * All of it happens on the event loop. Init runs at most INITMSG_COMMANDS_MAX commands at once; what is asked for
 * beyond that waits in order. A job is embedded in its owner's structure and calls back exactly once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mcp/capture.h"
#include "mcp/loop.h"
#include "mcp/tool.h"
#include "runtime/spec/initmsg.h"

enum {
	INITC_KILL_GRACE_MS = 5000, /* a killed command that has not ended by then is reported as ended */
};

/* Who asks. Commands of the event loop leave some places free for the few that worker threads wait for. */
enum initc_class { INITC_LOOP, INITC_WORKER };

struct initc;

enum initc_state {
	INITC_IDLE,
	INITC_QUEUED,  /* the request has not been sent */
	INITC_RUNNING, /* sent; init knows it */
};

struct initc_job {
	void (*done)(struct initc_job *job); /* on the event loop; take what you need from res, then release it */
	struct exec_result res;

	struct initc *client;
	struct initc_job *next; /* of all jobs that are not idle, in order */
	enum initc_state state;
	enum initc_class class;
	uint32_t id;
	struct buf packet; /* the request, until it has been sent */
	int fds[INITMSG_SPAWN_FDS];
	struct loop_source output;
	struct capture capture;
	int64_t timeout_ms;
	int64_t start_ms;
	int64_t deadline_ms; /* of the timeout, then of the kill's grace */
	bool kill_wanted, kill_sent;
};

struct initc {
	struct loop *loop;
	struct loop_source source;
	int null_fd;
	struct initc_job *jobs;
	unsigned int alive[2];  /* commands init has, per class */
	unsigned int abandoned; /* among them those nobody waits for any more */
	uint32_t next_id;
	bool waiting; /* for EPOLLOUT */
	bool gone;    /* init has closed the socket */
	char *scratch;
};

/* @sock stays the caller's. 0 or -errno. */
int initc_init(struct initc *c, struct loop *loop, int sock) _must_check_;
void initc_done(struct initc *c);

/*
 * Asks for a command; @job->done must be set. Everything in @req is copied. 0, or -errno (then done is never called):
 * -E2BIG when the strings or the input are too long, -EPIPE when init is gone.
 */
int initc_start(struct initc *c, struct initc_job *job, const struct exec_request *req, const char *root_name,
		enum initc_class class) _must_check_;

/* Kills the command; done is called as always, later, or at once for one that was never sent. */
void initc_cancel(struct initc_job *job);

/* Asks init to kill everything, without waiting. For the end. */
void initc_kill_all(struct initc *c);

/* Serves timeouts, and returns when the next is due, or INT64_MAX. */
int64_t initc_tick(struct initc *c, int64_t now_ms);
