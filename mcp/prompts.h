/*
 * Prompts: texts that a person picks in a client, for a model to work on. Each is one row of a table; the guide for agents
 * (skill.h) is one of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "mcp/complete.h"
#include "mcp/session.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum {
	PROMPTS_VALUE_MAX = 4096,      /* bytes of an argument's value */
	PROMPTS_TEXT_MAX = 128 * 1024, /* bytes of a prompt with its values */
	PROMPTS_ARGUMENTS_MAX = 4,     /* of one prompt */
	PROMPTS_PARTS_MAX = 6,
};

struct prompt_argument {
	const char *name, *title, *description;
	bool required;
	enum complete_kind kind;
	const char *const *words; /* for COMPLETE_WORD, NULL-terminated */
};

/* A part of a text. */
struct prompt_part {
	const char *argument;      /* the part depends on it; NULL: on nothing */
	const char *with;          /* the text when the argument was given: its value stands in the place of "{}" */
	const char *without;       /* the text otherwise, or NULL */
};

struct prompt {
	const char *name, *title;
	const char *description; /* NULL: that of the guide, which is then the text */
	struct prompt_argument arguments[PROMPTS_ARGUMENTS_MAX]; /* those with a name */
	struct prompt_part parts[PROMPTS_PARTS_MAX];             /* those with a text */
};

/* NULL when there is none of that name. */
const struct prompt *prompts_find(const char *name);
const struct prompt_argument *prompts_find_argument(const struct prompt *prompt, const char *name);

/* Adds a JSON array of all prompts, with the members that @version knows. */
void prompts_write_list(struct buf *b, enum mcp_version version);

/* Adds a prompt's description as a JSON string. */
void prompts_write_description(struct buf *b, const struct prompt *prompt);

/* Adds "a, b, c": the names of all prompts. */
void prompts_add_names(struct buf *b);

/*
 * Adds the text of @prompt with the values of @arguments (an object, or NULL for none; "" counts as not given). False when
 * they are not right: then @problem has a sentence about it.
 */
bool prompts_fill(struct buf *text, const struct prompt *prompt, const cJSON *arguments, struct buf *problem);
