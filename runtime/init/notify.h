/*
 * What the filter refuses to a command: hears of it from the kernel, answers, and remembers it in a list of fixed size.
 *
 * Whoever waits for the command does this beside it (the shim, and init itself for `cloche run`): a process without capability
 * that the command can neither see nor stop. A command that is refused a million calls costs time, its own, but no more memory
 * and no longer messages than one that is refused eight.
 */
#pragma once

#include "runtime/kern/seccomp.h"
#include "runtime/spec/initmsg.h"

struct notify {
	int listener;                          /* owned; -EBADF: nobody hears */
	const struct seccomp_program *program; /* what the command's filter was loaded from */
	struct initmsg_denials *denials;       /* where to remember */
};

/* Takes the listener of a new command over. */
void notify_begin(struct notify *n, int listener);

/* For each time that poll(2) has something to tell about the listener (@revents, as it gave them): answers one call. */
void notify_ready(struct notify *n, short revents);

/* Counts one refusal. Whatever comes, the list stays one. */
void notify_count(struct initmsg_denials *denials, uint32_t nr, uint32_t errnum);
