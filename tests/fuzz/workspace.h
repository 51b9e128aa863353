/*
 * The workspace of a fuzz target: a small folder that looks the same to each input, and a secret beside it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes the workspace as it should be. Returns an O_PATH descriptor of it, which stays this module's. */
int workspace_fresh(void);

/* Whether @text holds the content of the file beside the workspace, to which a link inside leads. */
bool workspace_tells_secret(const char *text, size_t len);
