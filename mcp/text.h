/*
 * Small helpers for the texts that tools answer with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

/*
 * A file name or path on a line of its own: bad UTF-8 as U+FFFD, control characters as \xNN, so that no name forges a
 * line.
 */
void text_add_name(struct buf *out, const char *name);

/*
 * @s as an answer shows it: repaired as by utf8_repair(), and each NUL as U+FFFD too, as jsonw_string() writes it. At most 3 times as
 * long.
 */
void text_add_repaired(struct buf *out, const char *s, size_t n);

/* Whether @s is UTF-8 without control characters: a message can show it as it is. */
bool text_can_be_shown(const char *s);

/* @path as one word of a shell command; "FILE" where the word is too long or has control characters. */
void text_add_word(struct buf *out, const char *path);

/* A line of a file in a message: as above (tabs stay), at most @max bytes of it, then "...". @s is not terminated. */
void text_add_line(struct buf *out, const char *s, size_t n, size_t max);

/* Like snprintf(3), but what does not fit is cut between characters. */
void text_format(char *to, size_t size, const char *fmt, ...) _printf_(3, 4);

/* Whether a file that begins with @s is no text: there is a NUL byte among its first TEXT_PROBE bytes. */
enum { TEXT_PROBE = 8192 };
bool text_is_binary(const char *s, size_t n);

/* Number of the line (from 1) that the offset @at of @s lies in. */
size_t text_line_at(const char *s, size_t at);
