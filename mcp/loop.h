/*
 * The event loop: descriptors through epoll(7), and small jobs handed over by worker threads.
 *
 * Everything but loop_post() belongs to the one thread that calls loop_wait(). Sources and posts are embedded in their
 * owner's structure; the loop allocates nothing.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "runtime/base/attr.h"

struct loop_source {
	int fd; /* borrowed */
	void (*ready)(struct loop_source *source, uint32_t events);
};

/* A job for the loop's thread. @run may free the structure that holds it. */
struct loop_post {
	struct loop_post *next;
	void (*run)(struct loop_post *post);
};

enum { LOOP_BATCH = 16 };

struct loop {
	int epoll_fd;
	int wake_fd; /* eventfd(2); made with the first worker thread */
	struct loop_source wake;
	void *ready[LOOP_BATCH]; /* sources of the batch being served; NULL once removed */
	int ready_count;
	pthread_mutex_t lock; /* guards the list of posts */
	struct loop_post *first, **last;
};

int loop_init(struct loop *l) _must_check_;
void loop_done(struct loop *l);

/*
 * Watches @source->fd for @events (EPOLLERR and EPOLLHUP always belong to them). -EPERM: a regular file, always ready.
 */
int loop_add(struct loop *l, struct loop_source *source, uint32_t events) _must_check_;
int loop_modify(struct loop *l, struct loop_source *source, uint32_t events) _must_check_;

/* Stops watching; no callback follows. Call it before the descriptor is closed. */
void loop_remove(struct loop *l, struct loop_source *source);

/* Prepares loop_post(); call it before the first other thread exists. Repeated calls are harmless. */
int loop_accept_posts(struct loop *l) _must_check_;

/* Hands @post to the loop, in order. Any thread. */
void loop_post(struct loop *l, struct loop_post *post);

/* Waits at most @timeout_ms (negative: for ever) and serves what is ready. 0 or -errno. */
int loop_wait(struct loop *l, int64_t timeout_ms) _must_check_;
