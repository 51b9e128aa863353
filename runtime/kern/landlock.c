/*
 * Landlock: see landlock.h. Runs in a command between fork and exec, and in each program that confines itself; without privilege.
 *
 * The constants are here because headers of the C library's age know the first versions only. A right that the running kernel
 * does not know is left out, of what is governed and of what is allowed alike.
 */
#include "runtime/kern/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/wall.h"

/* Rights on files since version 1, and those that came later with their versions. */
enum { FS_FIRST = 13, FS_REFER = 13, FS_TRUNCATE = 14, FS_IOCTL_DEV = 15 };
enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_TCP = 4, ABI_IOCTL_DEV = 5, ABI_SCOPES = 6 };

#define BIT(n) (UINT64_C(1) << (n))

static const uint64_t access_read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t access_write = LANDLOCK_ACCESS_FS_WRITE_FILE | BIT(FS_TRUNCATE);
static const uint64_t access_edit = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
				    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | BIT(FS_REFER);
/* Of those, what a file can have that is no directory. */
static const uint64_t access_file = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
				    BIT(FS_TRUNCATE) | BIT(FS_IOCTL_DEV);
static const uint64_t tcp_all = BIT(0) | BIT(1);    /* bind, connect */
static const uint64_t scopes_all = BIT(0) | BIT(1); /* abstract Unix sockets, signals */

/* As the kernel takes it since version 6; older ones take a longer structure too, as long as what they do not know is 0. */
struct ruleset {
	uint64_t handled_fs, handled_tcp, scoped;
};

int landlock_abi(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int) version : 0;
}

uint64_t landlock_known_fs(int abi)
{
	return (BIT(FS_FIRST) - 1) | (abi >= ABI_REFER ? BIT(FS_REFER) : 0) | (abi >= ABI_TRUNCATE ? BIT(FS_TRUNCATE) : 0) |
	       (abi >= ABI_IOCTL_DEV ? BIT(FS_IOCTL_DEV) : 0);
}

static uint64_t rights(unsigned int access)
{
	if (access & LANDLOCK_MAY_ALL)
		return ~UINT64_C(0);
	return (access & LANDLOCK_MAY_READ ? access_read : 0) | (access & LANDLOCK_MAY_WRITE ? access_write : 0) |
	       (access & LANDLOCK_MAY_EDIT ? access_edit : 0) | (access & LANDLOCK_MAY_STEER ? BIT(FS_IOCTL_DEV) : 0);
}

static int add_rule(int ruleset, const struct landlock_rule *rule, uint64_t handled)
{
	struct landlock_path_beneath_attr attr = { .parent_fd = rule->fd };
	struct stat st;

	if (rule->fd < 0)
		return 0;
	if (fstat(rule->fd, &st) < 0)
		return -errno;
	attr.allowed_access = rights(rule->access) & handled & (S_ISDIR(st.st_mode) ? ~UINT64_C(0) : access_file);
	if (attr.allowed_access == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) == 0)
		return 0;
	/* Pipes, sockets and memory files are in no directory: they take no rule and need none. */
	return errno == EBADFD ? 0 : -errno;
}

int landlock_restrict(const struct landlock_rule *rules, size_t count, bool no_tcp)
{
	int abi = wall_stands(WALL_LANDLOCK) ? landlock_abi() : 0;
	unsigned int all = 0;

	for (size_t i = 0; i < count; i++)
		all |= rules[i].access;
	if (abi < (all & (LANDLOCK_MAY_EDIT | LANDLOCK_MAY_ALL) ? ABI_REFER : 1))
		return 0;
	struct ruleset attr = {
		.handled_fs = landlock_known_fs(abi),
		.handled_tcp = no_tcp && abi >= ABI_TCP ? tcp_all : 0,
		.scoped = abi >= ABI_SCOPES ? scopes_all : 0,
	};
	_cleanup_fd_ int ruleset = (int) syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return -errno;
	for (size_t i = 0; i < count; i++) {
		int r = add_rule(ruleset, &rules[i], attr.handled_fs);
		if (r < 0)
			return r;
	}
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 1;
}

/* A standard stream with the rights of its descriptor. A writer may cut the file off anyway: ftruncate(2). */
static struct landlock_rule stream_rule(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	int mode = flags & O_ACCMODE;

	if (flags < 0 || (flags & O_PATH))
		return (struct landlock_rule) { .fd = -EBADF };
	unsigned int access = (mode != O_WRONLY ? LANDLOCK_MAY_READ : 0) | (mode != O_RDONLY ? LANDLOCK_MAY_WRITE : 0);
	return (struct landlock_rule) { .fd = fd, .access = access | LANDLOCK_MAY_STEER };
}

int landlock_command(void)
{
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -errno;
	const struct landlock_rule rules[] = {
		{ .fd = root, .access = LANDLOCK_MAY_ALL },
		stream_rule(STDIN_FILENO), stream_rule(STDOUT_FILENO), stream_rule(STDERR_FILENO),
	};
	return landlock_restrict(rules, ARRAY_LEN(rules), false);
}
