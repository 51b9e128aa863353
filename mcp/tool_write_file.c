/*
 * write_file: a whole file at once. Runs on a worker thread.
 *
 * Everything that can refuse comes before the first change; directories that were made for a write that fails after all
 * are removed again.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "mcp/atomic.h"
#include "mcp/check.h"
#include "mcp/slurp.h"
#include "mcp/tool.h"
#include "mcp/ws.h"

enum { WRITE_NOTES_MAX = 2048 };

struct write {
	struct tool_call *call;
	const char *path;
	struct buf content; /* borrowed from the arguments */
	struct ws_place place;
	bool exists;
	struct stat old;
	struct buf before; /* the old content, where the gate needs it */
	struct buf notes;
};

static void write_done(struct write *w)
{
	ws_place_done(&w->place);
	buf_done(&w->before);
	buf_done(&w->notes);
}

/* False with the call failed. */
static bool check_target(struct write *w, bool create_only)
{
	int64_t max = w->call->config->max_write_bytes;

	if ((uint64_t) w->content.len > (uint64_t) MAX(max, (int64_t) 0)) {
		tool_fail(w->call,
			  "The content has %zu bytes, which exceeds MAX_WRITE_SIZE_BYTES (%lld). Write it in parts: "
			  "the first with write_file, the others with run_bash.",
			  w->content.len, (long long) max);
		return false;
	}
	int r = ws_place_stat(&w->place, &w->old);
	if (r < 0 && r != -ENOENT) {
		(void) ws_fail(w->call, "File", w->path, -r);
		return false;
	}
	w->exists = r == 0;
	/* Said first, since nothing else that could be wrong can be repaired; a protected path may be an empty folder in its place. */
	if (w->exists && ws_place_check_writable(&w->place) < 0) {
		(void) ws_fail(w->call, "File", w->path, EROFS);
		return false;
	}
	if (w->exists && create_only) {
		tool_fail(w->call,
			  "'%s' already exists and was not changed. Use search_and_replace to change a part of it, or "
			  "set create_only to false to replace the whole file.",
			  ws_show(w->path).s);
		return false;
	}
	if (w->exists && !S_ISREG(w->old.st_mode)) {
		(void) ws_fail_type(w->call, w->path, &w->old);
		return false;
	}
	if (w->place.is_dir) {
		tool_fail(w->call,
			  "Path '%s' names a directory. Give the path of a file, without a slash at its end; missing "
			  "directories are made.",
			  ws_show(w->path).s);
		return false;
	}
	return true;
}

static bool check_syntax(struct write *w)
{
	bool known = w->exists && check_applies(w->path) && slurp_place(&w->place, &w->before, NULL) == 0;

	return check_gate(w->call, w->path, known ? &w->before : NULL, &w->content, &w->notes);
}

static void store(struct write *w)
{
	struct tool_call *call = w->call;

	if (ws_place_make(call, w->path, &w->place) < 0) {
		ws_place_unmake(call, &w->place);
		return;
	}
	int r = atomic_write(w->place.dir_fd, w->place.name, w->content.p, w->content.len, w->exists ? &w->old : NULL);
	if (r < 0) {
		ws_place_unmake(call, &w->place);
		(void) ws_fail(call, "File", w->path, -r);
		return;
	}
	buf_addf(&call->text, "Successfully wrote %zu bytes to %s", w->content.len, ws_show(w->path).s);
	if (w->exists && w->old.st_nlink > 1)
		buf_add_str(&call->text, "\nNote: the file had other hard links; they keep the old content.");
	buf_add(&call->text, w->notes.p, w->notes.len);
}

static void run(struct tool_call *call)
{
	_cleanup_(write_done) struct write w = {
		.call = call,
		.path = tool_arg_str(call, "filepath"),
		.place = WS_PLACE_INIT,
		.before = BUF_INIT(SLURP_MAX),
		.notes = BUF_INIT(WRITE_NOTES_MAX),
	};
	const cJSON *content = tool_arg(call, "content");

	if (ws_place_find(call, w.path, &w.place) < 0)
		return;
	w.content.p = content->valuestring;
	w.content.len = strlen(content->valuestring);
	if (check_target(&w, tool_arg_bool(call, "create_only")) && check_syntax(&w))
		store(&w);
}

static void describe(const struct tool_call *call, struct buf *line)
{
	buf_addf(line, "filepath='%s', content_length=%zu, create_only=%s", ws_show(tool_arg_str(call, "filepath")).s,
		 strlen(tool_arg_str(call, "content")), tool_arg_bool(call, "create_only") ? "true" : "false");
}

const struct mcp_tool tool_write_file = {
	.name = "write_file",
	.title = "Write File",
	.description =
		"Writes a whole text file in the workspace and makes missing directories. "
		"An existing file is refused unless create_only is false; then it is replaced at once and keeps its permissions. "
		"To change a part of a file use search_and_replace. "
		"Python, JSON and JSON Lines are checked first: with a syntax error nothing is written, unless the file had one before.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"filepath\":{\"type\":\"string\",\"description\":\"File, relative to the workspace, such as src/main.c.\"},"
		"\"content\":{\"type\":\"string\",\"description\":\"The whole content, written as given, up to MAX_WRITE_SIZE_BYTES (5 MiB unless "
		"configured); end the last line with a newline.\"},"
		"\"create_only\":{\"type\":\"boolean\",\"default\":true,\"description\":\"false: replace an existing file.\"}"
		"},\"required\":[\"filepath\",\"content\"],\"additionalProperties\":false}",
	.destructive = true,
	.idempotent = true, /* a second call changes nothing more: it is refused, or writes the same */
	.mode = TOOL_WORKER,
	.run = run,
	.describe = describe,
};
