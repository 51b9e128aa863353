/*
 * Spare empty folders: see spare.h. Runs where stand-ins are made and removed, as the owner of the workspace. Several may use them at
 * once: a move either happens or does not.
 */
#include "runtime/life/spare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/life/protect_walk.h"

#define FOLDER "spare"

enum { MODE = 0755, MODE_ALL = 07777 };

void spare_open(struct spare *s, int state_fd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;

	*s = (struct spare) { .fd = -EBADF };
	if (state_fd < 0)
		return;
	_cleanup_fd_ int fd = openat(state_fd, FOLDER, flags);
	if (fd < 0 && errno == ENOENT && mkdirat(state_fd, FOLDER, 0700) == 0)
		fd = openat(state_fd, FOLDER, flags);
	_cleanup_list_ DIR *list = fd < 0 ? NULL : fd_list(fd);
	if (!list || fstat(fd, &st) < 0)
		return;
	s->fd = TAKE_FD(fd);
	s->device = st.st_dev;
	for (const struct dirent *e; s->count < SPARE_MAX && (e = readdir(list));)
		if (e->d_name[0] != '.' && strlen(e->d_name) < SPARE_NAME_MAX)
			memcpy(s->names[s->count++], e->d_name, strlen(e->d_name) + 1);
}

void spare_close(struct spare *s)
{
	s->fd = fd_close(s->fd);
}

/* Whether the open folder is as it was made, and nobody has put anything into it. */
static bool is_as_new(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && st->st_uid == geteuid() && (st->st_mode & MODE_ALL) == MODE && protect_is_empty_folder(fd, st);
}

ino_t spare_take(struct spare *s, dev_t device, int dir_fd, const char *name)
{
	struct stat st;

	while (s->fd >= 0 && s->device == device && s->count > 0) {
		const char *own = s->names[--s->count];
		_cleanup_fd_ int fd = openat(s->fd, own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue; /* another sandbox was faster */
		if (!is_as_new(fd, &st))
			(void) unlinkat(s->fd, own, AT_REMOVEDIR); /* or it stays, as what it is now */
		else if (sysx_renameat2(s->fd, own, dir_fd, name, RENAME_NOREPLACE) == 0)
			return st.st_ino;
		else if (errno != ENOENT)
			return 0;
	}
	return 0;
}

bool spare_give(struct spare *s, int fd, int dir_fd, const char *name)
{
	char own[SPARE_NAME_MAX];
	struct stat st;

	if (s->fd < 0 || s->count >= SPARE_MAX || !is_as_new(fd, &st) || st.st_dev != s->device)
		return false;
	(void) snprintf(own, sizeof(own), "%jx", (uintmax_t) st.st_ino);
	if (sysx_renameat2(dir_fd, name, s->fd, own, RENAME_NOREPLACE) < 0)
		return false;
	/* Whoever wrote into it in that moment finds it where it was. */
	if (!protect_is_empty_folder(fd, &st))
		(void) sysx_renameat2(s->fd, own, dir_fd, name, RENAME_NOREPLACE);
	else
		memcpy(s->names[s->count++], own, sizeof(own));
	return true;
}

void spare_clear(int state_fd)
{
	_cleanup_spare_ struct spare s;

	spare_open(&s, state_fd);
	while (s.count > 0)
		(void) unlinkat(s.fd, s.names[--s.count], AT_REMOVEDIR);
}
