/*
 * Proposals for values of arguments: see complete.h. Runs in cloche-mcp, without any capability; complete_path() on a worker
 * thread.
 */
#include "mcp/complete.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "mcp/dirlist.h"
#include "mcp/text.h"
#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/fd.h"
#include "runtime/base/jsonw.h"

void completions_done(struct completions *c)
{
	buf_done(&c->values);
}

void completions_add(struct completions *c, const char *value)
{
	c->found++;
	if (c->shown == COMPLETE_VALUES_MAX)
		return;
	size_t before = c->values.len;
	if (c->shown > 0)
		buf_add_char(&c->values, ',');
	jsonw_str(&c->values, value);
	if (!buf_error(&c->values)) {
		c->shown++;
		return;
	}
	/* No room: what was added before is good. */
	buf_truncate(&c->values, before);
	c->values.error = 0;
}

static bool begins_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

void complete_word(struct completions *c, const char *const *words, const char *typed)
{
	for (; words && *words; words++)
		if (begins_with(*words, typed))
			completions_add(c, *words);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

static bool has_parent_step(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += strspn(part, "/");
		if (begins_with(part, "..") && (part[2] == '/' || part[2] == '\0'))
			return true;
	}
	return false;
}

static bool leads_to_directory(const struct tool_call *call, const char *path)
{
	_cleanup_fd_ int fd = ws_open_target(call, path, O_PATH | O_DIRECTORY);

	return fd >= 0;
}

/* @head is what was typed of the directory, with its slash; @dir is the same for ws.h. */
static void add_entry(struct completions *c, const struct tool_call *call, const char *head, const char *dir,
		      const struct dirlist_entry *entry)
{
	_cleanup_buf_ struct buf value = BUF_INIT(WS_PATH_MAX - 1), path = BUF_INIT(WS_PATH_MAX - 1);
	bool is_dir = entry->kind == DIRLIST_DIR;

	if (entry->kind == DIRLIST_LINK && c->shown < COMPLETE_VALUES_MAX) {
		buf_addf(&path, "%s/%s", dir, entry->name);
		is_dir = !buf_error(&path) && leads_to_directory(call, buf_cstr(&path));
	}
	buf_addf(&value, "%s%s%s", head, entry->name, is_dir ? "/" : "");
	if (!buf_error(&value))
		completions_add(c, buf_cstr(&value));
}

void complete_path(struct completions *c, struct tool_call *call, const char *typed, bool relative)
{
	_cleanup_dirlist_ struct dirlist d = { .entry = NULL };
	const char *root = call->config->root_name, *slash = strrchr(typed, '/'), *name = slash ? slash + 1 : typed;
	char head[WS_PATH_MAX];

	if (strnlen(typed, sizeof(head)) == sizeof(head) || has_parent_step(typed) || (relative && typed[0] == '/'))
		return;
	memcpy(head, typed, (size_t) (name - typed));
	head[name - typed] = '\0';
	if (typed[0] == '/' && begins_with(root, typed)) {
		/* The workspace's own name is not complete yet. */
		int len = snprintf(head, sizeof(head), "%s/", root);
		if (len > 0 && (size_t) len < sizeof(head))
			completions_add(c, head);
		return;
	}
	const char *dir = ws_relative(call, head);
	if (!dir)
		return;
	_cleanup_fd_ int fd = ws_open_target(call, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || dirlist_read(&d, TAKE_FD(fd), false, call->cancelled) < 0)
		return;
	c->incomplete = d.cut;
	for (size_t i = 0; i < d.count && !tool_is_cancelled(call); i++)
		if (begins_with(d.entry[i].name, name) && text_can_be_shown(d.entry[i].name))
			add_entry(c, call, head, dir, &d.entry[i]);
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

void completions_write(struct buf *b, const struct completions *c)
{
	buf_addf(b, "{\"values\":[%s]", buf_cstr(&c->values));
	if (!c->incomplete)
		buf_addf(b, ",\"total\":%zu", c->found);
	buf_addf(b, ",\"hasMore\":%s}", c->incomplete || c->found > c->shown ? "true" : "false");
}
