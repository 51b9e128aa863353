/*
 * The entries of one directory, read as a whole and sorted bytewise, with a cap on memory.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"

enum { DIRLIST_BYTES_MAX = 64 * 1024 * 1024 }; /* of one directory: some two million entries */

enum dirlist_kind {
	DIRLIST_FILE, /* a regular file */
	DIRLIST_DIR,
	DIRLIST_LINK,
	DIRLIST_OTHER,
};

struct dirlist_entry {
	const char *name;
	enum dirlist_kind kind;
};

struct dirlist {
	struct dirlist_entry *entry;
	size_t count;
	char *names;
	bool cut; /* there were more than the cap allows; which are missing depends on the file system */
};

/*
 * Reads the directory @fd (consumed), leaving out the hidden names of ws.h and the stand-ins for protected names. With
 * @as_paths, directories sort as if their names ended in "/": a walk in this order yields paths in bytewise order. 0,
 * -ECANCELED or another negative errno.
 */
int dirlist_read(struct dirlist *d, int fd, bool as_paths, const atomic_bool *cancelled) _must_check_;
void dirlist_done(struct dirlist *d);
#define _cleanup_dirlist_ _cleanup_(dirlist_done)
