/*
 * search_workspace: files by name pattern. Runs on a worker thread.
 *
 * The walk keeps one directory open at a time and opens each by its path from the workspace, without following any
 * link. Directories are read as a whole and sorted so that paths come out in bytewise order: the first hits are the
 * same on every file system. When there is one more than is shown, the walk goes on for a while, only to count.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/dirlist.h"
#include "mcp/glob.h"
#include "mcp/text.h"
#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/fd.h"

enum {
	SEARCH_EXCLUDES_MAX = 64,
	SEARCH_DEPTH_MAX = 128,
	SEARCH_ENTRIES_MAX = 2000000, /* looked at in one search */
	SEARCH_COUNTED_MAX = 10000,   /* of them to count hits that are not shown */
	SEARCH_NOTE_MAX = 900,        /* bytes kept free for the first line and the notes */
	SEARCH_CANCEL_STEP = 256,
};

struct level {
	struct dirlist list;
	size_t next;     /* entry */
	size_t path_len; /* of the directory in search.path */
};

struct search {
	struct tool_call *call;
	struct glob want, *excludes;
	size_t exclude_count;
	struct level *level; /* the way from the workspace to the directory being walked */
	size_t depth;
	char path[WS_PATH_MAX];
	struct buf hits;
	int64_t skip, shown, found; /* hits to pass over first; in @hits; in all */
	size_t seen, unreadable;
	size_t count_until; /* entries seen by when counting ends; 0: everything found is shown */
	bool uncounted;     /* … and there may be more */
	bool incomplete;    /* a limit kept the walk from looking everywhere */
};

static void search_done(struct search *s)
{
	while (s->depth > 0)
		dirlist_done(&s->level[--s->depth].list);
	free(s->level);
	for (size_t i = 0; i < s->exclude_count; i++)
		glob_done(&s->excludes[i]);
	free(s->excludes);
	glob_done(&s->want);
	buf_done(&s->hits);
}

static bool is_excluded(const struct search *s)
{
	for (size_t i = 0; i < s->exclude_count; i++)
		if (glob_excludes(&s->excludes[i], s->path))
			return true;
	return false;
}

