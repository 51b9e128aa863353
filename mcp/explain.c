/*
 * Denials in words: see explain.h. Runs in cloche-mcp, without any capability. The output of a command is only searched for fixed
 * texts, in what was kept of it.
 */
#include "mcp/explain.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/bounds.h"
#include "runtime/spec/denial.h"
#include "runtime/spec/denial_text.h"
#include "runtime/spec/spec.h"

#define BEFORE "[Denied by the sandbox: "
#define AFTER "]"

enum {
	EXPLAIN_PATH_MAX = 1024,
	EXPLAIN_LINE_MAX = 512, /* bytes in front of an error message that are looked at */
};

/* --- what an error message means here ----------------------------------------------------------------------------- */

enum note { NOTE_READ_ONLY, NOTE_HIDDEN, NOTE_BUSY, NOTE_NETWORK, NOTE_ROOT, NOTE_SIGNAL, NOTES };

/* As programs of C, Go, Rust, Python, Java and Node.js write it; without a first letter that some write large. */
static const struct {
	enum note note;
	const char *text;
} signs[] = {
	{ NOTE_READ_ONLY, "ead-only file system" },
	{ NOTE_BUSY, "evice or resource busy" },
	{ NOTE_BUSY, "resource busy or locked" },
	{ NOTE_NETWORK, "etwork is unreachable" },
	{ NOTE_NETWORK, "ENETUNREACH" },
	{ NOTE_NETWORK, "emporary failure in name resolution" },
	{ NOTE_NETWORK, "emporary failure resolving" },
	{ NOTE_NETWORK, "EAI_AGAIN" },
	{ NOTE_NETWORK, "ould not resolve host" },
	{ NOTE_NETWORK, "nable to resolve host" },
	{ NOTE_NETWORK, "ame or service not known" },
	{ NOTE_NETWORK, "ailed to lookup address information" },
	{ NOTE_NETWORK, "no such host" },
	{ NOTE_NETWORK, "dial tcp: lookup " },
	{ NOTE_NETWORK, "UnknownHostException" },
	{ NOTE_ROOT, "no new privileges" },
	{ NOTE_ROOT, "sudo: not found" },
	{ NOTE_ROOT, "sudo: command not found" },
	{ NOTE_ROOT, "superuser privilege" },
	{ NOTE_ROOT, "are you root?" },
	{ NOTE_ROOT, "must be root" },
	{ NOTE_ROOT, "must be run as root" },
	{ NOTE_SIGNAL, "ad system call" },
};

static bool holds(const struct buf *text, const char *sign)
{
	return text->len > 0 && memmem(text->p, text->len, sign, strlen(sign));
}

/* Whether a line that ends before @end names something in a folder of the host that is not visible here. */
static bool names_hidden(const struct facts *facts, const char *start, const char *end)
{
	const char *line_break = memrchr(start, '\n', (size_t) (end - start));
	const char *line = line_break ? line_break + 1 : start;

	line = end - MIN(end - line, (ptrdiff_t) EXPLAIN_LINE_MAX);
	for (size_t i = 0; i < FACTS_PLACES; i++) {
		const char *place = facts_places[i], *at = line;

		for (; facts->hidden[i] && (at = memmem(at, (size_t) (end - at), place, strlen(place))); at++) {
			/* A path that begins here, and not in the middle of another. */
			bool inside = at > line && (isalnum((unsigned char) at[-1]) || strchr("/._-~", at[-1]));
			bool home = (size_t) (end - at) >= strlen(SPEC_HOME) && memcmp(at, SPEC_HOME, strlen(SPEC_HOME)) == 0;
			if (!inside && !home)
				return true;
		}
	}
	return false;
}

/* "No such file or directory", of a file that the host may well have. */
static bool misses_hidden(const struct facts *facts, const struct buf *text)
{
	static const char sign[] = "o such file or directory";
	const char *at = buf_cstr(text), *end = at + text->len;

	while (text->len > 0 && (at = memmem(at, (size_t) (end - at), sign, sizeof(sign) - 1))) {
		if (names_hidden(facts, text->p, at))
			return true;
		at += sizeof(sign) - 1;
	}
	return false;
}

static void add_hidden(struct buf *text, const struct facts *facts)
{
	bool first = true;

	buf_add_str(text, BEFORE "files of the host outside of the workspace. Of its system /usr and parts of /etc are visible here, but not ");
	for (size_t i = 0; i < FACTS_PLACES; i++) {
		if (!facts->hidden[i])
			continue;
		buf_addf(text, "%s%.*s", first ? "" : ", ", (int) strlen(facts_places[i]) - 1, facts_places[i]);
		first = false;
	}
	buf_add_str(text, ". Use what is in the workspace, or ask the user for a volume (-v HOST:INSIDE)." AFTER);
}

