/*
 * The event loop of cloche-mcp: see loop.h. Runs inside the sandbox without any capability.
 */
#include "mcp/loop.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/fd.h"

int loop_init(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	l->wake_fd = -EBADF;
	l->last = &l->first;
	(void) pthread_mutex_init(&l->lock, NULL);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll_fd < 0 ? -errno : 0;
}

void loop_done(struct loop *l)
{
	l->epoll_fd = fd_close(l->epoll_fd);
	l->wake_fd = fd_close(l->wake_fd);
	(void) pthread_mutex_destroy(&l->lock);
}

int loop_add(struct loop *l, struct loop_source *source, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, source->fd, &ev) < 0 ? -errno : 0;
}

int loop_modify(struct loop *l, struct loop_source *source, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, source->fd, &ev) < 0 ? -errno : 0;
}

void loop_remove(struct loop *l, struct loop_source *source)
{
	(void) epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	for (int i = 0; i < l->ready_count; i++)
		if (l->ready[i] == source)
			l->ready[i] = NULL;
}

static struct loop_post *take_posts(struct loop *l)
{
	(void) pthread_mutex_lock(&l->lock);
	struct loop_post *list = l->first;
	l->first = NULL;
	l->last = &l->first;
	(void) pthread_mutex_unlock(&l->lock);
	return list;
}

static void run_posts(struct loop_source *source, _unused_ uint32_t events)
{
	struct loop *l = CONTAINER_OF(source, struct loop, wake);
	uint64_t count;

	/* The counter is cleared before the list is taken: a post that comes between the two wakes us once more. */
	while (read(source->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		continue;
	struct loop_post *post = take_posts(l);
	while (post) {
		struct loop_post *next = post->next;
		post->run(post);
		post = next;
	}
}

int loop_accept_posts(struct loop *l)
{
	if (l->wake_fd >= 0)
		return 0;
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0)
		return -errno;
	l->wake = (struct loop_source) { .fd = l->wake_fd, .ready = run_posts };
	int r = loop_add(l, &l->wake, EPOLLIN);
	if (r < 0)
		l->wake_fd = fd_close(l->wake_fd);
	return r;
}

void loop_post(struct loop *l, struct loop_post *post)
{
	const uint64_t one = 1;

	post->next = NULL;
	(void) pthread_mutex_lock(&l->lock);
	*l->last = post;
	l->last = &post->next;
	(void) pthread_mutex_unlock(&l->lock);
	/* Fails only when the counter is full, and then the loop is awake anyway. */
	while (write(l->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
}

int loop_wait(struct loop *l, int64_t timeout_ms)
{
	struct epoll_event events[LOOP_BATCH];
	int timeout = timeout_ms < 0 ? -1 : (int) MIN(timeout_ms, (int64_t) INT_MAX);
	int n = epoll_wait(l->epoll_fd, events, LOOP_BATCH, timeout);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	l->ready_count = n;
	for (int i = 0; i < n; i++)
		l->ready[i] = events[i].data.ptr;
	for (int i = 0; i < n; i++) {
		struct loop_source *source = l->ready[i];
		if (source)
			source->ready(source, events[i].events);
	}
	l->ready_count = 0;
	return 0;
}
