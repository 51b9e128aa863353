/*
 * A user's own system-call filter (--security-opt seccomp=FILE): from the file to a descriptor that init can read.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"

/*
 * Compiles the file @path, or finds what became of the same text before in the folder of state, and puts the floor under it
 * (with what debuggers need when @debug). Returns a sealed memory file (owned, close-on-exec) with the compiled form of
 * runtime/spec/filterform.h, or -errno with @err filled. What of the file has no effect is told in @notes, lines that each end in
 * NUL. Call it while the process still has its caller's rights.
 */
int userfilter_open(const char *path, bool debug, struct buf *notes, struct err *err) _must_check_;
