/*
 * Where state is kept: see statedir.h. Runs in the launcher, as the invoking user, or as real root before and as its
 * unprivileged identity after it has given itself up.
 *
 * Trusted are the kernel's answers about an open folder (owner and mode), never a name: /tmp belongs to everybody, and the
 * environment to whoever started us.
 */
#include "runtime/life/statedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/kern/userns.h"

enum {
	SUB_NAME_MAX = 32,
	USERS_MAX = 4096, /* folders of users that a visit by root looks at, in each place */
	TRIED_MAX = 800,  /* bytes of a message */
	SEEN_MAX = 64,    /* folders that a visit remembers, so as not to show one twice */
};

#define ROOTS_OWN "/run/cloche"

/* Who must own the folder in which ours lies. */
enum base_owner { OWNER_USER, OWNER_ROOT, OWNER_ANYBODY };

/* A name, behind which the user's id may stand. */
struct pattern {
	const char *text;
	bool with_id;
};

/* A place for the state of one user. */
static const struct place {
	struct pattern base;  /* without text: the value of XDG_RUNTIME_DIR */
	struct pattern entry; /* our folder in it */
	enum base_owner owner;
} places[] = {
	{ { NULL, false }, { "cloche", false }, OWNER_USER },
	{ { "/run/user/", true }, { "cloche", false }, OWNER_USER },
	{ { ROOTS_OWN, false }, { "", true }, OWNER_ROOT },
	{ { "/tmp", false }, { "cloche-", true }, OWNER_ANYBODY },
};

/* A place with everything filled in. */
struct spot {
	char base[STATEDIR_PATH_MAX];
	char entry[32];
	enum base_owner owner;
};

/* False when it does not fit. */
static bool expand(const struct pattern *pattern, uid_t uid, char *ret, size_t cap)
{
	int n = pattern->with_id ? snprintf(ret, cap, "%s%u", pattern->text, uid) : snprintf(ret, cap, "%s", pattern->text);

	return n >= 0 && (size_t) n < cap;
}

/* False when there is no such place for this user. */
static bool locate(const struct place *place, uid_t uid, struct spot *ret)
{
	struct pattern base = place->base;

	if (!base.text)
		base.text = getenv("XDG_RUNTIME_DIR");
	ret->owner = place->owner;
	return base.text && base.text[0] == '/' && expand(&base, uid, ret->base, sizeof(ret->base)) &&
	       expand(&place->entry, uid, ret->entry, sizeof(ret->entry));
}

/* 0 when the open folder belongs to @uid and nobody else may write to it. */
static int check_owned(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == uid && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

/* Opens the folder @name below @dir_fd, which must be @uid's; made on demand. Descriptor or -errno. */
static int open_folder(int dir_fd, const char *name, uid_t uid, bool make)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	_cleanup_fd_ int fd = openat(dir_fd, name, flags);

	if (fd < 0 && errno == ENOENT && make) {
		mode_t mask = umask(0); /* of the caller's choice: it might take even our own rights */
		int r = mkdirat(dir_fd, name, 0700);
		int errnum = errno;
		(void) umask(mask);
		if (r < 0 && errnum != EEXIST)
			return -errnum;
		fd = openat(dir_fd, name, flags);
	}
	if (fd < 0)
		return -errno;
	int r = check_owned(fd, uid);
	return r < 0 ? r : TAKE_FD(fd);
}

/* Opens the folder in which ours lies. Descriptor or -errno. */
static int open_base(const struct spot *spot, uid_t uid, bool make)
{
	if (make && spot->owner == OWNER_ROOT && uid == 0)
		(void) mkdir(spot->base, 0755); /* a failure shows in the next line */
	_cleanup_fd_ int fd = open(spot->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = spot->owner == OWNER_ANYBODY ? 0 : check_owned(fd, spot->owner == OWNER_ROOT ? 0 : uid);
	return r < 0 ? r : TAKE_FD(fd);
}

static int open_spot(const struct spot *spot, const char *sub, uid_t uid, bool make)
{
	_cleanup_fd_ int base = open_base(spot, uid, make);

	if (base < 0)
		return base;
	_cleanup_fd_ int own = open_folder(base, spot->entry, uid, make);
	return own < 0 ? own : open_folder(own, sub, uid, make);
}

int statedir_open(const char *sub, struct err *err)
{
	_cleanup_buf_ struct buf tried = BUF_INIT(TRIED_MAX);
	uid_t uid = geteuid();
	struct spot spot;

	if (!str_is_name(sub, SUB_NAME_MAX))
		return err_set(err, ERR_SYSTEM, EINVAL, "'%s' is no name for a folder of state", sub);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (!locate(&places[i], uid, &spot))
			continue;
		int fd = open_spot(&spot, sub, uid, true);
		if (fd >= 0)
			return fd;
		buf_addf(&tried, "%s'%s/%s' (%s)", tried.len ? ", " : "", spot.base, spot.entry,
			 fd == -EPERM ? "another user owns it or may write to it" : strerror(-fd));
	}
	return err_set(err, ERR_SYSTEM, ENOENT,
		       "there is no safe folder to keep state in: tried %s. Set XDG_RUNTIME_DIR to a folder that is yours alone",
		       buf_cstr(&tried));
}

