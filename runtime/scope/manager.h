/*
 * The conversation with a systemd manager: one call, StartTransientUnit, and the end of the job that it starts.
 *
 * Nothing here waits: the caller polls what manager_poll() says, and calls manager_turn().
 */
#pragma once

#include <poll.h>
#include <stdbool.h>

#include "runtime/base/attr.h"
#include "runtime/spec/scopemsg.h"

struct manager;

/*
 * Begins a conversation on the connected socket @fd (consumed either way); with @direct, no message bus is in between. NULL with
 * @answer filled on failure. @answer (borrowed) is filled by whatever fails later, too. It lasts until the process ends.
 */
struct manager *manager_open(int fd, bool direct, struct scopemsg_answer *answer) _must_check_;

/* Asks for the scope. Once; to be called at any time, also before the connection is complete. 0, or -errno. */
int manager_ask(struct manager *m, const struct scopemsg_request *request) _must_check_;

/* What to poll for, and how long at the most (milliseconds; -1: for ever). 0, or -errno. */
int manager_poll(struct manager *m, struct pollfd *ret, int *ret_timeout_ms) _must_check_;

/* Handles what has come, one message. 1 when there may be more at once, 0 when it is time to poll, -errno when it has failed. */
int manager_turn(struct manager *m) _must_check_;

/* Whether the scope is there. */
bool manager_is_done(const struct manager *m);
