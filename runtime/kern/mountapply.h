/*
 * Performs a mount plan. Runs in the launcher's child: in its own mount namespace, with CAP_SYS_ADMIN over the sandbox's user
 * namespace, still seeing the host's root. Allocates nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/kern/mountplan.h"

/* The MOUNT_ATTR_* that every mount of the host's files has inside. */
uint64_t mountapply_attrs(bool read_only);

/* Cuts every propagation between the host's mounts and this namespace's copies of them. 0 or -errno. */
int mountapply_isolate(void) _must_check_;

/* Puts an empty tmpfs over the root, makes it the working directory and returns its descriptor, or -errno. */
int mountapply_new_root(void) _must_check_;

/*
 * Performs the operations of @plan in order below @root_fd, the working directory. 0, or -errno with *@ret_failed set to the
 * index of the operation that failed (unchanged when none was tried).
 */
int mountapply_run(const struct mountplan *plan, int root_fd, size_t *ret_failed) _must_check_;

/* Makes the working directory, the new root, the root and detaches the host's. 0 or -errno. */
int mountapply_enter(void) _must_check_;

/*
 * The weaker form where the host's root is the initial root file system, which pivot_root(2) cannot leave: the new root, which is
 * mounted over the host's, becomes the root of this process and of all that it starts. There is no way back without
 * CAP_SYS_CHROOT, which nobody keeps. 0 or -errno.
 */
int mountapply_enter_chroot(void) _must_check_;

/*
 * A detached read-only view of the program @path, to be executed from: nobody can ever write to the program through it, not
 * even through /proc/PID/exe (CVE-2019-5736). Descriptor (O_PATH, close-on-exec) or -errno.
 */
int mountapply_program(const char *path) _must_check_;