void statedir_make_for(uid_t uid, gid_t gid)
{
	char name[sizeof(((struct spot *) NULL)->entry)];
	struct stat st;

	(void) mkdir(ROOTS_OWN, 0755);
	_cleanup_fd_ int base = open(ROOTS_OWN, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (base < 0 || check_owned(base, 0) < 0)
		return;
	(void) snprintf(name, sizeof(name), "%u", uid);
	/* Nobody but root can make names here: what is there was made by a launch, which may have been killed in between. */
	(void) mkdirat(base, name, 0700);
	if (fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && st.st_uid != uid)
		IGNORE_RESULT(fchownat(base, name, uid, gid, AT_SYMLINK_NOFOLLOW)); /* statedir_open() tells */
}

/* What a visit has seen already: two places may be one folder. */
struct visit {
	const char *sub;
	statedir_visitor *call;
	void *userdata;
	struct {
		dev_t device;
		ino_t inode;
	} seen[SEEN_MAX];
	size_t count;
};

static bool seen_before(struct visit *v, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return true;
	for (size_t i = 0; i < v->count; i++)
		if (v->seen[i].device == st.st_dev && v->seen[i].inode == st.st_ino)
			return true;
	if (v->count < SEEN_MAX) {
		v->seen[v->count].device = st.st_dev;
		v->seen[v->count++].inode = st.st_ino;
	}
	return false;
}

static int visit_place(struct visit *v, const struct place *place, uid_t uid)
{
	_cleanup_buf_ struct buf path = BUF_INIT(STATEDIR_PATH_MAX);
	struct spot spot;

	if (!locate(place, uid, &spot))
		return 0;
	_cleanup_fd_ int fd = open_spot(&spot, v->sub, uid, false);
	if (fd < 0 || seen_before(v, fd))
		return 0;
	buf_addf(&path, "%s/%s/%s", spot.base, spot.entry, v->sub);
	return v->call(fd, uid, buf_cstr(&path), v->userdata);
}

/* Whether @name is @prefix with an id behind it. */
static bool match(const char *prefix, const char *name, uid_t *ret)
{
	size_t len = strlen(prefix);
	uint64_t uid;

	if (strncmp(name, prefix, len) != 0 || str_to_uint(name + len, 0, UINT32_MAX - 1, &uid) < 0)
		return false;
	*ret = (uid_t) uid;
	return true;
}

/* As root: the same place of every other user. The variable is the caller's own, and leads to nobody else's. */
static int visit_others(struct visit *v, const struct place *place)
{
	const char *dir = place->base.text;
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return 0;
	DIR *stream = opendir(dir);
	for (size_t n = 0; stream && r >= 0 && n < USERS_MAX && (entry = readdir(stream)); n++) {
		uid_t uid;
		if (match(place->entry.with_id ? place->entry.text : "", entry->d_name, &uid) && uid != geteuid())
			r = visit_place(v, place, uid);
	}
	if (stream)
		(void) closedir(stream);
	return r;
}

int statedir_visit(const char *sub, statedir_visitor *visit, void *userdata)
{
	struct visit v = { .sub = sub, .call = visit, .userdata = userdata };
	bool all = geteuid() == 0 && userns_is_host_root();
	int r = str_is_name(sub, SUB_NAME_MAX) ? 0 : -EINVAL;

	for (size_t i = 0; i < ARRAY_LEN(places) && r >= 0; i++)
		r = visit_place(&v, &places[i], geteuid());
	for (size_t i = 0; i < ARRAY_LEN(places) && r >= 0 && all; i++)
		r = visit_others(&v, &places[i]);
	return r < 0 ? r : 0;
}
