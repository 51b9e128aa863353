/*
 * Watched paths of the workspace: see watch.h. Runs in cloche-mcp, without any capability, on the event loop; only look() and
 * what it calls run on a worker thread.
 */
#include "mcp/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"

/* What is at a path, as far as it tells one state of it from another. Reading a file does not change it. */
struct sign {
	int error; /* why there is nothing, or 0 */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	off_t size;
	struct timespec mtime, ctime;
};

struct watch {
	struct watch *next;
	struct watcher *watcher;
	watch_fn event;
	void *owner;
	bool dropped, ready;

	/* The worker's while a round goes on. */
	bool look;    /* has to be looked at */
	bool changed;
	bool blind;   /* the kernel does not watch all of it */
	int depth;
	struct mark_link *links;
	struct sign sign;
	char rel[];
};

/* --- on a worker thread ------------------------------------------------------------------------------------------- */

static void hit(void *owner, bool surely)
{
	struct watch *watch = owner;

	watch->look = true;
	watch->changed |= surely;
}

static void mark(struct watch *watch, int fd, const char *name)
{
	struct marks *marks = &watch->watcher->marks;

	if (marks->fd < 0 || ++watch->depth > WATCH_DEPTH_MAX || marks_add(marks, &watch->links, watch, fd, name) < 0)
		watch->blind = true;
}

