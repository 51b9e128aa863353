/*
 * search_and_replace: changes parts of a text file. Runs on a worker thread.
 *
 * The file is read once; the edits are applied in memory, each to the result of those before it; the result is checked,
 * shown as a diff and written at once. Whatever fails, the file stays as it is. That nothing else changed it meanwhile
 * is checked before it is replaced.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "mcp/atomic.h"
#include "mcp/check.h"
#include "mcp/diff.h"
#include "mcp/edit.h"
#include "mcp/slurp.h"
#include "mcp/text.h"
#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/utf8.h"

enum {
	REPLACE_EDITS_MAX = 200,
	REPLACE_NOTES_MAX = 1024, /* bytes of what the check has to say */
	REPLACE_HEAD_MAX = 512,   /* … of what stands in front of it */
};

struct job {
	struct tool_call *call;
	const char *path;
	struct ws_place place;
	struct stat old;
	struct buf before, after; /* both without a byte order mark */
	struct buf why, notes, diff;
	bool has_bom;
	size_t exact, fuzzy;
};

static void job_done(struct job *j)
{
	ws_place_done(&j->place);
	buf_done(&j->before);
	buf_done(&j->after);
	buf_done(&j->why);
	buf_done(&j->notes);
	buf_done(&j->diff);
}

/* Everything below returns false with the call failed. */
static bool load(struct job *j)
{
	struct tool_call *call = j->call;

	if (ws_place_find(call, j->path, &j->place) < 0)
		return false;
	int r = ws_place_stat(&j->place, &j->old);
	if (r == 0 && !S_ISREG(j->old.st_mode)) {
		(void) ws_fail_type(call, j->path, &j->old);
		return false;
	}
	if (r == 0 && j->place.is_dir)
		r = -ENOTDIR;
	if (r == 0)
		r = slurp_place(&j->place, &j->before, &j->old);
	if (r == -EFBIG) {
		tool_fail(call, "File '%s' is larger than the %d MiB this tool changes. Use run_bash with sed.",
			  ws_show(j->path).s, SLURP_MAX / (1024 * 1024));
		return false;
	}
	if (r < 0) {
		(void) ws_fail(call, "File", j->path, -r);
		return false;
	}
	if (text_is_binary(j->before.p, j->before.len)) {
		tool_fail(call, "File '%s' appears to be binary (it has a NUL byte): this tool changes text only.",
			  ws_show(j->path).s);
		return false;
	}
	size_t bom = utf8_bom_length(buf_cstr(&j->before), j->before.len);
	j->has_bom = bom > 0;
	if (j->has_bom)
		buf_consume(&j->before, bom);
	buf_add(&j->after, buf_cstr(&j->before), j->before.len);
	if (buf_error(&j->after))
		(void) ws_fail(call, "File", j->path, ENOMEM);
	return !buf_error(&j->after);
}

static const char *without_bom(const char *s)
{
	return s + utf8_bom_length(s, strlen(s));
}

static bool is_ascii(const char *s)
{
	while (*s && (unsigned char) *s < 0x80)
		s++;
	return *s == '\0';
}

/* Takes one element of "edits" apart. */
static bool read_edit(struct job *j, const cJSON *item, size_t index, struct edit *e)
{
	const char *old_text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "old"));
	const char *new_text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "new"));

	if (!old_text || !new_text) {
		tool_fail(j->call,
			  "Edit %zu must contain 'old' and 'new' keys, both with a string. Nothing was changed.",
			  index);
		return false;
	}
	if (j->has_bom && without_bom(old_text) != old_text) { /* it is not part of the text, and stays */
		old_text = without_bom(old_text);
		new_text = without_bom(new_text);
	}
	if (old_text[0] == '\0') {
		tool_fail(j->call,
			  "Edit %zu has an empty 'old' text. To insert, give the line before or behind as 'old' and "
			  "repeat it in 'new'; to make a new file, use write_file. Nothing was changed.",
			  index);
		return false;
	}
	if (!is_ascii(new_text) && !utf8_is_valid(buf_cstr(&j->after), j->after.len)) {
		tool_fail(j->call,
			  "Edit %zu: 'new' has characters beyond ASCII, but '%s' is not in UTF-8, so they would be in "
			  "a different encoding than the rest. Convert the file first, with run_bash and iconv. "
			  "Nothing was changed.",
			  index, ws_show(j->path).s);
		return false;
	}
	*e = (struct edit) {
		.index = index,
		.file = j->path,
		.old_text = old_text,
		.new_text = new_text,
		.old_len = strlen(old_text),
		.new_len = strlen(new_text),
	};
	return true;
}

static bool apply_all(struct job *j, const cJSON *edits)
{
	const cJSON *item;
	size_t index = 0;

	if (cJSON_GetArraySize(edits) > REPLACE_EDITS_MAX) {
		tool_fail(j->call, "There are %d edits, but at most %d are possible in one call. Use several calls.",
			  cJSON_GetArraySize(edits), REPLACE_EDITS_MAX);
		return false;
	}
	cJSON_ArrayForEach(item, edits) {
		struct edit e;

		if (tool_is_cancelled(j->call)) {
			tool_fail(j->call, "The call was cancelled. Nothing was changed.");
			return false;
		}
		if (!read_edit(j, item, index++, &e))
			return false;
		enum edit_result how = edit_apply(&j->after, &e, &j->why);
		if (how == EDIT_FAILED) {
			tool_fail(j->call, "%s", buf_cstr(&j->why));
			return false;
		}
		j->exact += how == EDIT_EXACT;
		j->fuzzy += how == EDIT_FUZZY;
	}
	return true;
}

