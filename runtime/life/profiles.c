/*
 * Finding and reading profiles: see profiles.h. Runs in the launcher, before anything is created.
 *
 * Who wrote a file decides how it is read. A file that the user names, or has among his own, is his word. The one in a workspace may
 * be the work of an agent: it is opened beneath the workspace, through no link, and only as a small regular file. Neither is parsed
 * here; cloche-compile does that, and what it answers goes through the checks of the command line.
 */
#include "runtime/life/profiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen/profiles.h"
#include "runtime/base/fd.h"
#include "runtime/base/opt.h"
#include "runtime/base/str.h"
#include "runtime/base/sysx.h"
#include "runtime/life/account.h"
#include "runtime/life/compile.h"
#include "runtime/life/workspace.h"
#include "runtime/spec/protected.h"

#define SUFFIX ".json"

void profile_done(struct profile *p)
{
	buf_done(&p->text);
}

const char *profile_description(const struct profile *p)
{
	return buf_cstr(&p->text);
}

const char *profile_next_option(const struct profile *p, const char *option)
{
	const char *next = option ? option : buf_cstr(&p->text);

	next += strlen(next) + 1;
	return next < p->text.p + p->text.len ? next : NULL;
}

/* --- files ------------------------------------------------------------------------------------------------------------- */

/* The form of what cloche-compile answered: strings, each with its end, the second one and all after it options with a value. */
static bool is_well_formed(const struct profile *p)
{
	if (p->text.len == 0 || p->text.p[p->text.len - 1] != '\0')
		return false;
	for (const char *o = profile_next_option(p, NULL); o; o = profile_next_option(p, o))
		if (strncmp(o, "--", 2) != 0 || !strchr(o, '='))
			return false;
	return true;
}

static int check_file(int fd, const char *shown, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_SYSTEM, errno, "the profile '%s' cannot be examined: %m", shown);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, EINVAL, "the profile '%s' is not a regular file", shown);
	if (st.st_size > PROFILES_FILE_MAX)
		return err_set(err, ERR_USAGE, EFBIG, "the profile '%s' is larger than %d bytes", shown, PROFILES_FILE_MAX);
	if (st.st_mode & S_IWOTH)
		return err_set(err, ERR_USAGE, EPERM, "the profile '%s' can be changed by everybody: chmod o-w '%s'", shown, shown);
	return 0;
}

/* What open(2) says about a profile at @shown, in words. */
static int cannot_open(const char *shown, int errnum, struct err *err)
{
	if (errnum == ELOOP)
		return err_set(err, ERR_USAGE, errnum, "the profile '%s' is a symbolic link, which is not followed here", shown);
	return err_set(err, ERR_USAGE, errnum, "the profile '%s' cannot be read: %m", shown);
}

/* Reads @fd, an open file, into @ret, which has its name already. */
static int load_open(int fd, struct profile *ret, struct err *err)
{
	int r = check_file(fd, ret->name, err);

	if (r < 0)
		return r;
	r = workspace_path_of(fd, ret->path);
	if (r < 0)
		return err_set(err, ERR_USAGE, -r, "the profile '%s' has no usable path: %m", ret->name);
	r = compile_run("profile", fd, ret->name, &ret->text, err);
	if (r < 0)
		return r;
	if (!is_well_formed(ret))
		return err_set(err, ERR_SYSTEM, EPROTO, "cloche-compile answered something that makes no sense for the profile '%s'",
			       ret->name);
	return 0;
}

static int load_file(const char *path, struct profile *ret, struct err *err)
{
	/* Not blocking: a FIFO would otherwise wait for a writer. */
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if ((size_t) snprintf(ret->name, sizeof(ret->name), "%s", path) >= sizeof(ret->name))
		return err_set(err, ERR_USAGE, ENAMETOOLONG, "the path of the profile is longer than %zu bytes", sizeof(ret->name) - 1);
	return fd < 0 ? cannot_open(path, errno, err) : load_open(fd, ret, err);
}

/* --- names ------------------------------------------------------------------------------------------------------------- */