/* Reads the directory s->path as a new level. False when memory is short. */
static bool push(struct search *s)
{
	size_t len = strlen(s->path);

	if (s->depth == SEARCH_DEPTH_MAX) {
		s->incomplete = true;
		return true;
	}
	struct level *level = &s->level[s->depth];
	*level = (struct level) { .path_len = len };
	int r = ws_open_entry(s->call, len ? s->path : ".", O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = dirlist_read(&level->list, r, true, s->call->cancelled);
	if (r < 0) {
		dirlist_done(&level->list);
		/* Gone or replaced by a link since its name was read: not there any more. */
		if (r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
			s->unreadable++;
		return r != -ENOMEM && r != -ECANCELED;
	}
	s->incomplete |= level->list.cut;
	s->depth++;
	return true;
}

/* A link counts as a file unless it leads to a directory; it is never followed into one. */
static bool is_file(const struct search *s, enum dirlist_kind kind)
{
	if (kind != DIRLIST_LINK)
		return kind == DIRLIST_FILE;
	_cleanup_fd_ int fd = ws_open_target(s->call, s->path, O_PATH | O_DIRECTORY);
	return fd < 0;
}

static void add_hit(struct search *s)
{
	size_t before = s->hits.len, max = (size_t) s->call->config->max_answer_chars - SEARCH_NOTE_MAX;

	if (++s->found <= s->skip || s->count_until > 0)
		return;
	if (s->shown < s->call->config->max_search_results) {
		buf_add_char(&s->hits, '\n');
		text_add_name(&s->hits, s->path);
		if (s->shown == 0 || s->hits.len <= max) {
			s->shown++;
			return;
		}
		buf_truncate(&s->hits, before);
	}
	s->count_until = s->seen + SEARCH_COUNTED_MAX;
}

/* Looks at one entry of the deepest level. False ends the walk early. */
static bool visit(struct search *s, struct level *level, const struct dirlist_entry *e)
{
	size_t len = level->path_len, name = strlen(e->name);

	if (++s->seen % SEARCH_CANCEL_STEP == 0 && tool_is_cancelled(s->call))
		return false;
	s->uncounted = s->count_until > 0 && s->seen > s->count_until;
	if (s->uncounted)
		return false;
	if (len + 1 + name >= sizeof(s->path) || s->seen > SEARCH_ENTRIES_MAX) {
		s->incomplete = true;
		return s->seen <= SEARCH_ENTRIES_MAX;
	}
	if (len > 0)
		s->path[len++] = '/';
	memcpy(s->path + len, e->name, name + 1);
	bool descend = e->kind == DIRLIST_DIR && glob_may_match_below(&s->want, s->path);
	bool hit = e->kind != DIRLIST_DIR && glob_match(&s->want, s->path);
	if ((!descend && !hit) || is_excluded(s))
		return true;
	if (descend)
		return push(s);
	if (is_file(s, e->kind))
		add_hit(s);
	return true;
}

/* Everything below the workspace, without recursion. */
static void walk(struct search *s)
{
	bool go_on = push(s);

	while (go_on && s->depth > 0) {
		struct level *level = &s->level[s->depth - 1];
		if (level->next == level->list.count) {
			dirlist_done(&level->list);
			s->depth--;
			continue;
		}
		s->path[level->path_len] = '\0';
		go_on = visit(s, level, &level->list.entry[level->next++]);
	}
}

/* Compiles the patterns. False with the call failed. */
static bool prepare(struct search *s, const char *pattern)
{
	const cJSON *excludes = tool_arg(s->call, "exclude_patterns"), *item;
	int count = cJSON_GetArraySize(excludes);
	const char *why;

	if (glob_compile(&s->want, pattern, &why) < 0) {
		tool_fail(s->call, "Invalid glob pattern '%s': %s.", ws_show(pattern).s, why);
		return false;
	}
	if (count > SEARCH_EXCLUDES_MAX) {
		tool_fail(
			s->call,
			"exclude_patterns has %d entries, but at most %d are possible. Join some with braces: {a,b,c}.",
			count, SEARCH_EXCLUDES_MAX);
		return false;
	}
	s->excludes = calloc((size_t) count + 1, sizeof(s->excludes[0]));
	s->level = calloc(SEARCH_DEPTH_MAX, sizeof(s->level[0]));
	if (!s->excludes || !s->level) {
		tool_fail(s->call, "The search cannot start now: out of memory. Try again in a moment.");
		return false;
	}
	cJSON_ArrayForEach(item, excludes) {
		const char *text = cJSON_GetStringValue(item);
		int r = glob_compile(&s->excludes[s->exclude_count], text ? text : "", &why);
		if (r < 0) {
			tool_fail(s->call, "Invalid glob pattern '%s' in exclude_patterns: %s.",
				  ws_show(text ? text : "").s, why);
			return false;
		}
		s->exclude_count++;
	}
	return true;
}

static void answer(struct search *s, const char *pattern)
{
	struct buf *text = &s->call->text;
	long long shown = (long long) s->shown, found = (long long) s->found, skip = (long long) s->skip;

	tool_summary(s->call, "%lld matches", shown);
	if (found == 0)
		buf_addf(text,
			 "No files found that match '%s'%s. Patterns match paths of files, not directories or contents.",
			 ws_show(pattern).s, s->exclude_count ? " and are not excluded" : " in the workspace");
	else if (shown == 0)
		buf_addf(text, "No files found from offset %lld on: there are %lld that match '%s'.", skip, found, ws_show(pattern).s);
	else
		buf_addf(text, "Found %lld matches:", shown);
	buf_add(text, s->hits.p, s->hits.len);
	if (s->count_until > 0)
		buf_addf(text,
			 "\n[results truncated: matches %lld to %lld of %s%lld, sorted, are shown. To go on, repeat the call with offset %lld, "
			 "or use a narrower pattern or exclude_patterns.]",
			 skip + 1, skip + shown, s->uncounted ? "at least " : "", found, skip + shown);
	if (s->incomplete)
		buf_addf(text, "\n[search incomplete: the tree is too large or too deep to be searched as a whole. "
			       "Begin the pattern with a directory, such as src/**/*.c.]");
	if (s->unreadable)
		buf_addf(text, "\n[%zu directories could not be read and were skipped.]", s->unreadable);
}

static void run(struct tool_call *call)
{
	const char *pattern = tool_arg_str(call, "pattern");
	_cleanup_(search_done) struct search s = {
		.call = call,
		.hits = BUF_INIT(TOOL_TEXT_MAX),
		.skip = tool_arg_int(call, "offset"),
	};

	if (!prepare(&s, pattern))
		return;
	walk(&s);
	if (tool_is_cancelled(call))
		tool_fail(call, "The search was cancelled.");
	else
		answer(&s, pattern);
}

const struct mcp_tool tool_search_workspace = {
	.name = "search_workspace",
	.title = "Search Workspace",
	.description =
		"Finds files in the workspace by a glob pattern for their paths. "
		"Without a slash (*.py) it matches names at any depth; with one (src/**/*.py) it starts at the workspace. "
		"* and ? match within one name, ** any number of directories, [a-z] a set, {a,b} alternatives; case matters. "
		"Returns a count and the sorted paths, at most 50 unless configured; a note tells the total and how to go on. "
		"It skips what list_directory leaves out. "
		"To search inside files use run_bash with grep.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"pattern\":{\"type\":\"string\",\"description\":\"Such as *.md, src/**/*.c or {lib,tests}/*.py. No leading / or ~, no '..'.\"},"
		"\"exclude_patterns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"default\":[],"
		"\"description\":\"Up to 64 patterns to leave out. A bare name such as node_modules leaves out that directory at any depth; here * "
		"also matches slashes: tests/* is all below tests.\"},"
		"\"offset\":{\"type\":\"integer\",\"minimum\":0,\"default\":0,\"description\":\"Matches to skip, where results were cut.\"}"
		"},\"required\":[\"pattern\"],\"additionalProperties\":false}",
	.read_only = true,
	.idempotent = true,
	.mode = TOOL_WORKER,
	.run = run,
};
