/*
 * Resolving paths of the client inside the workspace: see ws.h. Runs in cloche-mcp, on any thread, without any
 * capability.
 *
 * The kernel refuses absolute links below RESOLVE_BENEATH, also those that lead back into the workspace by its name.
 * For these, and to find the place of a file that does not exist yet, expand() follows the links one by one and yields
 * a path without any. That path is only a proposal: it is opened with openat2(2) again, so a link swapped in meanwhile
 * gains nothing.
 */
#include "mcp/ws.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "mcp/atomic.h"
#include "mcp/explain.h"
#include "mcp/nearby.h"
#include "mcp/tool.h"
#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/base/utf8.h"
#include "runtime/base/wall.h"
#include "runtime/spec/protected.h"

enum { WS_ALWAYS = O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

/* The only way into the workspace. Descriptor or -errno. */
static int open_beneath(int root_fd, const char *rel, int flags, uint64_t resolve)
{
	resolve |= wall_stands(WALL_BENEATH) ? RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS : 0;
	/* With O_PATH the kernel refuses flags that make no sense for it. */
	flags |= flags & O_PATH ? O_CLOEXEC : WS_ALWAYS;
	for (int i = 0; i < WS_RETRY_MAX; i++) {
		int fd = sysx_openat2(root_fd, rel, (uint64_t) flags, 0, resolve);

		if (fd >= 0)
			return fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

int ws_open_entry(const struct tool_call *call, const char *rel, int flags)
{
	return open_beneath(call->root_fd, rel, flags, RESOLVE_NO_SYMLINKS);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

struct ws_shown ws_show(const char *path)
{
	struct ws_shown shown;
	size_t len = strnlen(path, WS_SHOWN_MAX + 1), n = len;

	if (len > WS_SHOWN_MAX)
		n = utf8_floor(path, WS_SHOWN_MAX);
	for (size_t i = 0; i < n; i++)
		shown.s[i] = (unsigned char) path[i] < 0x20 || path[i] == 0x7F ? '?' : path[i];
	memcpy(shown.s + n, len > n ? "..." : "", len > n ? 4 : 1);
	return shown;
}

struct reason {
	int errnum;
	const char *text; /* goes behind "File 'x' " */
};

static const struct reason reasons[] = {
	{ ENOENT, "not found. Use list_directory or search_workspace to see what is there" },
	{ ENOTDIR, "not found: a part of the path before its end is a file, not a directory. Use list_directory to see "
		   "what is there" },
	{ EXDEV, "is outside the workspace boundary: only paths that stay in the workspace can be used, also through "
		 "symbolic links. Give a path relative to the workspace, such as src/main.c" },
	{ ELOOP, "cannot be resolved: its symbolic links lead in a circle, or there are too many. Use the path of the "
		 "file itself" },
	{ EACCES, "cannot be used: permission denied. Look at its permissions with run_bash and ls -l" },
	{ EPERM, "cannot be used: the operation is not permitted on it" },
	{ ENAMETOOLONG, "cannot be used: a name may have 255 bytes and a path 4095. Use shorter names" },
	{ ENOSPC,
	  "cannot be written: no space is left. Remove files that are not needed and try again; nothing was changed" },
	{ EDQUOT, "cannot be written: the disk quota is used up. Remove files that are not needed and try again; "
		  "nothing was changed" },
	{ EFBIG, "cannot be written: it is larger than the file system allows" },
	{ EMFILE, "cannot be opened now: the server has too many files open. Try again in a moment" },
	{ ENFILE, "cannot be opened now: the system has too many files open. Try again in a moment" },
	{ ENOMEM, "cannot be used now: out of memory. Try again with less at once" },
	{ EAGAIN, "cannot be resolved: the directories on its path change all the time. Try again in a moment" },
	{ ESTALE, "was changed by something else while this call worked on it; nothing was written. Read it again and "
		  "repeat the call" },
	{ ENXIO, "cannot be read: it is a socket or device, not a regular file" },
	{ ENODEV, "cannot be read: it is a device, not a regular file" },
	{ EIO, "cannot be used: the disk reports an error" },
	{ ENOSYS, "cannot be opened safely: this kernel has no openat2(2); Linux 5.6 or newer is needed" },
	{ EISDIR, "is a directory. Use list_directory to see what is in it" },
	{ EEXIST, "already exists" },
};

/* The part of the absolute path @path below the workspace's name, or NULL when it is not below. */
static const char *below_root(const struct tool_call *call, const char *path)
{
	const char *root = call->config->root_name;
	size_t len = strlen(root);

	if (strncmp(path, root, len) != 0 || (path[len] != '\0' && path[len] != '/'))
		return NULL;
	path += len;
	return path + strspn(path, "/");
}

/* Names something that is there and much like @path. False when there is nothing of the kind. */
static bool propose(struct tool_call *call, const char *what, const char *path)
{
	const char *rel = path[0] == '/' ? below_root(call, path) : path;
	char near[WS_PATH_MAX];

	if (!rel || !nearby_find(call, rel, near) || strlen(near) > WS_SHOWN_MAX)
		return false;
	tool_fail(call, "%s '%s' not found. Did you mean '%s'? If not, use list_directory or search_workspace to see what is there.", what,
		  ws_show(path).s, ws_show(near).s);
	return true;
}

int ws_fail(struct tool_call *call, const char *what, const char *path, int errnum)
{
	const char *text = "cannot be used: the file system refused it. Look at it with run_bash and ls -l";

	/* A folder holds the place of a protected name that does not exist. */
	bool is_held = errnum == EISDIR && call->facts->has_mounts && protected_find(path + (strncmp(path, "./", 2) ? 0 : 2));
	const char *denied = explain_path(call->facts, is_held ? EROFS : errnum);

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].errnum == errnum)
			text = reasons[i].text;
	if (denied)
		text = denied;
	if (errnum != ENOENT || !propose(call, what, path))
		tool_fail(call, "%s '%s' %s.", what, ws_show(path).s, text);
	return -errnum;
}

int ws_fail_type(struct tool_call *call, const char *path, const struct stat *st)
{
	const char *type = "device";

	if (S_ISDIR(st->st_mode))
		return ws_fail(call, "Path", path, EISDIR);
	if (S_ISFIFO(st->st_mode))
		type = "named pipe";
	else if (S_ISSOCK(st->st_mode))
		type = "socket";
	else if (S_ISLNK(st->st_mode))
		type = "symbolic link";
	tool_fail(call, "File '%s' is a %s: only regular files can be read and written.", ws_show(path).s, type);
	return -EINVAL;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

const char *ws_relative(struct tool_call *call, const char *path)
{
	const char *rel = path;

	if (strnlen(path, WS_PATH_MAX) == WS_PATH_MAX) {
		(void) ws_fail(call, "Path", path, ENAMETOOLONG);
		return NULL;
	}
	if (path[0] == '/') {
		rel = below_root(call, path);
		if (!rel) {
			(void) ws_fail(call, "Path", path, EXDEV);
			return NULL;
		}
	}
	return rel[0] ? rel : ".";
}

/* A path on its way from links to none. */
struct expansion {
	const struct tool_call *call;
	char done[WS_PATH_MAX]; /* no links in it; "" is the workspace */
	char rest[WS_PATH_MAX]; /* still to be walked */
	bool missing;           /* @done does not exist */
	int links;
	ws_step_fn step; /* or NULL */
	void *data;
};

/* Moves the first component of @rest into @name. False when there is none. */
static bool next_component(struct expansion *x, char name[static WS_NAME_MAX + 1], int *ret_error)
{
	size_t skip = strspn(x->rest, "/"), len = strcspn(x->rest + skip, "/");

	*ret_error = len > WS_NAME_MAX ? -ENAMETOOLONG : 0;
	if (len == 0 || len > WS_NAME_MAX)
		return false;
	memcpy(name, x->rest + skip, len);
	name[len] = '\0';
	memmove(x->rest, x->rest + skip + len, strlen(x->rest + skip + len) + 1);
	return true;
}

static int go_up(struct expansion *x)
{
	char *slash = strrchr(x->done, '/');

	if (x->done[0] == '\0')
		return -EXDEV;
	*(slash ? slash : x->done) = '\0';
	/* Leaving what does not exist: whether the directory above does is found out with the next name. */
	x->missing = false;
	return 0;
}

/* Puts the target of the link @fd in front of @rest. The link was the last component of @done. */
static int follow(struct expansion *x, int fd)
{
	char target[WS_PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	if (n == 0 || (size_t) n >= sizeof(target) - 1)
		return -ENAMETOOLONG;
	if (++x->links > WS_LINKS_MAX)
		return -ELOOP;
	target[n] = '\0';
	const char *rel = target;
	int r = go_up(x);
	if (target[0] == '/') {
		rel = below_root(x->call, target);
		x->done[0] = '\0';
		r = rel ? 0 : -EXDEV;
	}
	if (r < 0)
		return r;
	size_t front = strlen(rel), behind = strlen(x->rest);
	if (front + 1 + behind >= sizeof(x->rest))
		return -ENAMETOOLONG;
	memmove(x->rest + front + 1, x->rest, behind + 1);
	memcpy(x->rest, rel, front);
	x->rest[front] = '/';
	return 0;
}

/* Tells @step that @name will be looked up in @done. */
static int tell_step(const struct expansion *x, const char *name)
{
	if (!x->step || x->missing)
		return 0;
	_cleanup_fd_ int fd = open_beneath(x->call->root_fd, x->done[0] ? x->done : ".", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	return fd < 0 ? fd : x->step(x->data, fd, name);
}

/* Appends @name to @done and looks at what is there. */
static int enter(struct expansion *x, const char *name)
{
	size_t len = strlen(x->done), add = strlen(name);

	if (len + 1 + add + 1 > sizeof(x->done))
		return -ENAMETOOLONG;
	int r = tell_step(x, name);
	if (r < 0)
		return r == -ELOOP ? -EAGAIN : r;
	if (len > 0)
		x->done[len++] = '/';
	memcpy(x->done + len, name, add + 1);
	if (x->missing)
		return 0;
	_cleanup_fd_ int fd = open_beneath(x->call->root_fd, x->done, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	if (fd == -ENOENT) {
		x->missing = true;
		return 0;
	}
	if (fd < 0)
		return fd == -ELOOP ? -EAGAIN : fd; /* a directory became a link since the last step */
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISLNK(st.st_mode) ? follow(x, fd) : 0;
}

/* Turns @rel into a path without links; what does not exist (the end of it) is taken as it is. 0 or -errno. */
static int expand(struct expansion *x, const char *rel)
{
	char name[WS_NAME_MAX + 1];
	int r;

	memcpy(x->rest, rel, strlen(rel) + 1);
	while (next_component(x, name, &r)) {
		if (strcmp(name, ".") == 0)
			continue;
		r = strcmp(name, "..") == 0 ? go_up(x) : enter(x, name);
		if (r < 0)
			return r;
	}
	return r;
}

int ws_open_target(const struct tool_call *call, const char *rel, int flags)
{
	int fd = open_beneath(call->root_fd, rel, flags, 0);

	if (fd != -EXDEV)
		return fd;
	struct expansion x = { .call = call };
	int r = expand(&x, rel);
	return r < 0 ? r : open_beneath(call->root_fd, x.done[0] ? x.done : ".", flags, RESOLVE_NO_SYMLINKS);
}

int ws_walk(const struct tool_call *call, const char *rel, ws_step_fn step, void *data)
{
	struct expansion x = { .call = call, .step = step, .data = data };
	int r = expand(&x, rel);

	return r < 0 ? r : open_beneath(call->root_fd, x.done[0] ? x.done : ".", O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

int ws_open(struct tool_call *call, const char *what, const char *path, int flags)
{
	const char *rel = ws_relative(call, path);

	if (!rel)
		return -EXDEV;
	int fd = ws_open_target(call, rel, flags);
	return fd < 0 ? ws_fail(call, what, path, -fd) : fd;
}

int ws_open_file(struct tool_call *call, const char *path, struct stat *ret_st)
{
	_cleanup_fd_ int fd = ws_open(call, "File", path, O_RDONLY);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0)
		return ws_fail(call, "File", path, errno);
	if (!S_ISREG(ret_st->st_mode))
		return ws_fail_type(call, path, ret_st);
	return TAKE_FD(fd);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static bool names_directory(const char *rel)
{
	const char *slash = strrchr(rel, '/'), *last = slash ? slash + 1 : rel;

	return last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
}

int ws_place_find(struct tool_call *call, const char *path, struct ws_place *place)
{
	const char *rel = ws_relative(call, path);
	struct expansion x = { .call = call };

	*place = (struct ws_place) WS_PLACE_INIT;
	if (!rel)
		return -EXDEV;
	int r = expand(&x, rel);
	if (r < 0)
		return ws_fail(call, "Path", path, -r);
	place->is_dir = names_directory(rel);
	memcpy(place->path, x.done, strlen(x.done) + 1);
	char *slash = strrchr(x.done, '/');
	const char *name = slash ? slash + 1 : x.done;
	memcpy(place->name, name, strlen(name) + 1);
	*(slash ? slash : x.done) = '\0';
	int fd = open_beneath(call->root_fd, x.done[0] ? x.done : ".", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	if (fd < 0 && fd != -ENOENT)
		return ws_fail(call, "Path", path, -fd);
	place->dir_fd = fd < 0 ? -EBADF : fd;
	return 0;
}

void ws_place_done(struct ws_place *place)
{
	place->dir_fd = fd_close(place->dir_fd);
}

int ws_place_stat(const struct ws_place *place, struct stat *ret_st)
{
	if (place->dir_fd < 0)
		return -ENOENT;
	int r = place->name[0] ? fstatat(place->dir_fd, place->name, ret_st, AT_SYMLINK_NOFOLLOW)
			       : fstat(place->dir_fd, ret_st);
	return r < 0 ? -errno : 0;
}

int ws_place_check_writable(const struct ws_place *place)
{
	_cleanup_fd_ int fd = place->dir_fd < 0 || !place->name[0] ? -EBADF
								   : openat(place->dir_fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statvfs st;

	return fd >= 0 && fstatvfs(fd, &st) == 0 && (st.f_flag & ST_RDONLY) ? -EROFS : 0;
}

/* Makes (or opens) the directory that is the first @len bytes of the place's path, below the open @parent. */
static int make_directory(struct tool_call *call, struct ws_place *place, size_t len, int parent)
{
	char prefix[WS_PATH_MAX];

	memcpy(prefix, place->path, len);
	prefix[len] = '\0';
	int fd = open_beneath(call->root_fd, prefix, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	if (fd != -ENOENT)
		return fd;
	const char *slash = strrchr(prefix, '/');
	if (mkdirat(parent, slash ? slash + 1 : prefix, 0777) == 0)
		place->made++;
	else if (errno != EEXIST) /* somebody else made it: as good */
		return -errno;
	return open_beneath(call->root_fd, prefix, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

int ws_place_make(struct tool_call *call, const char *path, struct ws_place *place)
{
	if (place->dir_fd >= 0)
		return 0;
	_cleanup_fd_ int fd = open_beneath(call->root_fd, ".", O_PATH | O_DIRECTORY, 0);
	for (const char *slash = strchr(place->path, '/'); slash && fd >= 0; slash = strchr(slash + 1, '/')) {
		int next = make_directory(call, place, (size_t) (slash - place->path), fd);
		(void) fd_close(fd);
		fd = next;
	}
	if (fd < 0)
		return ws_fail(call, "Path", path, fd == -ELOOP ? EAGAIN : -fd);
	place->dir_fd = TAKE_FD(fd);
	return 0;
}

void ws_place_unmake(struct tool_call *call, struct ws_place *place)
{
	char prefix[WS_PATH_MAX];

	place->dir_fd = fd_close(place->dir_fd);
	memcpy(prefix, place->path, strlen(place->path) + 1);
	for (; place->made > 0; place->made--) {
		char *slash = strrchr(prefix, '/');
		if (!slash)
			return;
		*slash = '\0';
		char *parent_end = strrchr(prefix, '/');
		const char *name = parent_end ? parent_end + 1 : prefix;
		if (parent_end)
			*parent_end = '\0';
		_cleanup_fd_ int fd = open_beneath(call->root_fd, parent_end ? prefix : ".", O_PATH | O_DIRECTORY,
						   RESOLVE_NO_SYMLINKS);
		if (fd < 0 || unlinkat(fd, name, AT_REMOVEDIR) < 0)
			return; /* in use by now: then it stays */
		if (parent_end)
			*parent_end = '/';
	}
}

bool ws_is_hidden_name(const char *name)
{
	static const char *const hidden[] = {
		".git", ".venv", ".venv_container", ".mcp", "__pycache__", ".ruff_cache"
	};

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (strcmp(name, hidden[i]) == 0)
			return true;
	return atomic_is_temp_name(name);
}