/* The text of a note in @text; nothing when it would not be true in this sandbox. */
static void add_note(struct buf *text, enum note note, const struct facts *facts)
{
	switch (note) {
	case NOTE_READ_ONLY:
		if (!facts->writable[0])
			return;
		buf_addf(text, BEFORE "writing outside of %s%s. Everything else is read-only here; work in a place that can be written." AFTER,
			 facts->writable,
			 facts->has_mounts ? ", and to protected paths and read-only volumes in the workspace, such as git hooks and "
					     "editor settings" :
					     "");
		return;
	case NOTE_HIDDEN:
		add_hidden(text, facts);
		return;
	case NOTE_BUSY:
		if (facts->has_mounts)
			buf_add_str(text, BEFORE "protected paths and volumes in the workspace, and folders that lead to them, cannot be removed, "
						 "renamed or replaced: they are \"busy\". Leave them where they are, and work on other paths." AFTER);
		return;
	case NOTE_NETWORK:
		if (facts->offline)
			buf_add_str(text, BEFORE "the network. There is none here but loopback (127.0.0.1 and ::1), so nothing can be downloaded "
						 "or reached by name. Use what is installed or in the workspace, or ask the user to provide it." AFTER);
		return;
	case NOTE_ROOT:
		buf_add_str(text, BEFORE "root. Nothing becomes root here, with sudo, su or otherwise, so no system package can be installed. "
					 "Install below the workspace or the home directory, or ask the user." AFTER);
		return;
	case NOTE_SIGNAL:
		buf_add_str(text, BEFORE "a program that was ended with SIGSYS. It called the kernel in a way that is closed here, as 32-bit "
					 "programs do. Build and run it for this machine's own 64-bit architecture." AFTER);
		return;
	case NOTES:
		return;
	}
}

bool explain_has_failed(const struct exec_result *res)
{
	return res->timed_out || !WIFEXITED(res->wait_status) || WEXITSTATUS(res->wait_status) != 0;
}

bool explain_output_has(const struct exec_result *res, const char *sign)
{
	return holds(&res->output, sign) || holds(&res->tail, sign);
}

/* What the output of a failed command tells, a line for each kind of thing. */
static void add_notes(struct buf *lines, const struct facts *facts, const struct exec_result *res)
{
	bool found[NOTES] = { [NOTE_SIGNAL] = WIFSIGNALED(res->wait_status) && WTERMSIG(res->wait_status) == SIGSYS };

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (!found[signs[i].note])
			found[signs[i].note] = explain_output_has(res, signs[i].text);
	found[NOTE_HIDDEN] = misses_hidden(facts, &res->output) || misses_hidden(facts, &res->tail);
	for (enum note note = 0; note < NOTES; note++) {
		size_t before = lines->len;

		if (found[note])
			add_note(lines, note, facts);
		if (lines->len > before)
			buf_add_char(lines, '\n');
	}
}

/* --- refused system calls ----------------------------------------------------------------------------------------- */

static void add_meta(struct tool_call *call, const struct initmsg_denials *denials)
{
	cJSON *list = cJSON_CreateArray();

	if (!call->meta)
		call->meta = cJSON_CreateObject();
	for (uint32_t i = 0; i < MIN(denials->kinds, (uint32_t) INITMSG_DENIALS_MAX); i++) {
		const struct initmsg_denial *row = &denials->rows[i];
		cJSON *item = cJSON_CreateObject();
		const char *name = denial_call_name(row->nr);

		if (name)
			(void) cJSON_AddStringToObject(item, "call", name);
		(void) cJSON_AddNumberToObject(item, "number", row->nr);
		(void) cJSON_AddNumberToObject(item, "errno", row->errnum);
		(void) cJSON_AddNumberToObject(item, "times", row->times);
		if (!cJSON_AddItemToArray(list, item))
			cJSON_Delete(item);
	}
	if (!cJSON_AddItemToObject(call->meta, "cloche/denials", list))
		cJSON_Delete(list);
}

void explain_command(struct buf *lines, struct tool_call *call, const struct exec_result *res)
{
	_cleanup_buf_ struct buf all = BUF_INIT(TOOL_TEXT_MAX);

	if (denial_text(&all, &res->denials, BEFORE, AFTER "\n") > 0)
		add_meta(call, &res->denials);
	if (explain_has_failed(res))
		add_notes(&all, call->facts, res);
	bounds_add_lines(&all, call, res);
	size_t room = lines->max - lines->len, len = all.len;
	while (len > 0 && len - 1 > room) { /* without the last line's break */
		const char *before = memrchr(all.p, '\n', len - 1);
		len = before ? (size_t) (before - all.p) + 1 : 0;
	}
	if (len > 0 && !buf_error(&all))
		buf_add(lines, all.p, len - 1);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

const char *explain_path(const struct facts *facts, int errnum)
{
	static _Thread_local char text[EXPLAIN_PATH_MAX];

	if (errnum == EBUSY)
		return "cannot be changed: it is a protected path or a volume of this sandbox, or a folder that leads to one, and stays where "
		       "it is. Write to another path";
	if (errnum != EROFS)
		return NULL;
	if (!facts->read_only)
		return "cannot be changed: it is a protected path or a read-only volume of this sandbox. Protected are paths that programs "
		       "on the user's machine would trust, such as git hooks, git's configuration and editor settings. Write to "
		       "another path, or ask the user, who can make this change or allow it with the option --unprotect of cloche";
	if (!facts->writable[0])
		return "cannot be changed: the workspace is read-only in this sandbox. Ask the user to make the change";
	(void) snprintf(text, sizeof(text),
			"cannot be changed: the workspace is read-only in this sandbox. What can be written: %s. The file tools reach the "
			"workspace only; use run_bash for the rest", facts->writable);
	return text;
}
