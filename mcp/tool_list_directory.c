/*
 * list_directory: what is in a directory of the workspace. Runs on a worker thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "mcp/dirlist.h"
#include "mcp/text.h"
#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/fd.h"

enum {
	LIST_SHOWN_MAX = 2000,      /* entries of one answer */
	LIST_TEXT_MAX = 100 * 1024, /* bytes of one answer */
};

/* Whether the link @name in @dir leads to a directory of the workspace. */
static bool leads_to_directory(const struct tool_call *call, const char *dir, const char *name)
{
	char path[WS_PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (len < 0 || (size_t) len >= sizeof(path))
		return false;
	_cleanup_fd_ int fd = ws_open_target(call, path, O_PATH | O_DIRECTORY);
	return fd >= 0;
}

static void list(struct tool_call *call, const char *dir, struct dirlist *d)
{
	size_t shown = 0;

	for (size_t i = 0; i < d->count; i++)
		if (d->entry[i].kind == DIRLIST_LINK && leads_to_directory(call, dir, d->entry[i].name))
			d->entry[i].kind = DIRLIST_DIR;
	/* Two passes: directories first, both sorted. */
	for (int dirs = 1; dirs >= 0; dirs--) {
		for (size_t i = 0; i < d->count; i++) {
			if ((d->entry[i].kind == DIRLIST_DIR) != dirs)
				continue;
			if (shown == LIST_SHOWN_MAX || call->text.len > LIST_TEXT_MAX)
				break;
			buf_add_str(&call->text, shown++ ? "\n" : "");
			buf_add_str(&call->text, dirs ? "[D] " : "[F] ");
			text_add_name(&call->text, d->entry[i].name);
		}
	}
	if (shown < d->count || d->cut)
		buf_addf(&call->text,
			 "\n[list truncated: %zu of %zu%s entries shown, directories first. Use search_workspace with "
			 "a pattern, or run_bash with ls and head, to see the others.]",
			 shown, d->count, d->cut ? " or more" : "");
}

static void run(struct tool_call *call)
{
	const char *path = tool_arg_str(call, "path"), *rel = ws_relative(call, path);
	_cleanup_dirlist_ struct dirlist d = { .entry = NULL };
	struct stat st;

	if (!rel)
		return;
	_cleanup_fd_ int fd = ws_open(call, "Path", path, O_RDONLY);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)) {
		tool_fail(call, "Path '%s' is not a directory. Use read_file to see what is in a file.",
			  ws_show(path).s);
		return;
	}
	int r = dirlist_read(&d, TAKE_FD(fd), false, call->cancelled);
	if (r < 0) {
		(void) ws_fail(call, "Path", path, -r);
		return;
	}
	tool_summary(call, "%zu entries", d.count);
	if (d.count == 0)
		buf_add_str(&call->text, "Directory is empty.");
	else
		list(call, rel, &d);
}

const struct mcp_tool tool_list_directory = {
	.name = "list_directory",
	.title = "List Directory",
	.description =
		"Lists the files and directories directly inside one directory of the workspace. "
		"Each line is one entry, \"[D] name\" for a directory and \"[F] name\" for anything else; "
		"directories come first, both in alphabetical order. "
		"It does not go into subdirectories: use search_workspace to find files by name at any depth. "
		"The names .git, .venv, .venv_container, .mcp, __pycache__ and .ruff_cache are left out. "
		"At most 2000 entries are shown, and a last line tells when there are more.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"path\":{\"type\":\"string\",\"default\":\".\",\"description\":\"Directory to list, relative to "
		"the workspace, such as src or src/lib. Default: the workspace itself.\"}"
		"},\"additionalProperties\":false}",
	.read_only = true,
	.idempotent = true,
	.mode = TOOL_WORKER,
	.run = run,
};
