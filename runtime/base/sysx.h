/*
 * System calls that glibc 2.36 or musl 1.2 do not wrap, or which not every C library wraps alike. Each returns what the kernel
 * returns (-1 and errno on failure); the man page of the same name is the reference.
 */
#pragma once

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

static inline int sysx_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .mode = mode, .resolve = resolve };

	return (int) syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline int sysx_open_tree(int dirfd, const char *path, unsigned int flags)
{
	return (int) syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int sysx_move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	return (int) syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

static inline int sysx_mount_setattr(int dirfd, const char *path, unsigned int flags, struct mount_attr *attr)
{
	return (int) syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof(*attr));
}

static inline int sysx_tgkill(pid_t pid, pid_t tid, int signo)
{
	return (int) syscall(SYS_tgkill, pid, tid, signo);
}

static inline pid_t sysx_clone3(struct clone_args *args)
{
	return (pid_t) syscall(SYS_clone3, args, sizeof(*args));
}

static inline int sysx_pivot_root(const char *new_root, const char *put_old)
{
	return (int) syscall(SYS_pivot_root, new_root, put_old);
}

static inline int sysx_pidfd_open(pid_t pid)
{
	return (int) syscall(SYS_pidfd_open, pid, 0);
}

static inline int sysx_pidfd_send_signal(int pidfd, int sig)
{
	return (int) syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

static inline int sysx_close_range(unsigned int first, unsigned int last, unsigned int flags)
{
	return (int) syscall(SYS_close_range, first, last, flags);
}

/* prlimit(2) of the calling process. (glibc's own wrapper takes an enumeration that other libraries do not have.) */
static inline int sysx_prlimit(int resource, const struct rlimit *new_limit, struct rlimit *old_limit)
{
	return (int) syscall(SYS_prlimit64, 0, resource, new_limit, old_limit);
}

static inline int sysx_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	return (int) syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static inline int sysx_io_uring_setup(unsigned int entries, struct io_uring_params *params)
{
	return (int) syscall(SYS_io_uring_setup, entries, params);
}

static inline int sysx_io_uring_register(int ring_fd, unsigned int what, const void *arg, unsigned int count)
{
	return (int) syscall(SYS_io_uring_register, ring_fd, what, arg, count);
}

static inline int sysx_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return (int) syscall(SYS_execveat, fd, path, argv, envp, flags);
}
