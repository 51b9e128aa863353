/*
 * Shows a folder of the host entry by entry in a folder of ours, so that a mount can stand beside them at a name that the folder
 * does not have, and without anything being created in it. Runs in the launcher's child; allocates nothing.
 */
#pragma once

#include "runtime/base/attr.h"

/*
 * Binds every entry of the open folder @folder_fd read-only at its name in @at_fd, an empty folder on a tmpfs of ours; links are
 * copied. What is put into @folder_fd later is not seen there. 0, -E2BIG for more than MOUNTPLAN_ENTRIES_MAX entries, or -errno.
 */
int mountentries_show(int folder_fd, int at_fd) _must_check_;
