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
	LIST_SHOWN_MAX = 2000, /* entries of one answer */
	LIST_NOTE_MAX = 512,   /* bytes kept free for the last line, and for the name that is added last */
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

/* Adds an entry; false when the answer has no room for it. */
static bool add_entry(struct tool_call *call, const struct dirlist_entry *e, size_t shown)
{
	size_t before = call->text.len, max = (size_t) call->config->max_answer_chars - LIST_NOTE_MAX;

	buf_add_str(&call->text, shown ? "\n" : "");
	buf_add_str(&call->text, e->kind == DIRLIST_DIR ? "[D] " : "[F] ");
	text_add_name(&call->text, e->name);
	if (shown == 0 || call->text.len <= max)
		return true;
	buf_truncate(&call->text, before);
	return false;
}

/* Adds entries, directories first, both sorted, without the first @skip. Returns how many. */
static size_t add_entries(struct tool_call *call, const struct dirlist *d, size_t skip)
{
	size_t at = 0, shown = 0;

	for (int dirs = 1; dirs >= 0; dirs--) {
		for (size_t i = 0; i < d->count; i++) {
			if ((d->entry[i].kind == DIRLIST_DIR) != dirs || at++ < skip)
				continue;
			if (shown == LIST_SHOWN_MAX || !add_entry(call, &d->entry[i], shown))
				return shown;
			shown++;
		}
	}
	return shown;
}

static void list(struct tool_call *call, const char *dir, struct dirlist *d)
{
	size_t skip = (size_t) tool_arg_int(call, "offset");

	for (size_t i = 0; i < d->count; i++)
		if (d->entry[i].kind == DIRLIST_LINK && leads_to_directory(call, dir, d->entry[i].name))
			d->entry[i].kind = DIRLIST_DIR;
	size_t shown = add_entries(call, d, skip);
	if (shown == 0)
		buf_addf(&call->text, "No entries from offset %zu on: there are %zu.", skip, d->count);
	else if (skip + shown < d->count)
		buf_addf(&call->text, "\n[list truncated: entries %zu to %zu of %zu%s are shown. To go on, call list_directory with the same path and "
				      "offset %zu.]", skip + 1, skip + shown, d->count, d->cut ? " or more" : "", skip + shown);
	else if (d->cut)
		buf_addf(&call->text, "\n[list truncated: the directory has more than the %zu entries that this tool can list. Use run_bash with "
				      "ls and grep.]", d->count);
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
		"Lists what is directly inside one directory of the workspace. "
		"Each line is \"[D] name\" for a directory or \"[F] name\" for anything else; directories come first, both sorted. "
		"It does not go into subdirectories: use search_workspace to find files at any depth. "
		"Left out are .git, .venv, .venv_container, .mcp, __pycache__ and .ruff_cache.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"path\":{\"type\":\"string\",\"default\":\".\",\"description\":\"Directory, relative to the workspace, such as src/lib.\"},"
		"\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,\"description\":\"Entries to skip, where a list was cut.\"}"
		"},\"additionalProperties\":false}",
	.read_only = true,
	.idempotent = true,
	.mode = TOOL_WORKER,
	.run = run,
};
