/*
 * Time and random numbers for a server inside a fuzz target: see inproc.h. The Makefile gives the server's objects these functions
 * in place of the system's.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "mcp/state.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inproc.h"

enum { BEGIN_S = 1000, WORKER_WAIT_MS = 1 };

int inproc_clock_gettime(clockid_t id, struct timespec *ts);
int inproc_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
ssize_t inproc_getrandom(void *to, size_t len, unsigned int flags);

static struct server *watched;
static atomic_llong elapsed_ms;
static atomic_uchar next_random;

void inproc_clock_start(struct server *server)
{
	watched = server;
	atomic_store(&elapsed_ms, 0);
	atomic_store(&next_random, 0);
}

int inproc_clock_gettime(clockid_t id, struct timespec *ts)
{
	long long ms = atomic_load(&elapsed_ms);

	if (id == CLOCK_PROCESS_CPUTIME_ID)
		return clock_gettime(id, ts);
	*ts = (struct timespec) { .tv_sec = BEGIN_S + ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	return 0;
}

/* The first number is all zeros, the next all ones: an input can name a task. */
ssize_t inproc_getrandom(void *to, size_t len, _unused_ unsigned int flags)
{
	memset(to, atomic_fetch_add(&next_random, 1), len);
	return (ssize_t) len;
}

/* Whether a worker thread may have something to say soon. */
static bool is_worker_busy(void)
{
	struct work *work = &watched->work;

	(void) pthread_mutex_lock(&work->lock);
	bool busy = work->first || work->idle < work->count;
	(void) pthread_mutex_unlock(&work->lock);
	return busy;
}

int inproc_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	int n = epoll_wait(fd, events, max, 0);

	if (n == 0 && is_worker_busy())
		return epoll_wait(fd, events, max, WORKER_WAIT_MS);
	if (n == 0)
		n = epoll_wait(fd, events, max, 0); /* what a worker did just before it went idle */
	if (n != 0)
		return n;
	fuzz_need(timeout_ms >= 0, "the server waits for ever");
	atomic_fetch_add(&elapsed_ms, timeout_ms);
	return 0;
}
