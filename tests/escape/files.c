/*
 * Attacks on files: reading and writing what is outside, read-only mounts, set-id bits, device nodes, handles. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"

enum { SET_BITS = 06000 };

/* Any of the files can be opened and has something in it. */
static enum verdict read_any(char **args)
{
	enum verdict v = REFUSED;

	for (; *args; args++) {
		int fd = open(*args, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		if (attack_result(fd, *args) == SUCCEEDED && attack_show(fd))
			v = SUCCEEDED;
	}
	return v;
}

/* Something can be put into any of the files, or the file be made. */
static enum verdict write_any(char **args)
{
	enum verdict v = REFUSED;

	for (; *args; args++) {
		int fd = open(*args, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);

		if (attack_result(fd, *args) == SUCCEEDED && write(fd, "overwritten\n", 12) == 12)
			v = SUCCEEDED;
	}
	return v;
}

static long by_reopening(const char *path)
{
	char again[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void) snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	return fd < 0 ? fd : open(again, O_WRONLY | O_TRUNC | O_CLOEXEC);
}

static long by_truncating(const char *path)
{
	return truncate(path, 0);
}

static long by_mode(const char *path)
{
	return chmod(path, 0777);
}

static long by_time(const char *path)
{
	return utimensat(AT_FDCWD, path, NULL, 0);
}

static long by_attribute(const char *path)
{
	return setxattr(path, "user.evil", "1", 1, 0);
}

static long by_link(const char *path)
{
	(void) unlink("linked");
	return link(path, "linked");
}

static long by_moving(const char *path)
{
	return rename(path, "moved");
}

static long by_removing(const char *path)
{
	return unlink(path);
}

/* A file of a read-only mount is changed in any way. */
static enum verdict change_any(char **args)
{
	static long (*const ways[])(const char *path) = {
		by_reopening, by_truncating, by_mode, by_time, by_attribute, by_link, by_moving, by_removing,
	};

	enum verdict v = args[0] ? REFUSED : NOT_TRIED;
	for (; *args; args++)
		for (size_t i = 0; i < ARRAY_LEN(ways); i++)
			if (attack_result(ways[i](*args), *args) == SUCCEEDED)
				v = SUCCEEDED;
	return v;
}

static long set_open(const char *name)
{
	return open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0755 | SET_BITS);
}

static long set_creat(const char *name)
{
	return creat(name, 0755 | SET_BITS);
}

static long set_chmod(const char *name)
{
	return chmod(name, 0755 | SET_BITS);
}

static long set_fchmod(const char *name)
{
	return fchmod(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0755), 0755 | SET_BITS);
}

static long set_fchmodat(const char *name)
{
	return fchmodat(AT_FDCWD, name, 0755 | SET_BITS, 0);
}

static long set_mknod(const char *name)
{
	return mknod(name, S_IFREG | 0755 | SET_BITS, 0);
}

static long set_mkfifo(const char *name)
{
	return mkfifo(name, 0755 | SET_BITS);
}

static long set_tmpfile(const char *name)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0755 | SET_BITS);

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd < 0 ? fd : linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* A file with set-id bits stays in the workspace, made in any way. */
static enum verdict set_id(_unused_ char **args)
{
	static const struct {
		const char *name;
		long (*way)(const char *name);
		bool on_old; /* of a file that is there already */
	} ways[] = {
		{ "set-open", set_open, false },	 { "set-creat", set_creat, false },   { "set-chmod", set_chmod, true },
		{ "set-fchmod", set_fchmod, true },	 { "set-fchmodat", set_fchmodat, true }, { "set-mknod", set_mknod, false },
		{ "set-mkfifo", set_mkfifo, false }, { "set-tmpfile", set_tmpfile, false },
	};

	struct stat st;
	enum verdict v = REFUSED;
	(void) umask(0);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		if (ways[i].on_old)
			(void) close(open(ways[i].name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
		(void) attack_result(ways[i].way(ways[i].name), ways[i].name);
		if (lstat(ways[i].name, &st) == 0 && (st.st_mode & SET_BITS))
			v = SUCCEEDED;
	}
	return v;
}

/* A program gets capabilities that lie on its file: the format of security.capability, version 2, CAP_NET_RAW. */
static enum verdict file_capability(_unused_ char **args)
{
	static const uint32_t net_raw[] = { 0x02000001, 1U << 13, 0, 0, 0 };
	int fd = open("capable", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	return fd < 0 ? NOT_TRIED : attack_result(fsetxattr(fd, "security.capability", net_raw, sizeof(net_raw), 0), "fsetxattr");
}

/* A device node, or overlayfs's whiteout, which ordinary users may make. */
static enum verdict make_node(char **args)
{
	static const struct {
		const char *name;
		mode_t mode;
		unsigned int major, minor;
	} nodes[] = {
		{ "memory", S_IFCHR, 1, 1 }, { "disk", S_IFBLK, 8, 0 }, { "whiteout", S_IFCHR, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(nodes) && args[0]; i++)
		if (strcmp(nodes[i].name, args[0]) == 0)
			return attack_result(mknod(args[0], nodes[i].mode | 0666, makedev(nodes[i].major, nodes[i].minor)), args[0]);
	return NOT_TRIED;
}

/* Another owner or group for a file of the workspace. */
static enum verdict give_away(_unused_ char **args)
{
	enum verdict v = REFUSED;
	int fd = open("given", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return NOT_TRIED;
	for (uid_t id = 0; id < 3; id++)
		if ((id != getuid() && attack_result(fchown(fd, id, (gid_t) -1), "chown") == SUCCEEDED) ||
		    (id != getgid() && attack_result(fchown(fd, (uid_t) -1, id), "chgrp") == SUCCEEDED))
			v = SUCCEEDED;
	return v;
}

const struct attack file_attacks[] = {
	{ "read", "PATH...", read_any },
	{ "write", "PATH...", write_any },
	{ "change", "PATH...", change_any },
	{ "set-id", NULL, set_id },
	{ "file-capability", NULL, file_capability },
	{ "node", "memory|disk|whiteout", make_node },
	{ "give-away", NULL, give_away },
	{ NULL, NULL, NULL },
};
