/*
 * Starts the MCP server inside the sandbox.
 */
#pragma once

#include <sys/types.h>

#include "runtime/base/attr.h"

/*
 * Executes the program behind @program_fd on our standard streams, with @argv, an environment of its own, no capability, and
 * @socket as INITMSG_SERVER_FD. Returns its process id or -errno. A server that cannot be executed ends with status 125.
 */
pid_t server_start(int program_fd, int socket, const char *const *argv) _must_check_;
