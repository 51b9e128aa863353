/*
 * One MCP server on one stream: lines in, answers out, and what runs in between (mcp/state.h).
 */
#pragma once

#include "mcp/state.h"

/* Takes @files over; the other descriptors stay the caller's. 0 or -errno. */
int server_init(struct server *s, const struct mcp_config *config, const struct facts_files *files, int root_fd, int input_fd,
		int output_fd, int init_fd) _must_check_;

/* Serves until the end. Returns the exit status. */
int server_run(struct server *s);

/* True when something still runs after server_run(): then the process must _exit(2) instead of tidying up. */
bool server_busy(const struct server *s);
void server_done(struct server *s);
