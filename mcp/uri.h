/*
 * URIs of resources, as clients send them (RFC 3986; bytes beyond ASCII may stand for themselves, RFC 3987).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum { URI_MAX = 16384 }; /* bytes of a URI, with its NUL: a path of 4095 bytes, each as %XX, fits */

/*
 * Takes the absolute path out of a file: URI. The host must be empty or "localhost" (RFC 8089). Escapes must be %XX and
 * stand neither for NUL nor for "/"; control characters must be escaped. No component may be "." or "..", escaped or
 * not, and none but the last may be empty. "?" and "#" stand for themselves: a template expansion of the kind {+path}
 * does not escape them, and these resources have neither queries nor fragments.
 *
 * 0; -EPROTOTYPE when @uri is no file: URI, -EREMOTE when it names another host, -EINVAL when it is malformed,
 * -ENAMETOOLONG when the path does not fit into @size bytes.
 */
int uri_to_path(const char *uri, char *ret_path, size_t size) _must_check_;

/* Adds @path with every byte escaped that cannot stand in the path of a URI for itself. */
void uri_add_path(struct buf *b, const char *path);
