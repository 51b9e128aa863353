/*
 * The supervisor: what `cloche` does while its sandbox lives.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/life/launch.h"

/* Blocks the signals that the supervisor passes on. Call before launch_start(), so that none is lost. 0 or -errno. */
int supervise_block_signals(void) _must_check_;

/*
 * Waits for the command that launch_start() sent with a struct spawnmsg and returns its exit status as a shell would: its own,
 * or 128 + n for a signal. -errno with @err filled when it could not be executed or the sandbox failed. @workdir and @command
 * are for messages. Consumes @sandbox.
 */
int supervise_run(struct sandbox *sandbox, const char *workdir, const char *command, struct err *err) _must_check_;

/* Waits for the MCP session to end and returns the exit status. Consumes @sandbox. */
int supervise_mcp(struct sandbox *sandbox, struct err *err) _must_check_;
