/*
 * Requests that wait, in order, until others have ended or the reader of our output has caught up.
 */
#pragma once

#include "mcp/state.h"

/* Takes @req over, as the last one. */
void waiting_add(struct server *s, struct request *req);

/* The first one, which is the caller's from then on. There must be one. */
struct request *waiting_take(struct server *s);

/* Whether one has the id with the JSON text @id. */
bool waiting_has(const struct server *s, const char *id);

/* Drops the one whose id has the JSON text @id, if there is one. It is not answered. */
void waiting_forget(struct server *s, const char *id);
