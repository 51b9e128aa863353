/*
 * Identities: the map of the sandbox's user namespace (user_namespaces(7)) and, for a launch by real root, the unprivileged
 * host identity and the id-mapped mounts that replace it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

enum { USERNS_MAP_MAX = 48 };

/* The texts to write into /proc/self/uid_map and gid_map: one id inside, one outside. Made before clone(). */
struct userns_map {
	char uid[USERNS_MAP_MAX];
	char gid[USERNS_MAP_MAX];
};

void userns_plan(struct userns_map *ret, uid_t inside_uid, gid_t inside_gid, uid_t host_uid, gid_t host_gid);

/*
 * Gives the calling process, the first in a new user namespace, its ids, after denying setgroups(2). Writes @map itself or, when
 * @helper_fd is a descriptor, lets the process at the other end of that socket have it done: sends a byte, and waits for one.
 * @proc_fd is a descriptor of a real procfs. Allocates nothing. 0 or -errno.
 */
int userns_apply(int proc_fd, const struct userns_map *map, int helper_fd) _must_check_;

/* Opens /proc and makes sure that it is a procfs, so that nothing we write to it goes elsewhere. Descriptor or -errno. */
int userns_open_proc(void) _must_check_;

/*
 * As real root: clones the mount at @path_fd (without what is mounted below it) and shows the ids @disk_uid/@disk_gid of the
 * disk as @host_uid/@host_gid in it (mount_setattr(2), MOUNT_ATTR_IDMAP), so that files made there by the unprivileged host
 * id are stored as the disk id's. @attrs are further MOUNT_ATTR_* to set. Returns a detached private mount (O_PATH, owned),
 * -EINVAL when the file system cannot do it, or -errno.
 */
int userns_idmapped_tree(int path_fd, uint64_t attrs, uid_t disk_uid, gid_t disk_gid, uid_t host_uid,
			 gid_t host_gid) _must_check_;

/*
 * Whether the effective user id of this process is root of the whole machine, by whatever number a user namespace shows it. That
 * one owns the settings of the kernel below /proc/sys, without any capability.
 */
bool userns_is_host_root(void);

/* As real root: becomes the given unprivileged identity for good, without supplementary groups. 0 or -errno. */
int userns_become(uid_t uid, gid_t gid) _must_check_;