/* The folder of the user's own profiles. 0, or -errno when there is no place for it. */
static int own_folder(struct buf *path)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	struct account account = { .home = "" };

	if ((!home || home[0] != '/') && account_find(geteuid(), &account))
		home = account.home;
	*path = (struct buf) BUF_INIT(SPEC_PATH_MAX - 1);
	if (config && config[0] == '/')
		buf_addf(path, "%s/cloche/profiles", config);
	else if (home && home[0] == '/')
		buf_addf(path, "%s/.config/cloche/profiles", home);
	return buf_error(path) || !path->len ? -ENOENT : 0;
}

static bool is_built_in(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(profile_builtin); i++)
		if (strcmp(name, profile_builtin[i].name) == 0)
			return true;
	return false;
}

static int no_such_profile(const char *name, const char *folder, struct err *err)
{
	const char *names[ARRAY_LEN(profile_builtin)];

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		names[i] = profile_builtin[i].name;
	const char *near = opt_nearest(name, names, ARRAY_LEN(names));
	if (near)
		return err_set(err, ERR_USAGE, ENOENT, "there is no profile '%s': did you mean '%s'? See: cloche profile ls", name, near);
	return err_set(err, ERR_USAGE, ENOENT,
		       "there is no profile '%s', neither built in nor as '%s/%s" SUFFIX "'. See: cloche profile ls (a file is named with "
		       "a slash, as in ./%s)", name, folder, name, name);
}

static int load_own(const char *name, struct profile *ret, struct err *err)
{
	_cleanup_buf_ struct buf path = BUF_INIT(0);

	if (own_folder(&path) < 0)
		return no_such_profile(name, "~/.config/cloche/profiles", err);
	size_t folder = path.len;
	buf_addf(&path, "/%s" SUFFIX, name);
	if (buf_error(&path) || access(path.p, F_OK) < 0) {
		buf_truncate(&path, folder);
		return no_such_profile(name, buf_cstr(&path), err);
	}
	int r = load_file(path.p, ret, err);
	if (r == 0)
		(void) snprintf(ret->name, sizeof(ret->name), "%s", name);
	return r;
}

static bool names_a_file(const char *what)
{
	size_t len = strlen(what), end = strlen(SUFFIX);

	return strchr(what, '/') || (len > end && strcmp(what + len - end, SUFFIX) == 0);
}

int profiles_load(const char *what, struct profile *ret, struct err *err)
{
	if (names_a_file(what))
		return load_file(what, ret, err);
	if (!str_is_name(what, SPEC_NAME_MAX))
		return err_set(err, ERR_USAGE, EINVAL,
			       "'%s' is not the name of a profile: use 1 to %d letters, digits, '_', '-' and '.', or a file's path with a slash",
			       what, SPEC_NAME_MAX);
	for (size_t i = 0; i < ARRAY_LEN(profile_builtin); i++) {
		if (strcmp(what, profile_builtin[i].name) != 0)
			continue;
		(void) snprintf(ret->name, sizeof(ret->name), "%s", what);
		buf_add(&ret->text, profile_builtin[i].strings, profile_builtin[i].size);
		return buf_error(&ret->text) ? err_set(err, ERR_SYSTEM, ENOMEM, "out of memory") : 0;
	}
	return load_own(what, ret, err);
}

/* The name of a user's own profile, from its file's: into @ret. False when it is none, or a built-in one that would hide it. */
static bool own_name(const char *file, char ret[static SPEC_NAME_MAX + 1])
{
	size_t len = strlen(file), end = strlen(SUFFIX);

	if (len <= end || len - end > SPEC_NAME_MAX || strcmp(file + len - end, SUFFIX) != 0)
		return false;
	memcpy(ret, file, len - end);
	ret[len - end] = '\0';
	return str_is_name(ret, SPEC_NAME_MAX) && !is_built_in(ret);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((const char *) a, (const char *) b);
}

