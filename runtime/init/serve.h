/*
 * Serves the requests of an MCP session: commands for the server, signals from the supervisor.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/init/command.h"
#include "runtime/init/govern.h"
#include "runtime/init/reprotect.h"

struct serve_session {
	int control_fd; /* to the supervisor */
	int server_fd;  /* to the MCP server, non-blocking */
	int signal_fd;  /* a signalfd for SIGCHLD, non-blocking; all signals are blocked */
	pid_t server;
	const struct command_limits *limits;
	const struct seccomp_program *filter; /* of every command */
	bool shared_proc; /* see struct command_request */
	const struct reprotect *protected; /* what is looked at before every command */
	const char *const *env; /* of every command */
	struct govern *govern;
};

/* Serves until the supervisor hangs up or the server has ended, then ends the process, and the sandbox with it. */
_noreturn_ void serve(const struct serve_session *session);
