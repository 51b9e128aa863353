/*
 * `cloche-compile seccomp`: a user's own system-call filter in, its compiled form out (runtime/spec/filterform.h).
 */
#pragma once

#include <stddef.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"

/* Appends the compiled form of the @len bytes of JSON at @text, for this machine, to @out. 0, or -errno with @err filled. */
int seccomp_compile(const char *text, size_t len, struct buf *out, struct err *err) _must_check_;
