/*
 * Reads what the kernel prints in /proc: numbers behind names, lines, folders whose entries are numbers. Bounded, without allocating.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"

/*
 * Reads the file @path below @dir_fd into @ret. False with errno set when there is none, it may not be
 * read, or it does not fit; with an errno of 0 when it is empty.
 */
bool watch_read(int dir_fd, const char *path, char *ret, size_t size);

/* The number behind @name (with its line break before and its colon), 0 when it is not there. Other characters end it. */
uint64_t watch_number(const char *text, const char *name);

/* The same for a size in "kB": bytes. */
uint64_t watch_bytes(const char *text, const char *name);

/* Walks through the entries of an open folder (borrowed) that are numbers, in the kernel's order. */
struct watch_dir {
	int fd;
	long len, at;
	_Alignas(uint64_t) char list[4096];
};

/* @d is set up with the descriptor alone. False at the end. */
bool watch_next(struct watch_dir *d, unsigned int *ret);

/* Reads an open file (borrowed) line by line, from where it is. */
struct watch_lines {
	int fd;
	size_t len, at;
	uint64_t read; /* bytes so far */
	char buffer[8192];
	char line[512];
};

/* The next line without its end, cut where it is longer than the room for it; NULL at the end. */
char *watch_line(struct watch_lines *l);
