/*
 * Marks on files and folders: see marks.h. Runs in cloche-mcp, on any thread, without any capability.
 *
 * A watch is made through /proc/self/fd, because inotify(7) takes paths only: what is watched is what the descriptor refers
 * to, whatever happens to the path meanwhile.
 */
#include "mcp/marks.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "runtime/base/fd.h"

enum {
	READ_SIZE = 16 * 1024,
	READS_MAX = 256, /* at once; what comes in faster is read the next time */
	/* Of a folder: its entries come, go, or get other permissions, and so does it. */
	FOLDER_EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF,
	FILE_EVENTS = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF,
	/* Contents have changed, even where size and times look the same. */
	SURE_EVENTS = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO,
};

struct mark {
	struct mark *next; /* in its bucket */
	int wd;            /* -1: the kernel has ended it */
	struct mark_link *links;
};

struct mark_link {
	struct mark_link *next_of_owner, *next_of_mark;
	struct mark *mark;
	void *owner;
	bool whole;
	char name[]; /* unless whole */
};

int marks_open(struct marks *m)
{
	m->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return m->fd < 0 ? -errno : 0;
}

void marks_close(struct marks *m)
{
	m->fd = fd_close(m->fd);
}

static struct mark **find(struct marks *m, int wd)
{
	struct mark **p = &m->buckets[(unsigned int) wd % MARKS_BUCKETS];

	while (*p && (*p)->wd != wd)
		p = &(*p)->next;
	return p;
}

/* The mark of the watch @wd, made if it is new; NULL when there is no memory or there are too many. */
static struct mark *mark_of(struct marks *m, int wd)
{
	struct mark **p = find(m, wd);

	if (*p || m->count >= MARKS_MAX)
		return *p;
	*p = calloc(1, sizeof(**p));
	if (!*p)
		return NULL;
	(*p)->wd = wd;
	m->count++;
	return *p;
}

/* Takes the mark behind @p out of its bucket. */
static struct mark *unlist(struct marks *m, struct mark **p)
{
	struct mark *mark = *p;

	*p = mark->next;
	m->count--;
	return mark;
}

/* Returns the watch, or -errno. */
static int add_watch(const struct marks *m, int fd, bool is_folder)
{
	char path[40];

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int wd = inotify_add_watch(m->fd, path, IN_MASK_ADD | FOLDER_EVENTS | IN_ONLYDIR);
	if (wd < 0 && errno == ENOTDIR && !is_folder)
		wd = inotify_add_watch(m->fd, path, IN_MASK_ADD | FILE_EVENTS);
	return wd < 0 ? -errno : wd;
}

int marks_add(struct marks *m, struct mark_link **list, void *owner, int fd, const char *name)
{
	size_t size = name ? strlen(name) + 1 : 0;
	struct mark_link *link = malloc(sizeof(*link) + size);
	if (!link)
		return -ENOMEM;
	int wd = add_watch(m, fd, name != NULL);
	struct mark *mark = wd < 0 ? NULL : mark_of(m, wd);
	if (!mark) {
		if (wd >= 0)
			(void) inotify_rm_watch(m->fd, wd);
		free(link);
		return wd < 0 ? wd : -ENOSPC;
	}
	*link = (struct mark_link) {
		.next_of_owner = *list, .next_of_mark = mark->links, .mark = mark, .owner = owner, .whole = !name
	};
	if (name)
		memcpy(link->name, name, size);
	*list = link;
	mark->links = link;
	return 0;
}

static void release(struct marks *m, struct mark_link *link)
{
	struct mark *mark = link->mark;
	struct mark_link **p = &mark->links;

	while (*p != link)
		p = &(*p)->next_of_mark;
	*p = link->next_of_mark;
	free(link);
	if (mark->links)
		return;
	if (mark->wd >= 0) {
		(void) unlist(m, find(m, mark->wd));
		(void) inotify_rm_watch(m->fd, mark->wd);
	}
	free(mark);
}

void marks_release(struct marks *m, struct mark_link **list)
{
	while (*list) {
		struct mark_link *link = *list;
		*list = link->next_of_owner;
		release(m, link);
	}
}

static void tell(const struct marks *m, const struct mark *mark, const struct inotify_event *event)
{
	for (const struct mark_link *link = mark->links; link; link = link->next_of_mark) {
		if (link->whole)
			m->hit(link->owner, (event->mask & SURE_EVENTS) != 0);
		else if (event->len == 0 || strcmp(event->name, link->name) == 0)
			m->hit(link->owner, false);
	}
}

/* Returns true when events were lost. */
static bool take(struct marks *m, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	struct mark **p = find(m, event->wd);
	if (!*p)
		return false; /* of a mark that is gone */
	tell(m, *p, event);
	if (event->mask & IN_IGNORED)
		unlist(m, p)->wd = -1; /* what was watched is gone; the links go when their owners look again */
	return false;
}

bool marks_read(struct marks *m)
{
	alignas(struct inotify_event) char buf[READ_SIZE];
	bool lost = false;

	for (int i = 0; i < READS_MAX; i++) {
		ssize_t n = read(m->fd, buf, sizeof(buf));
		if (n <= 0)
			return lost || (n < 0 && errno != EAGAIN && errno != EBADF);
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *event = (const struct inotify_event *) p;
			lost = take(m, event) || lost;
			p += sizeof(*event) + event->len;
		}
	}
	return lost;
}
