/*
 * Subordinate ids: which of the host's ids /etc/subuid and /etc/subgid hand to a user (subuid(5)), and which ids inside a sandbox
 * they become. All of it is pure but subid_read().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"

enum {
	SUBID_RANGES_MAX = 32,
	SUBID_EXTENTS_MAX = SUBID_RANGES_MAX + 2, /* one range is split in two by the caller's own id, which is one more */
	SUBID_INSIDE_MAX = 65533,                 /* 65534 stays nobody: an id that is not mapped */
};

/* @count ids of the host from @start on. */
struct subid_range {
	uint32_t start, count;
};

struct subid_ranges {
	struct subid_range rows[SUBID_RANGES_MAX];
	size_t count;
};

/* @count ids: inside from @inside on, on the host from @outside on. */
struct subid_extent {
	uint32_t inside, outside, count;
};

struct subid_map {
	struct subid_extent rows[SUBID_EXTENTS_MAX];
	size_t count;
};

/*
 * Takes the ranges of the user @login (NULL or "" when unknown) or @uid from @text, which is the content of such a file. Lines of
 * others are not looked at; each of ours must be NAME:START:COUNT in plain digits, without the machine's root, @own (the
 * caller's user or group id) or an id that another of them has. 0 (also when there is none), -E2BIG when there are too many, or
 * -EINVAL; then *@ret_line is the number of the line.
 */
int subid_parse(const char *text, const char *login, uid_t uid, uint32_t own, struct subid_ranges *ret,
		size_t *ret_line) _must_check_;

/* The same from the file @path. -ENOENT when the user has no range; @err is filled. */
int subid_read(const char *path, const char *login, uid_t uid, uint32_t own, struct subid_ranges *ret,
	       struct err *err) _must_check_;

/*
 * The inside id N is the N-th id of @ranges, as in a rootless Podman, up to SUBID_INSIDE_MAX; but @inside is @own, the caller.
 * There is no root inside: 0 is not mapped.
 */
void subid_plan(struct subid_map *ret, uint32_t inside, uint32_t own, const struct subid_ranges *ranges);
