/*
 * Replacing a file at once: a reader sees the old content or the new, never a part, and a failure changes nothing.
 *
 * The content goes into a file without a name (O_TMPFILE) where the file system has such, else into one with a random
 * name beside the target, made with O_EXCL. Neither clobbers or follows what others planted. Linux cannot put a
 * nameless file in the place of another in one step: it has a random name for an instant, and SIGKILL in that instant
 * leaves it there. Such names are hidden from listings, and removed when a directory is read ten minutes later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "runtime/base/attr.h"

/*
 * Writes @len bytes at @data to @name in the directory @dir_fd (O_PATH will do).
 *
 * @old NULL creates the file: -EEXIST when something of that name is there by the time it is put in place; of several
 * who race, exactly one succeeds. Otherwise @old is what the caller saw there (fstat(2)): its permissions and group are
 * kept (set-user-ID and the like are not), and the result is -ESTALE when something else is there now. 0 or -errno.
 */
int atomic_write(int dir_fd, const char *name, const void *data, size_t len, const struct stat *old) _must_check_;

/* Removes the temporary file @name in the directory @dir_fd, if it is one and old. */
void atomic_remove_stale(int dir_fd, const char *name);

/* True for the names of temporary files: listings do not show them. */
bool atomic_is_temp_name(const char *name);
