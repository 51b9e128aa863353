/*
 * Text that a program of ours hands to the next one: a file in memory that nobody can change any more.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"

/* A sealed memory file (close-on-exec) with the @len bytes at @data, to be read from its start. Descriptor or -errno. */
int memfile_make(const char *name, const void *data, size_t len) _must_check_;
