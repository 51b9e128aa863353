/*
 * newuidmap(1) and newgidmap(1): see idhelper.h. Runs in the launcher; the helpers are its children, with the host's own rights.
 */
#include "runtime/life/idhelper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/life/account.h"

#define UID_HELPER "/usr/bin/newuidmap"
#define GID_HELPER "/usr/bin/newgidmap"

enum {
	ARGS_MAX = 2 + SUBID_EXTENTS_MAX * 3,
	NUMBER_MAX = 12,
	TIME_MS = 10000,
	SAID_MAX = 256,
};

/* The arguments of a helper, made before it is cloned. */
struct words {
	const char *argv[ARGS_MAX + 1];
	char text[ARGS_MAX][NUMBER_MAX];
	size_t count;
};

static void add_number(struct words *w, uint32_t number)
{
	(void) snprintf(w->text[w->count], NUMBER_MAX, "%u", number);
	w->argv[w->count] = w->text[w->count];
	w->count++;
}

static void add_words(struct words *w, const char *name, pid_t pid, const struct subid_map *map)
{
	w->argv[w->count++] = name;
	add_number(w, (uint32_t) pid);
	for (size_t i = 0; i < map->count; i++) {
		add_number(w, map->rows[i].inside);
		add_number(w, map->rows[i].outside);
		add_number(w, map->rows[i].count);
	}
	w->argv[w->count] = NULL;
}

/* Whether executing the program would give rights at all: by its owner's bit, or by capabilities of the file. */
static bool gives_rights(int fd, const struct stat *st)
{
	char path[32];

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (st->st_mode & S_ISUID) || getxattr(path, "security.capability", NULL, 0) > 0;
}

static int open_helper(const char *path, struct err *err)
{
	struct statvfs fs;
	struct stat st;
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_UNSUPPORTED, errno, "'%s' cannot be used: %m. Install it (Debian, Ubuntu: apt-get install uidmap; "
			       "Fedora: shadow-utils-subid)", path);
	if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0)
		return err_set(err, ERR_SYSTEM, errno, "'%s' cannot be examined: %m", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_set(err, ERR_UNSUPPORTED, EPERM, "'%s' does not belong to root, as seen from here, or others may write to "
			       "it: it is not executed", path);
	if (!gives_rights(fd, &st))
		return err_set(err, ERR_UNSUPPORTED, EPERM, "'%s' has neither the set-user-ID bit nor capabilities, so it can write no map: "
			       "install it anew (Debian, Ubuntu: apt-get install --reinstall uidmap)", path);
	if ((fs.f_flag & ST_NOSUID) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return err_set(err, ERR_UNSUPPORTED, EPERM, "'%s' would get no rights here: %s", path,
			       fs.f_flag & ST_NOSUID ? "its file system is mounted nosuid"
						     : "whoever started cloche has set no_new_privs");
	return TAKE_FD(fd);
}

static int prepare_subid(struct idhelper *h, const struct spec *spec, uid_t host_uid, gid_t host_gid, struct err *err)
{
	struct subid_ranges ranges;
	struct account account = { .name = "" };

	h->uid_fd = open_helper(UID_HELPER, err);
	if (h->uid_fd < 0)
		return h->uid_fd;
	h->gid_fd = open_helper(GID_HELPER, err);
	if (h->gid_fd < 0)
		return h->gid_fd;
	(void) account_find(host_uid, &account);
	int r = subid_read("/etc/subuid", account.name, host_uid, host_uid, &ranges, err);
	if (r < 0)
		return r;
	subid_plan(&h->uid, spec->uid, host_uid, &ranges);
	/* The ranges of groups belong to a user too: the file's first field names one. */
	r = subid_read("/etc/subgid", account.name, host_uid, host_gid, &ranges, err);
	if (r < 0)
		return r;
	subid_plan(&h->gid, spec->gid, host_gid, &ranges);
	return 0;
}

int idhelper_prepare(struct idhelper *h, const struct spec *spec, uid_t host_uid, gid_t host_gid, struct err *err)
{
	if (spec->userns == SPEC_USERNS_SINGLE)
		return 0;
	int r = prepare_subid(h, spec, host_uid, host_gid, spec->userns == SPEC_USERNS_AUTO ? NULL : err);
	h->wanted = r == 0;
	if (r == 0 || spec->userns == SPEC_USERNS_AUTO)
		return 0;
	return err_wrap(err, "--userns subid is not possible");
}

/* The child that becomes a helper: 0 and 1 are /dev/null, 2 is the pipe, everything else closes at the exec. */
_noreturn_ static void become_helper(int fd, const struct words *w, int said_fd)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(said_fd, STDERR_FILENO) >= 0 &&
	    proc_reset_signals() == 0)
		(void) sysx_execveat(fd, "", (char *const *) (uintptr_t) w->argv, (char *const *) (uintptr_t) env, AT_EMPTY_PATH);
	_exit(127);
}

/* Waits for the end of the helper; one that takes too long is killed. Its wait status. */
static int await_helper(pid_t pid, int pid_fd)
{
	struct pollfd end = { .fd = pid_fd, .events = POLLIN };
	int status = 0;
	int n;

	do
		n = poll(&end, 1, TIME_MS);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		(void) sysx_pidfd_send_signal(pid_fd, SIGKILL);
	(void) proc_wait(pid, &status);
	return status;
}

static int explain(const char *name, int status, int said_fd, struct err *err)
{
	char said[SAID_MAX];
	ssize_t n = read(said_fd, said, sizeof(said) - 1);

	said[n > 0 ? n : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	if (WIFSIGNALED(status))
		return err_set(err, ERR_SYSTEM, ETIMEDOUT, "%s did not write the id map in time and was ended (signal %d). Use --userns single",
			       name, WTERMSIG(status));
	return err_set(err, ERR_UNSUPPORTED, EPERM, "%s could not write the id map: '%s'. Use --userns single", name,
		       said[0] ? said : "it said nothing");
}

static int run_helper(int fd, const char *name, pid_t pid, const struct subid_map *map, struct err *err)
{
	struct words words = { .count = 0 };
	_cleanup_fd_ int pid_fd = -EBADF; /* made by clone3(2) */
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uint64_t) (uintptr_t) &pid_fd, .exit_signal = SIGCHLD };
	int said[2];

	add_words(&words, name, pid, map);
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a pipe: %m");
	_cleanup_fd_ int said_read = said[0];
	_cleanup_fd_ int said_write = said[1];
	pid_t helper = sysx_clone3(&args);
	if (helper < 0)
		return err_set(err, ERR_SYSTEM, errno, "%s cannot be started: %m", name);
	if (helper == 0)
		become_helper(fd, &words, said_write);
	int status = await_helper(helper, pid_fd);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : explain(name, status, said_read, err);
}

int idhelper_apply(const struct idhelper *h, pid_t pid, struct err *err)
{
	int r = run_helper(h->uid_fd, "newuidmap", pid, &h->uid, err);

	return r < 0 ? r : run_helper(h->gid_fd, "newgidmap", pid, &h->gid, err);
}

void idhelper_done(struct idhelper *h)
{
	h->uid_fd = fd_close(h->uid_fd);
	h->gid_fd = fd_close(h->gid_fd);
}
