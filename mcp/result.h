/*
 * The result of a tool call as the client gets it.
 */
#pragma once

#include "mcp/call.h"

/* Adds the members of the result of @call (content, isError, …, _meta), without the braces around them. */
void result_write(struct buf *b, const struct call *call);
