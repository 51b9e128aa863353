/*
 * Starts the MCP server inside the sandbox.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

enum { SERVER_ARGS_MAX = 1024 };

/*
 * Executes the program behind @program_fd on our standard streams, with @argv and the manner in which limits are held (govern.h; NULL:
 * none), an environment of its own, no capability, @socket as INITMSG_SERVER_FD and @policy_fd, unless it is negative, as
 * INITMSG_SERVER_POLICY_FD; in a cgroup namespace of its own when it is @in_cgroup. Returns its process id or -errno. A server that
 * cannot be executed ends with status 125.
 */
pid_t server_start(int program_fd, int socket, int policy_fd, const char *const *argv, const char *manner, bool in_cgroup)
	_must_check_;
