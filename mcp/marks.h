/*
 * Marks on files and folders: inotify(7), shared by several owners.
 *
 * The kernel keeps one watch per inode and instance. A mark is that watch; its links say on whose behalf it exists, and each
 * owner has a list of its links. An event is a hint: the owner looks again and decides what has changed.
 *
 * One thread at a time may use a set of marks.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/attr.h"

enum {
	MARKS_MAX = 4096, /* inodes */
	MARKS_BUCKETS = 256,
};

struct mark;
struct mark_link;

struct marks {
	int fd; /* of inotify(7), or -EBADF */
	struct mark *buckets[MARKS_BUCKETS];
	unsigned int count;
	/* What an @owner asked about may have changed; with @surely set it has. */
	void (*hit)(void *owner, bool surely);
};

#define MARKS_INIT(hit_fn) { .fd = -EBADF, .hit = (hit_fn) }

/* 0 or -errno: -EMFILE when the user has too many instances. */
int marks_open(struct marks *m) _must_check_;

/* All links must have been released. */
void marks_close(struct marks *m);

/*
 * Watches what the descriptor @fd (O_PATH is enough) refers to, on behalf of @owner, and adds the link to *@list: the entry
 * @name of a folder, or with NULL a file and what is in it, or a folder and which entries it has. 0 or -errno: -ENOSPC when there
 * are too many watches, -EACCES when it cannot be read.
 */
int marks_add(struct marks *m, struct mark_link **list, void *owner, int fd, const char *name) _must_check_;

/* Ends the links of *@list and the marks that nobody needs any more. */
void marks_release(struct marks *m, struct mark_link **list);

/* Reads what has happened and tells the owners. Returns true when events were lost: then anything may have changed. */
bool marks_read(struct marks *m);
