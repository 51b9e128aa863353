/*
 * Lines for people on standard error: "2026-11-29T12:00:00Z [WARNING] cloche: …".
 *
 * Never blocks: a line that does not fit into the stream now is dropped, because a client may not read it. Control
 * characters and DEL are escaped, so that no text from outside can forge a line. Any thread.
 */
#pragma once

#include "mcp/tool.h"

void log_init(enum mcp_log_level level);
bool log_wanted(enum mcp_log_level level);
void log_line(enum mcp_log_level level, const char *fmt, ...) _printf_(2, 3);

/* "debug" to "emergency" as the protocol spells it, any case. -EINVAL when @name is none of them. */
int log_level_from_name(const char *name, enum mcp_log_level *ret) _must_check_;
const char *log_level_name(enum mcp_log_level level);

/*
 * Adds 'text' in quotes with escapes for the audit line, at most @max bytes of it; when it was cut, its length follows.
 */
void log_add_quoted(struct buf *line, const char *text, size_t len, size_t max);
