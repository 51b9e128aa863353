/*
 * The SPAWN message of `cloche run`: sent before init exists, so that init finds it when it starts.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/spec/initmsg.h"

enum { SPAWNMSG_ID = 1 };

/* The first message for a sandbox, with the descriptors that travel along (borrowed). */
struct spawnmsg {
	struct buf bytes;
	int stdio[INITMSG_SPAWN_FDS];
	char *const *argv; /* borrowed: what the message says, for people */
};

void spawnmsg_done(struct spawnmsg *msg);
#define _cleanup_spawnmsg_ _cleanup_(spawnmsg_done)

/* Describes @argv (NULL-terminated, at least one) to be run in @workdir on @stdio. 0, or -errno with @err filled. */
int spawnmsg_make(struct spawnmsg *msg, const char *workdir, char *const *argv, const int *stdio,
		  struct err *err) _must_check_;
