/*
 * The methods a client may call. They come in groups, each in a file of its own that ends in its group's row; method.c
 * lists the groups. What a group declares as a capability stands beside the handlers, so that neither is without the other.
 */
#pragma once

#include "mcp/state.h"

/* In which era there is a method. */
enum method_flags {
	METHOD_HANDSHAKE = 1 << 0,
	METHOD_STATELESS = 1 << 1,
	METHOD_BOTH = METHOD_HANDSHAKE | METHOD_STATELESS,
	/* It takes time and memory, and waits in line while many such ones run; all others are answered at once. */
	METHOD_TAKES_TIME = 1 << 2,
};

struct method {
	const char *name;
	unsigned int flags; /* enum method_flags */
	/* Takes the request over; the answer is sent now or later. */
	void (*run)(struct server *s, struct request *req);
};

struct method_group {
	const struct method *methods; /* the last one has no name */
	/*
	 * What stands for it in the capabilities of @version, such as "\"tools\":{}", or NULL: nothing is declared there.
	 * NULL for a group without a capability.
	 */
	const char *(*capability)(enum mcp_version version);
};

/* The product's own method of this name, or NULL. */
const struct method *method_find(const char *name);

/* Serves @req and takes it over; the answer is sent now or later. */
void method_serve(struct server *s, struct request *req);

/* Whether the method of @m is of the kind METHOD_TAKES_TIME, such as tools/call. */
bool method_is_call(const struct rpc *m);

/* A message without id. Never answered. */
void method_notify(struct server *s, const struct rpc *m);

/* Adds the capabilities of all groups in @version, an object. */
void method_write_capabilities(struct buf *b, enum mcp_version version);

/* The rows, each at the end of its group's file. */
extern const struct method_group methods_completion, methods_life, methods_prompts, methods_resources, methods_subscribe, methods_tasks,
	methods_tools;
