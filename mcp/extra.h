/*
 * What a test build adds to the server: tools, methods and requests of our own that the product does not have.
 *
 * The product is linked with extra_none.c, where each of these does nothing; the server for the conformance tests with
 * tests/conformance/fixtures*.c in its place. Everything runs on the event loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/method.h"
#include "mcp/state.h"

enum { EXTRA_TOOLS_MAX = 64 };

/* Takes the options of a test build out of the arguments, as main() gets them. */
void extra_arguments(int *argc, char **argv);

/* A method that comes before the product's own of this name, or NULL. */
const struct method *extra_method(const char *name);

/* The whole object of capabilities in @version, JSON text, or NULL: what the product declares. */
const char *extra_capabilities(enum mcp_version version);

/* The tool at position @i behind the product's, or NULL: there are no more. At most EXTRA_TOOLS_MAX. */
const struct mcp_tool *extra_tool(size_t i);

/* Whether @uri names a resource that the product does not have. Nothing ever changes in it. */
bool extra_resource(const char *uri);

/* How long a call runs before it becomes a task: TASK_AFTER_MS. */
int64_t extra_task_after_ms(void);

/* The response @m to a request of ours. False when it answers none. */
bool extra_response(struct server *s, const struct rpc *m);

/* Does what is due; returns when more is, or INT64_MAX. */
int64_t extra_tick(struct server *s, int64_t now_ms);

/* Frees what is still there when the server ends. */
void extra_done(struct server *s);
