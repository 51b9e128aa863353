/*
 * What a path that leads to nothing may have been meant for.
 */
#pragma once

#include <stdbool.h>

#include "mcp/ws.h"

/*
 * Looks in the deepest directory of @path (relative to the workspace) that exists for a name much like the one that is missing
 * there. True with a path that exists in @ret: with what follows in @path, where that is there too. Reads a directory, so not
 * for the event loop.
 */
bool nearby_find(const struct tool_call *call, const char *path, char ret[static WS_PATH_MAX]);
