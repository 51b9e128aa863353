/*
 * Files and directories of the workspace as resources.
 */
#pragma once

#include <stdbool.h>

#include "mcp/out.h"
#include "mcp/tool.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum { RESOURCE_BYTES_MAX = OUT_MESSAGE_MAX }; /* what is larger fits into no answer */

/* What a resource consists of. */
struct resource_content {
	struct buf bytes;
	const char *type; /* MIME */
	bool is_text;     /* UTF-8 without NUL */
};

#define RESOURCE_CONTENT_INIT { .bytes = BUF_INIT(RESOURCE_BYTES_MAX) }

void resource_content_done(struct resource_content *content);
#define _cleanup_content_ _cleanup_(resource_content_done)

/*
 * Reads the file at @path, relative to the workspace, or the names in the directory, one in a line. For a worker thread. 0, or
 * -errno with the call failed: -EFBIG when the file is larger than mcp_config.max_read_bytes or RESOURCE_BYTES_MAX.
 */
int resource_read_path(struct tool_call *call, const char *path, struct resource_content *ret) _must_check_;

/* Adds an element of "contents". What is no text is written in base64. */
void resource_write_content(struct buf *b, const char *uri, const struct resource_content *content);
