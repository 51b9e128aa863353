/*
 * The syntax gate: see check.h. Runs in cloche-mcp on a worker thread, without any capability.
 */
#include "mcp/check.h"

#include <string.h>
#include <strings.h>

#include "mcp/check_json.h"
#include "mcp/check_python.h"
#include "mcp/tool.h"
#include "mcp/ws.h"

enum checker {
	CHECKER_NONE,
	CHECKER_JSON,
	CHECKER_JSONL,
	CHECKER_PYTHON,
};

struct rule {
	const char *name; /* a whole name, ".ext" for the end of one, or "begin*.ext"; case does not matter */
	enum checker checker;
};

/*
 * The first rule that fits decides. What comes first are .json files that are read with comments and trailing commas.
 */
static const struct rule rules[] = {
	{ "tsconfig*.json", CHECKER_NONE },
	{ "jsconfig*.json", CHECKER_NONE },
	{ "devcontainer.json", CHECKER_NONE },
	{ ".devcontainer.json", CHECKER_NONE },
	{ ".eslintrc.json", CHECKER_NONE },
	{ "deno.json", CHECKER_NONE },
	{ "turbo.json", CHECKER_NONE },
	{ "nx.json", CHECKER_NONE },
	{ "composer.lock", CHECKER_JSON },
	{ ".json", CHECKER_JSON },
	{ ".geojson", CHECKER_JSON },
	{ ".ipynb", CHECKER_JSON },
	{ ".webmanifest", CHECKER_JSON },
	{ ".har", CHECKER_JSON },
	{ ".jsonl", CHECKER_JSONL },
	{ ".ndjson", CHECKER_JSONL },
	{ ".py", CHECKER_PYTHON },
	{ ".pyi", CHECKER_PYTHON },
	{ ".pyw", CHECKER_PYTHON },
};

/* Directories whose .json files have comments. */
static const char *const jsonc_directories[] = { ".vscode", ".devcontainer", ".zed" };

static bool fits(const char *rule, const char *name)
{
	size_t n = strlen(name);
	const char *star = strchr(rule, '*');
	size_t head = star ? (size_t) (star - rule) : 0;
	const char *tail = star ? star + 1 : rule;

	if (strcasecmp(rule, name) == 0)
		return true;
	if (!star && rule[0] != '.')
		return false;
	return n >= head + strlen(tail) && strncasecmp(rule, name, head) == 0 &&
	       strcasecmp(name + n - strlen(tail), tail) == 0;
}

static bool in_jsonc_directory(const char *path, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(jsonc_directories); i++) {
		size_t len = strlen(jsonc_directories[i]);
		if ((size_t) (name - path) >= len + 1 && memcmp(name - len - 1, jsonc_directories[i], len) == 0 &&
		    ((size_t) (name - path) == len + 1 || name[-(ptrdiff_t) len - 2] == '/'))
			return true;
	}
	return false;
}

static enum checker checker_for(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (!fits(rules[i].name, name))
			continue;
		if (rules[i].checker == CHECKER_JSON && in_jsonc_directory(path, name))
			return CHECKER_NONE;
		return rules[i].checker;
	}
	return CHECKER_NONE;
}

bool check_applies(const char *path)
{
	return checker_for(path) != CHECKER_NONE;
}

void check_content(struct tool_call *call, const char *path, const char *data, size_t len, struct check_result *res)
{
	*res = (struct check_result) { .verdict = CHECK_UNKNOWN };
	switch (checker_for(path)) {
	case CHECKER_JSON:
		return check_json(data, len, res);
	case CHECKER_JSONL:
		return check_jsonl(data, len, res);
	case CHECKER_PYTHON:
		return check_python(call, data, len, res);
	case CHECKER_NONE:
		return;
	}
}

bool check_gate(struct tool_call *call, const char *path, const struct buf *before, const struct buf *after,
		struct buf *notes)
{
	struct check_result now, then = { .verdict = CHECK_OK };

	check_content(call, path, buf_cstr(after), after->len, &now);
	if (now.verdict == CHECK_BAD && before)
		check_content(call, path, buf_cstr(before), before->len, &then);
	if (now.verdict == CHECK_BAD && then.verdict == CHECK_OK) {
		tool_fail(call,
			  "%s. Nothing was written to '%s'. Correct the content and call again; to keep it as it is, "
			  "write it with run_bash.",
			  now.text, ws_show(path).s);
		return false;
	}
	if (now.verdict == CHECK_BAD)
		buf_addf(notes, "\nWarning: the file was not valid before, and still is not: %s.", now.text);
	else if (now.verdict == CHECK_UNKNOWN && now.text[0])
		buf_addf(notes, "\nNote: the syntax was not checked: %s.", now.text);
	if (now.warning[0])
		buf_addf(notes, "\nWarning: %s.", now.warning);
	return true;
}
