/*
 * Takes a SPAWN request apart.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/spec/initmsg.h"

/* A request with its strings found. Pointers lead into the message and into @base_env. */
struct request {
	uint32_t id;
	struct initmsg_limits limits; /* as they were asked for */
	const char *cwd;
	const char *argv[INITMSG_ARGC_MAX + 1];
	const char *envp[INITMSG_ENVC_MAX + 512 + 1];
};

/*
 * Checks that @message of @len bytes (a struct initmsg_spawn with its strings) is exactly what it says, and fills @req; its
 * environment is @base_env with the request's own variables in place of those of the same name. 0, or -EPROTO.
 */
int request_parse(struct request *req, const void *message, size_t len, const char *const *base_env) _must_check_;
