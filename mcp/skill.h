/*
 * The guide for agents, mcp/skill/SKILL.md, as it is compiled into the server.
 *
 * The same text is the prompt "cloche", the resource skill://cloche/SKILL.md, and a file below the data folder of an
 * installation.
 */
#pragma once

#include <stddef.h>

#define SKILL_URI "skill://cloche/SKILL.md"
#define SKILL_NAME "cloche"         /* as in its front matter */
#define SKILL_TITLE "How to work in a cloche sandbox"
#define SKILL_MIME_TYPE "text/markdown"

/* The whole file with its front matter: UTF-8 without NUL, and NUL-terminated. */
extern const char skill_text[];
extern const size_t skill_text_len;

/* The description in the front matter: one line, when the guide is of use. */
const char *skill_description(size_t *ret_len);

/* What follows the front matter: the guide itself, to the end of skill_text. */
const char *skill_body(void);