static int visit_own(profiles_visitor *visit, void *userdata)
{
	static char names[PROFILES_USER_MAX][SPEC_NAME_MAX + 1];
	_cleanup_buf_ struct buf folder = BUF_INIT(0);
	size_t count = 0;
	DIR *dir = own_folder(&folder) < 0 ? NULL : opendir(folder.p);

	if (!dir)
		return 0; /* most have none */
	for (const struct dirent *entry; count < ARRAY_LEN(names) && (entry = readdir(dir));)
		if (own_name(entry->d_name, names[count]))
			count++;
	(void) closedir(dir);
	qsort(names, count, sizeof(names[0]), by_name);
	int r = 0;
	for (size_t i = 0; i < count && r >= 0; i++)
		r = visit(userdata, names[i], false);
	return r;
}

int profiles_visit(profiles_visitor *visit, void *userdata)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(profile_builtin) && r >= 0; i++)
		r = visit(userdata, profile_builtin[i].name, true);
	return r < 0 ? r : visit_own(visit, userdata);
}

/* --- the workspace ----------------------------------------------------------------------------------------------------- */

/* Opens the file in the root of the workspace with @flags. Descriptor or -errno (@err filled only for the workspace itself). */
static int open_in_workspace(const struct spec *spec, uint64_t flags, struct err *err)
{
	char canonical[SPEC_PATH_MAX];
	struct stat st;

	if (spec->workspace == SPEC_WORKSPACE_NONE)
		return -ENOENT;
	_cleanup_fd_ int folder = workspace_open(spec, canonical, &st, err);
	if (folder < 0)
		return folder;
	int fd = sysx_openat2(folder, PROFILES_WORKSPACE_FILE, flags | O_CLOEXEC, 0,
			      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
	return fd < 0 ? -errno : fd;
}

bool profiles_workspace_has_one(const struct spec *spec)
{
	_cleanup_fd_ int fd = open_in_workspace(spec, O_PATH, NULL);
	struct stat st;

	/* A folder there is a stand-in: the path is protected in another sandbox (rootfs/protected.list). */
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int profiles_load_workspace(const struct spec *spec, struct profile *ret, struct err *err)
{
	struct err unusable = { .code = ERR_NONE };
	_cleanup_fd_ int fd = open_in_workspace(spec, O_RDONLY | O_NONBLOCK | O_NOCTTY, &unusable);

	(void) snprintf(ret->name, sizeof(ret->name), "%s", PROFILES_WORKSPACE_FILE);
	if (unusable.code != ERR_NONE) {
		*err = unusable;
		return fd;
	}
	if (fd == -ENOENT)
		return err_set(err, ERR_USAGE, ENOENT,
			       "--workspace-profile was given, but the workspace has no '" PROFILES_WORKSPACE_FILE "'. Leave the option out, "
			       "or look who removed the file");
	return fd < 0 ? cannot_open(ret->name, -fd, err) : load_open(fd, ret, err);
}

/* The folder or file @shown that goes inside writable: does it hold the profile? */
static int check_holder(const struct profile *p, const char *shown, struct err *err)
{
	char holder[SPEC_PATH_MAX];
	_cleanup_fd_ int fd = open(shown, O_PATH | O_CLOEXEC);

	/* What cannot be opened is refused later, with its own words. */
	if (fd < 0 || workspace_path_of(fd, holder) < 0 || (strcmp(holder, "/") != 0 && !protected_is_below(p->path, holder)))
		return 0;
	return err_set(err, ERR_USAGE, EPERM,
		       "the profile '%s' lies in '%s', which the sandbox may write: an agent could change what the next one is allowed. Move "
		       "it out. (A " PROFILES_WORKSPACE_FILE " in the workspace may only narrow: --workspace-profile)", p->name, shown);
}

int profiles_check_place(const struct profile *p, const struct spec *spec, struct err *err)
{
	int r = 0;

	if (!p->path[0])
		return 0;
	if (spec->workspace != SPEC_WORKSPACE_NONE && !spec->workspace_read_only)
		r = check_holder(p, spec->workspace == SPEC_WORKSPACE_PATH ? spec->workspace_path : ".", err);
	for (size_t i = 0; i < spec->mount_count && r == 0; i++)
		if (spec->mounts[i].kind == SPEC_BIND && !spec->mounts[i].read_only)
			r = check_holder(p, spec->mounts[i].source, err);
	return r;
}
