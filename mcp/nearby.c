/*
 * Names much like a missing one: see nearby.h. Runs in cloche-mcp, on a worker thread, without any capability.
 */
#include "mcp/nearby.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/dirlist.h"
#include "mcp/text.h"
#include "mcp/tool.h"
#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/opt.h"

enum {
	NEARBY_NAMES_MAX = 4096, /* of a directory that are compared */
	NEARBY_NAME_MIN = 3,     /* bytes; of shorter names every other is a neighbour */
};

/* Whether a message shows @name as it is, so that who reads it can give it back. */
static bool can_be_said(const char *name)
{
	return strlen(name) <= WS_SHOWN_MAX && text_can_be_shown(name);
}

/* The name in the directory @dir that is most like @name, copied to @ret. */
static bool nearest_in(const struct tool_call *call, int dir, const char *name, char ret[static WS_NAME_MAX + 1])
{
	_cleanup_dirlist_ struct dirlist list = { .entry = NULL };
	const char **names = NULL, *near = NULL;

	int r = dirlist_read(&list, dir, false, call->cancelled);
	size_t count = r < 0 ? 0 : MIN(list.count, (size_t) NEARBY_NAMES_MAX);
	if (count > 0)
		names = calloc(count, sizeof(*names));
	size_t sayable = 0;
	for (size_t i = 0; names && i < count; i++)
		if (can_be_said(list.entry[i].name))
			names[sayable++] = list.entry[i].name;
	if (names)
		near = opt_nearest(name, names, sayable);
	if (near)
		memcpy(ret, near, strlen(near) + 1); /* a name has at most WS_NAME_MAX bytes */
	free(names);
	return near != NULL;
}

/* Makes the path of @near in the directory @dir ("" is the workspace), with @rest behind it. True when it is there. */
static bool make_path(const struct tool_call *call, const struct buf *dir, const char *near, const char *rest, char ret[static WS_PATH_MAX])
{
	_cleanup_buf_ struct buf path = BUF_INIT(WS_PATH_MAX - 1);

	buf_addf(&path, "%s%s%s%s", buf_cstr(dir), dir->len > 0 ? "/" : "", near, rest);
	if (buf_error(&path))
		return false;
	memcpy(ret, path.p, path.len + 1);
	_cleanup_fd_ int fd = ws_open_target(call, ret, O_PATH);
	return fd >= 0;
}

/* The length of the path of the directory that holds the last of the @len bytes of @path; 0 for the workspace itself. */
static size_t parent_length(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return slash ? (size_t) (slash - path) : 0;
}

bool nearby_find(const struct tool_call *call, const char *path, char ret[static WS_PATH_MAX])
{
	char name[WS_NAME_MAX + 1], near[WS_NAME_MAX + 1];
	size_t up, end = strnlen(path, WS_PATH_MAX);

	for (; end > 0 && end < WS_PATH_MAX; end = up) {
		_cleanup_buf_ struct buf dir = BUF_INIT(WS_PATH_MAX);

		up = parent_length(path, end);
		buf_add(&dir, path, up);
		_cleanup_fd_ int fd = ws_open_target(call, up > 0 ? buf_cstr(&dir) : ".", O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			continue;
		size_t begin = up > 0 ? up + 1 : 0, len = end - begin;
		if (len < NEARBY_NAME_MIN || len > WS_NAME_MAX)
			return false;
		memcpy(name, path + begin, len);
		name[len] = '\0';
		if (!nearest_in(call, TAKE_FD(fd), name, near))
			return false;
		return (path[end] && make_path(call, &dir, near, path + end, ret)) || make_path(call, &dir, near, "", ret);
	}
	return false;
}
