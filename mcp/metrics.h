/*
 * What a command used, as the member "cloche/metrics" of a result's _meta (docs/protocols.md).
 */
#pragma once

#include "mcp/tool.h"

/* Puts the figures of @res into @call's _meta, in place of those of an earlier command. What is not known is left out. */
void metrics_add(struct tool_call *call, const struct exec_result *res);
