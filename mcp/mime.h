/*
 * Media types of files: by what is in them, then by their name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"

#define MIME_TEXT "text/plain"
#define MIME_BYTES "application/octet-stream"
#define MIME_DIRECTORY "inode/directory"

/* The type of the picture whose file begins with the @n bytes at @s (PNG, JPEG, GIF, WebP), or NULL. 12 bytes are enough. */
const char *mime_of_picture(const char *s, size_t n);

/*
 * The type of a file named @name (a path will do) with the @n bytes at @s, of which @is_text says whether they are text. A name
 * that promises the one for the other is not believed. Never NULL.
 */
const char *mime_of(const char *name, const char *s, size_t n, bool is_text);
