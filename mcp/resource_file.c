/*
 * Files and directories as resources: see resource_file.h. Runs on a worker thread of cloche-mcp, without any capability.
 */
#include "mcp/resource_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "mcp/base64.h"
#include "mcp/dirlist.h"
#include "mcp/mime.h"
#include "mcp/text.h"
#include "mcp/ws.h"
#include "runtime/base/fd.h"
#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"

enum {
	NAMES_MAX = 5000,            /* of one directory */
	NAMES_BYTES_MAX = 100 * 1024,
};

void resource_content_done(struct resource_content *content)
{
	buf_done(&content->bytes);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static int64_t size_max(const struct tool_call *call)
{
	return MIN(call->config->max_read_bytes, (int64_t) RESOURCE_BYTES_MAX);
}

static int fail_size(struct tool_call *call, const char *path)
{
	tool_fail(call, "File '%s' has more than %lld bytes, the most that a resource may have here. Read it in parts with the tool "
			"read_file, or search in it with search_workspace.",
		  ws_show(path).s, (long long) size_max(call));
	return -EFBIG;
}

static int read_file(struct tool_call *call, const char *path, int fd, const struct stat *st, struct resource_content *ret)
{
	if (st->st_size > size_max(call))
		return fail_size(call, path);
	/* One byte more than may be there, to see whether it has grown meanwhile. */
	ret->bytes.max = (size_t) size_max(call) + 1;
	int r = buf_read_fd(&ret->bytes, fd);
	if (r == -EFBIG)
		return fail_size(call, path);
	if (r < 0)
		return ws_fail(call, "File", path, -r);
	if (tool_is_cancelled(call))
		return -ECANCELED;
	const char *s = buf_cstr(&ret->bytes);
	ret->is_text = !memchr(s, '\0', ret->bytes.len) && utf8_is_valid(s, ret->bytes.len);
	ret->type = mime_of(path, s, ret->bytes.len, ret->is_text);
	return 0;
}

/* --- directories -------------------------------------------------------------------------------------------------- */

static int read_directory(struct tool_call *call, const char *path, int fd, struct resource_content *ret)
{
	_cleanup_dirlist_ struct dirlist d = { .entry = NULL };
	size_t shown = 0;
	int r = dirlist_read(&d, fd, false, call->cancelled);

	if (r < 0)
		return ws_fail(call, "Directory", path, -r);
	for (; shown < MIN(d.count, (size_t) NAMES_MAX) && ret->bytes.len < NAMES_BYTES_MAX; shown++) {
		text_add_name(&ret->bytes, d.entry[shown].name);
		buf_add_str(&ret->bytes, d.entry[shown].kind == DIRLIST_DIR ? "/\n" : "\n");
	}
	if (shown < d.count || d.cut)
		buf_addf(&ret->bytes, "[%zu of %zu%s entries shown. Use search_workspace with a pattern to find others.]\n", shown, d.count,
			 d.cut ? " or more" : "");
	ret->is_text = true;
	ret->type = MIME_DIRECTORY;
	return buf_error(&ret->bytes) ? ws_fail(call, "Directory", path, ENOMEM) : 0;
}

/* --- both --------------------------------------------------------------------------------------------------------- */

int resource_read_path(struct tool_call *call, const char *path, struct resource_content *ret)
{
	_cleanup_fd_ int fd = ws_open(call, "File", path, O_RDONLY);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ws_fail(call, "File", path, errno);
	if (S_ISDIR(st.st_mode))
		return read_directory(call, path, TAKE_FD(fd), ret);
	if (!S_ISREG(st.st_mode))
		return ws_fail_type(call, path, &st);
	return read_file(call, path, fd, &st, ret);
}

void resource_write_content(struct buf *b, const char *uri, const struct resource_content *content)
{
	const char *bytes = buf_cstr(&content->bytes);

	buf_add_str(b, "{\"uri\":");
	jsonw_str(b, uri);
	buf_add_str(b, ",\"mimeType\":");
	jsonw_str(b, content->type);
	if (content->is_text) {
		buf_add_str(b, ",\"text\":");
		jsonw_string(b, bytes, content->bytes.len);
	} else {
		buf_add_str(b, ",\"blob\":\"");
		base64_add(b, bytes, content->bytes.len);
		buf_add_char(b, '"');
	}
	buf_add_char(b, '}');
}
