/*
 * A few worker threads for tools that block: made when the first one is needed, at most WORK_THREADS_MAX.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "mcp/loop.h"
#include "runtime/base/attr.h"

enum { WORK_THREADS_MAX = 4 };

/*
 * Embedded in its owner's structure. @run is called on a worker thread and must not touch the item after it has told
 * its owner.
 */
struct work_item {
	struct work_item *next;
	void (*run)(struct work_item *item);
};

struct work {
	struct loop *loop;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct work_item *first, **last;
	pthread_t threads[WORK_THREADS_MAX];
	int count, idle;
	bool stop;
};

/* Items tell @loop when they are done (loop_post()). */
void work_init(struct work *w, struct loop *loop);

/* Queues @item; event loop only. 0, or -errno when no thread could be made and none exists. */
int work_submit(struct work *w, struct work_item *item) _must_check_;

/* Ends the threads once they are idle; what is still queued is dropped. Blocks while one works. */
void work_done(struct work *w);
