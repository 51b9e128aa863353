/*
 * Which folder of the host may become the workspace.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/spec/spec.h"

/*
 * Opens the folder that @spec names (or the current one), refuses what would hand the host over ("/", system folders, the
 * home directory or what contains it), and stores its canonical path. Returns a descriptor (O_PATH, owned), or -errno with
 * @err filled.
 */
int workspace_open(const struct spec *spec, char canonical[static SPEC_PATH_MAX], struct stat *st,
		   struct err *err) _must_check_;

/*
 * Whether a folder that the caller did not name may be shown inside at its own canonical path @path: it is neither the system's nor
 * the caller's home, and a sandbox has nothing of its own there.
 */
bool workspace_may_be_shown(const char *path);

/* The canonical path behind a descriptor. 0, -ENOENT when it has none (deleted, in another mount namespace), or -errno. */
int workspace_path_of(int fd, char path[static SPEC_PATH_MAX]) _must_check_;
