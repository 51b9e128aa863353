/*
 * Lines for people on standard error: "2026-11-29T12:00:00Z [WARNING] cloche: …".
 *
 * Never blocks: a line that does not fit into the stream now is dropped, because a client may not read it. Control
 * characters and DEL are escaped, so that no text from outside can forge a line. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

/* The eight levels of the protocol, quietest last. */
enum mcp_log_level {
	MCP_LOG_DEBUG,
	MCP_LOG_INFO,
	MCP_LOG_NOTICE,
	MCP_LOG_WARNING,
	MCP_LOG_ERROR,
	MCP_LOG_CRITICAL,
	MCP_LOG_ALERT,
	MCP_LOG_EMERGENCY,
	MCP_LOG_OFF, /* above all of them; has no name */
};

void log_init(enum mcp_log_level level);
void log_line(enum mcp_log_level level, const char *fmt, ...) _printf_(2, 3);

/* "debug" to "emergency" as the protocol spells it, any case. -EINVAL when @name is none of them. */
int log_level_from_name(const char *name, enum mcp_log_level *ret) _must_check_;
const char *log_level_name(enum mcp_log_level level);

/*
 * Adds 'text' in quotes with escapes for the audit line, at most @max bytes of it; when it was cut, its length follows.
 */
void log_add_quoted(struct buf *line, const char *text, size_t len, size_t max);
