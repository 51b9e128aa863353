/*
 * A file of another program that is changed as a whole: found through no symbolic link, replaced at once, with a copy of the old one
 * beside it.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/fd.h"
#include "runtime/spec/spec.h"

enum {
	CLIENT_FILE_NAME_MAX = 256,
	CLIENT_FILE_BYTES_MAX = 768 * 1024, /* leaves room for what is added, within the limits of cloche-compile */
	CLIENT_FILE_BACKUPS_MAX = 99,       /* beside one file */
};

/* Where a client's file is by default. */
struct client_place_found {
	const char *base;    /* a folder that must exist: the user's own, so that links in its path are followed */
	char file[256];      /* the path in it; folders on the way are made */
	bool shared;         /* new files and folders may be read by others */
};

struct client_file {
	int dir_fd;                      /* of its folder; owned */
	char name[CLIENT_FILE_NAME_MAX]; /* in that folder */
	char shown[SPEC_PATH_MAX + CLIENT_FILE_NAME_MAX]; /* its canonical path */
	bool exists;
	bool shared;
	struct stat st;                  /* of what was read, when it exists */
};

#define CLIENT_FILE_NONE { .dir_fd = -EBADF }

static inline void client_file_done(struct client_file *f)
{
	f->dir_fd = fd_close(f->dir_fd);
}

#define _cleanup_client_file_ _cleanup_(client_file_done)

/*
 * Finds the file at its default place. What lies there may have been made by an agent: below @place->base nothing may be a symbolic
 * link. 0, or -errno with @err filled.
 */
int client_file_open(const struct client_place_found *place, struct client_file *ret, struct err *err) _must_check_;

/* Finds the file that the user names; its folder must exist, and no part of the path may be a symbolic link. */
int client_file_open_named(const char *path, struct client_file *ret, struct err *err) _must_check_;

/*
 * Reads it into @text, nothing when it does not exist. 0, or -errno with @err filled: it is no regular file, is too large, or may not
 * be read or written.
 */
int client_file_read(struct client_file *f, struct buf *text, struct err *err) _must_check_;

/*
 * Puts @text in its place, with the old file's mode and owner (where that can be given); a copy of the old file is left beside it under
 * the name that goes to @backup ("" for a new file). 0, or -errno with @err filled; then the file is what it was: above all when
 * somebody has changed it since it was read.
 */
int client_file_write(struct client_file *f, const struct buf *text, char backup[static CLIENT_FILE_NAME_MAX],
		      struct err *err) _must_check_;