/*
 * Nothing but blank lines and white space at line ends, an indentation or a line end may differ and still be a change:
 * bytes decide.
 */
static bool is_changed(const struct job *j)
{
	return j->before.len != j->after.len || memcmp(buf_cstr(&j->before), buf_cstr(&j->after), j->after.len) != 0;
}

static bool store(struct job *j)
{
	_cleanup_buf_ struct buf whole = BUF_INIT(SLURP_MAX + sizeof(UTF8_BOM) - 1);
	const struct buf *content = &j->after;

	if (j->has_bom) {
		buf_add_str(&whole, UTF8_BOM);
		buf_add(&whole, j->after.p, j->after.len);
		content = &whole;
	}
	int r = buf_error(&whole);
	if (r == 0)
		r = atomic_write(j->place.dir_fd, j->place.name, buf_cstr(content), content->len, &j->old);
	if (r < 0)
		(void) ws_fail(j->call, "File", j->path, -r);
	return r == 0;
}

static void answer(struct job *j, bool dry_run)
{
	struct buf *text = &j->call->text;

	buf_addf(text,
		 dry_run ? "DRY RUN: %zu edits (%zu exact, %zu fuzzy-matched) would be applied to %s; nothing was "
			   "written."
			 : "Successfully applied %zu edits (%zu exact, %zu fuzzy-matched) to %s",
		 j->exact + j->fuzzy, j->exact, j->fuzzy, ws_show(j->path).s);
	buf_add(text, j->notes.p, j->notes.len);
	if (j->old.st_nlink > 1)
		buf_add_str(text, "\nNote: the file has other hard links; they keep the old content.");
	buf_add_str(text, "\n\n");
	buf_add(text, j->diff.p, j->diff.len);
	tool_summary(j->call, "%s%zu edits (%zu exact, %zu fuzzy-matched)", dry_run ? "DRY RUN: " : "",
		     j->exact + j->fuzzy, j->exact, j->fuzzy);
}

static void run(struct tool_call *call)
{
	bool dry_run = tool_arg_bool(call, "dry_run");
	_cleanup_(job_done) struct job j = {
		.call = call,
		.path = tool_arg_str(call, "filepath"),
		.place = WS_PLACE_INIT,
		.before = BUF_INIT(SLURP_MAX),
		.after = BUF_INIT(SLURP_MAX),
		.why = BUF_INIT(EDIT_WHY_MAX),
		.notes = BUF_INIT(REPLACE_NOTES_MAX),
		.diff = BUF_INIT(TOOL_TEXT_MAX),
	};

	if (!load(&j) || !apply_all(&j, tool_arg(call, "edits")))
		return;
	if (!is_changed(&j)) {
		buf_addf(&call->text, "No changes made to %s: %s.", ws_show(j.path).s,
			 j.exact + j.fuzzy > 0 ? "the edits lead to the text that is there already" : "there are no edits");
		tool_summary(call, "no changes");
		return;
	}
	if (!check_gate(call, j.path, &j.before, &j.after, &j.notes))
		return;
	size_t room = (size_t) call->config->max_answer_chars - REPLACE_HEAD_MAX - j.notes.len;
	if (diff_unified(&j.diff, j.place.path, &j.before, &j.after, room) < 0) {
		(void) ws_fail(call, "File", j.path, ENOMEM);
		return;
	}
	if (dry_run || store(&j))
		answer(&j, dry_run);
}

static void describe(const struct tool_call *call, struct buf *line)
{
	buf_addf(line, "filepath='%s', edits=%d, dry_run=%s", ws_show(tool_arg_str(call, "filepath")).s,
		 cJSON_GetArraySize(tool_arg(call, "edits")), tool_arg_bool(call, "dry_run") ? "true" : "false");
}

const struct mcp_tool tool_search_and_replace = {
	.name = "search_and_replace",
	.title = "Search and Replace",
	.description =
		"Changes parts of one text file in the workspace: each edit puts 'new' in the place of 'old'; all edits are made, in order, or none. "
		"Read the file first and copy 'old' from it, with enough lines around it to occur exactly once. "
		"When it is not there exactly, lines that differ only in white space at their ends are accepted if unique, and 'new' gets the file's "
		"indentation. "
		"Returns a unified diff; line ends, permissions and all other bytes are kept. "
		"An edit that would break a valid Python, JSON or JSON Lines file is refused.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"filepath\":{\"type\":\"string\",\"description\":\"File, relative to the workspace, such as src/main.c.\"},"
		"\"edits\":{\"type\":\"array\",\"description\":\"Up to 200 edits, each with 'old' and "
		"'new'.\",\"items\":{\"type\":\"object\",\"properties\":{"
		"\"old\":{\"type\":\"string\",\"description\":\"Text to replace: part of a line, or several lines.\"},"
		"\"new\":{\"type\":\"string\",\"description\":\"Text in its place; empty removes it.\"}}}},"
		"\"dry_run\":{\"type\":\"boolean\",\"default\":false,\"description\":\"true: check and show the diff, but write nothing.\"}"
		"},\"required\":[\"filepath\",\"edits\"],\"additionalProperties\":false}",
	.destructive = true,
	.mode = TOOL_WORKER,
	.run = run,
	.describe = describe,
};
