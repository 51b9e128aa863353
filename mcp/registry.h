/*
 * The tools there are.
 */
#pragma once

#include "mcp/session.h"
#include "mcp/tool.h"

/* The tool of this name, or NULL. */
const struct mcp_tool *registry_find(const char *name);

/* The parsed input schema of a tool (made when first asked for), or NULL when there is no memory. Event loop only. */
const cJSON *registry_schema(const struct mcp_tool *tool);

/* Adds the array of tools/list as @version has it. */
void registry_list(struct buf *b, const struct mcp_config *config, enum mcp_version version);

/* Adds every name, separated by ", ". */
void registry_names(struct buf *b);

void registry_done(void);