static int mark_step(void *data, int dir_fd, const char *name)
{
	mark(data, dir_fd, name);
	return 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_sign(const struct sign *a, const struct sign *b)
{
	return a->error == b->error && a->dev == b->dev && a->ino == b->ino && a->mode == b->mode && a->size == b->size &&
	       same_time(&a->mtime, &b->mtime) && same_time(&a->ctime, &b->ctime);
}

/* Marks what @watch leads through and to, each before what is behind it is looked at, and returns what is there. */
static struct sign find(struct watch *watch)
{
	const struct tool_call call = { .config = watch->watcher->config, .root_fd = watch->watcher->root_fd };
	_cleanup_fd_ int fd = ws_walk(&call, watch->rel, mark_step, watch);
	struct stat st;

	if (fd < 0)
		return (struct sign) { .error = fd };
	mark(watch, fd, NULL);
	if (fstat(fd, &st) < 0)
		return (struct sign) { .error = -errno };
	return (struct sign) {
		.dev = st.st_dev, .ino = st.st_ino, .mode = st.st_mode, .size = st.st_size, .mtime = st.st_mtim, .ctime = st.st_ctim
	};
}

static void look(struct watch *watch)
{
	struct mark_link *old = watch->links;

	watch->links = NULL;
	watch->look = watch->blind = false;
	watch->depth = 0;
	struct sign now = find(watch);
	marks_release(&watch->watcher->marks, &old);
	if (!same_sign(&now, &watch->sign))
		watch->changed = true;
	watch->sign = now;
	if (now.error == -EAGAIN)
		watch->blind = true; /* somebody renames on this path all the time */
}

static void run_round(struct work_item *item)
{
	struct watcher *w = CONTAINER_OF(item, struct watcher, round);
	bool lost = marks_read(&w->marks);

	for (struct watch *watch = w->first; watch; watch = watch->next)
		if (watch->look || lost)
			look(watch);
	loop_post(w->loop, &w->round_done);
}

/* --- on the event loop -------------------------------------------------------------------------------------------- */

static void want_round(struct watcher *w, int64_t at_ms)
{
	w->due_ms = MIN(w->due_ms, at_ms);
}

static void listen_to_marks(struct watcher *w, bool on)
{
	if (w->listening == on || w->marks.fd < 0)
		return;
	w->source.fd = w->marks.fd;
	if (!on)
		loop_remove(w->loop, &w->source);
	else if (loop_add(w->loop, &w->source, EPOLLIN) < 0)
		return want_round(w, clock_now_ms() + WATCH_POLL_MS);
	w->listening = on;
}

static void something_happened(struct loop_source *source, _unused_ uint32_t events)
{
	struct watcher *w = CONTAINER_OF(source, struct watcher, source);

	listen_to_marks(w, false);
	want_round(w, clock_now_ms() + WATCH_SETTLE_MS);
}

static void watch_free(struct watch *watch)
{
	marks_release(&watch->watcher->marks, &watch->links);
	free(watch);
}

/* Frees what was dropped, and all that watching needs when nothing is watched any more. */
static void reap(struct watcher *w)
{
	for (struct watch **p = &w->watches; *p;) {
		struct watch *watch = *p;
		if (!watch->dropped) {
			p = &watch->next;
			continue;
		}
		*p = watch->next;
		watch_free(watch);
	}
	if (w->watches)
		return;
	listen_to_marks(w, false);
	marks_close(&w->marks);
	w->due_ms = INT64_MAX;
}

static void deliver(struct watch *watch)
{
	enum watch_event event = watch->ready ? WATCH_CHANGED : WATCH_READY;

	if (watch->dropped || (watch->ready && !watch->changed))
		return;
	watch->ready = true;
	watch->changed = false;
	watch->event(watch->owner, event);
}

static void finish_round(struct loop_post *post)
{
	struct watcher *w = CONTAINER_OF(post, struct watcher, round_done);

	for (struct watch *watch = w->first; watch; watch = watch->next) {
		deliver(watch);
		if (watch->blind)
			want_round(w, clock_now_ms() + WATCH_POLL_MS);
	}
	w->busy = false;
	listen_to_marks(w, true);
	reap(w);
}

static void start_round(struct watcher *w, int64_t now_ms)
{
	w->due_ms = INT64_MAX;
	listen_to_marks(w, false);
	if (w->marks.fd < 0 && marks_open(&w->marks) < 0)
		w->marks.fd = -EBADF; /* everything is polled until an instance is to be had */
	for (struct watch *watch = w->watches; watch; watch = watch->next)
		watch->look |= watch->blind;
	w->first = w->watches;
	w->busy = true;
	if (work_submit(w->work, &w->round) == 0)
		return;
	w->busy = false; /* no thread could be started now */
	want_round(w, now_ms + WATCH_POLL_MS);
}

int64_t watch_tick(struct watcher *w, int64_t now_ms)
{
	if (w->busy)
		return INT64_MAX;
	if (now_ms >= w->due_ms)
		start_round(w, now_ms);
	return w->busy ? INT64_MAX : w->due_ms;
}

struct watch *watch_add(struct watcher *w, const char *rel, watch_fn event, void *owner)
{
	size_t size = strlen(rel) + 1;
	struct watch *watch = calloc(1, sizeof(*watch) + size);

	if (!watch)
		return NULL;
	watch->watcher = w;
	watch->event = event;
	watch->owner = owner;
	watch->look = true;
	memcpy(watch->rel, rel, size);
	watch->next = w->watches;
	w->watches = watch;
	want_round(w, 0);
	return watch;
}

void watch_drop(struct watch *watch)
{
	if (!watch)
		return;
	watch->dropped = true;
	if (!watch->watcher->busy)
		reap(watch->watcher);
}

void watch_init(struct watcher *w, struct loop *loop, struct work *work, const struct mcp_config *config, int root_fd)
{
	*w = (struct watcher) {
		.loop = loop,
		.work = work,
		.config = config,
		.root_fd = root_fd,
		.due_ms = INT64_MAX,
		.source = { .fd = -EBADF, .ready = something_happened },
		.marks = MARKS_INIT(hit),
		.round = { .run = run_round },
		.round_done = { .run = finish_round },
	};
}

void watch_done(struct watcher *w)
{
	for (struct watch *watch = w->watches; watch; watch = watch->next)
		watch->dropped = true;
	reap(w);
}
