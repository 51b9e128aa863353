/*
 * A strict JSON checker (RFC 8259) for files: it does not build anything.
 *
 * A byte order mark in front is accepted. NaN, Infinity and repeated names in an object are told as warnings: programs
 * in use read them.
 */
#pragma once

#include <stddef.h>

#include "mcp/check.h"

enum {
	JSON_DEPTH_MAX = 1000,      /* deeper nesting is not checked */
	JSON_NAMES_MAX = 1 << 20,   /* names looked at for repetition; a power of two */
};

/* One JSON value with nothing behind it. Text with only white space passes with a warning. */
void check_json(const char *data, size_t len, struct check_result *res);

/* JSON Lines: one value on each line; lines end at LF only, blank ones are skipped. */
void check_jsonl(const char *data, size_t len, struct check_result *res);
