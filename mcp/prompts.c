/*
 * Prompts and their texts: see prompts.h. Runs on the event loop of cloche-mcp, without any capability.
 */
#include "mcp/prompts.h"

#include <string.h>

#include "mcp/skill.h"
#include "mcp/ws.h"
#include "runtime/base/jsonw.h"

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const char *const test_commands[] = {
	"cargo test", "ctest --output-on-failure", "go test ./...", "make check", "make test", "npm test", "pytest -q",
	"python3 -m unittest", NULL,
};

static const char *const review_topics[] = {
	"correctness", "error handling", "performance", "readability", "security", "tests", NULL,
};

#define PROMPT_COMMAND                                                                                                 \
	{                                                                                                              \
		.name = "command", .title = "Test command", .description = "What runs the tests, such as make test.",  \
		.kind = COMPLETE_WORD, .words = test_commands                                                          \
	}

#define PROMPT_RUNS                                                                                                    \
	{                                                                                                              \
		"command", "The tests are run with: {}\n",                                                             \
			"Find out how the tests are run: look at README, Makefile, package.json, pyproject.toml, "     \
			"Cargo.toml, go.mod or the settings of the continuous integration.\n"                          \
	}

static const struct prompt prompts[] = {
	{ .name = SKILL_NAME, .title = SKILL_TITLE },
	{
		.name = "explore",
		.title = "Explore a project",
		.description = "Find out how a project, or a part of it, is built and how it works, and report with names of files.",
		.arguments = {
			{ .name = "path", .title = "Part", .description = "A file or directory of the workspace; default: all of it.",
			  .kind = COMPLETE_PATH },
			{ .name = "question", .title = "Question", .description = "What you want to know in particular." },
		},
		.parts = {
			{ NULL, "Explore the project in /workspace and explain it to me. Change nothing.\n\n", NULL },
			{ "path", "Look only at: {}\n", NULL },
			{ "question", "I want to know in particular: {}\n", NULL },
			{ NULL,
			  "\n"
			  "1. Begin with list_directory, the README and the files that describe the build. Find the parts of the "
			  "project with search_workspace.\n"
			  "2. Read where it starts and what the other parts depend on. For a long file use grep -n with run_bash "
			  "first, and read around the lines it finds.\n"
			  "3. Follow one typical request, call or command from its beginning to its end.\n"
			  "4. Run a command only to look: no build that leaves files, no change.\n"
			  "\n"
			  "Report: what it is for; its parts, each with its files; how it is built, run and tested; what is "
			  "unusual or likely to break. Name file and line for each claim, and say what you have not looked at.\n",
			  NULL },
		},
	},
	{
		.name = "fix-tests",
		.title = "Make failing tests pass",
		.description = "Run the tests, find out why some fail, correct the cause, and prove that all pass.",
		.arguments = {
			PROMPT_COMMAND,
			{ .name = "path", .title = "Part", .description = "A file or directory to stay with; default: all of it.",
			  .kind = COMPLETE_PATH },
		},
		.parts = {
			{ NULL, "Make the failing tests of the project in /workspace pass.\n\n", NULL },
			PROMPT_RUNS,
			{ "path", "Stay with: {}\n", NULL },
			{ NULL,
			  "\n"
			  "1. Run the tests with run_bash and send their output to a file in /tmp, so that nothing of it is cut: "
			  "COMMAND >/tmp/tests 2>&1; echo \"exit $?\". Give a timeout that is long enough. List what fails.\n"
			  "2. Take one failure. Read the test and the code that it tests, and find the cause before you change "
			  "anything. Say whether the code or the test is wrong, and why.\n"
			  "3. Correct the cause with search_and_replace, as little as possible. Do not weaken, skip or delete a "
			  "test to make it pass. When the test itself is wrong, say so before you change it.\n"
			  "4. Run that test alone, then go on with the next failure.\n"
			  "5. At the end run all tests once more: the exit code must be 0. When something cannot pass here, for "
			  "example for want of a network, name it and say why.\n"
			  "\n"
			  "Report each cause, what you changed for it, and the last result of the tests.\n",
			  NULL },
		},
	},
	{
		.name = "review-changes",
		.title = "Review changes",
		.description = "Read the changes of a working tree or branch and report what is wrong with them, the worst first.",
		.arguments = {
			{ .name = "base", .title = "Compared with",
			  .description = "A revision of git such as main; default: changes that are not committed." },
			{ .name = "focus", .title = "Focus", .description = "What to look for above all.", .kind = COMPLETE_WORD,
			  .words = review_topics },
		},
		.parts = {
			{ NULL, "Review the changes to the project in /workspace. Change nothing.\n\n", NULL },
			{ "base", "The changes are those since they left this revision: {}\nSee them with git diff REVISION...HEAD, "
				  "and with git diff HEAD what is not committed.\n",
			  "The changes are those that are not committed: see git status --short and git diff HEAD. Read new files "
			  "that git does not know yet with read_file.\n" },
			{ "focus", "Look above all for: {}\n", NULL },
			{ NULL,
			  "\n"
			  "1. Get the list of files first (git diff --stat), then the changes file by file. Read around each change "
			  "until you understand it, and look for who else calls or uses what was changed.\n"
			  "2. Ask of each change: is it right, also for empty, large, hostile and concurrent input? What happens when "
			  "a step fails? Is it tested by something that fails without it? Does documentation still tell the truth?\n"
			  "3. Build and run the tests where that is possible. Try what you suspect before you claim it.\n"
			  "\n"
			  "Report findings, the worst first: file and line, what goes wrong and when, how sure you are, and what to "
			  "do. Leave out matters of taste. Say so when you find nothing, and what you did not look at.\n",
			  NULL },
		},
	},
	{
		.name = "write-tests",
		.title = "Write tests",
		.description = "Write tests for a file or directory in the style of the project, and show that they can fail.",
		.arguments = {
			{ .name = "path", .title = "What to test", .description = "A file or directory of the workspace.",
			  .required = true, .kind = COMPLETE_PATH },
			PROMPT_COMMAND,
		},
		.parts = {
			{ "path", "Write tests for this part of the project in /workspace: {}\n\n", NULL },
			PROMPT_RUNS,
			{ NULL,
			  "\n"
			  "1. Read the code to be tested, and two or three tests of the project. Use the framework, the folders and "
			  "the style that are there; add no dependency.\n"
			  "2. List what the code promises: ordinary cases, borders, wrong input, failures of what it uses. Note "
			  "what is tested already.\n"
			  "3. Write the tests, one for each promise, with a name that says what is promised. No test may depend on "
			  "the order, on the time of day or on a network.\n"
			  "4. Run them. Then break the code on purpose in one place for each group of tests, see them fail, and "
			  "put the code back: git diff must show nothing but the tests.\n"
			  "5. When a test finds a fault in the code, keep the test, and report the fault instead of hiding it.\n"
			  "\n"
			  "Report what is tested now, what is not, the faults that you found, and the last result of all tests.\n",
			  NULL },
		},
	},
};

/* --- looking up --------------------------------------------------------------------------------------------------- */

const struct prompt *prompts_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++)
		if (strcmp(prompts[i].name, name) == 0)
			return &prompts[i];
	return NULL;
}

const struct prompt_argument *prompts_find_argument(const struct prompt *prompt, const char *name)
{
	for (size_t i = 0; i < PROMPTS_ARGUMENTS_MAX && prompt->arguments[i].name; i++)
		if (strcmp(prompt->arguments[i].name, name) == 0)
			return &prompt->arguments[i];
	return NULL;
}

void prompts_add_names(struct buf *b)
{
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++)
		buf_addf(b, "%s%s", i > 0 ? ", " : "", prompts[i].name);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

void prompts_write_description(struct buf *b, const struct prompt *prompt)
{
	size_t len;
	const char *skill = skill_description(&len);

	if (prompt->description)
		jsonw_str(b, prompt->description);
	else
		jsonw_string(b, skill, len);
}

static void add_argument(struct buf *b, const struct prompt_argument *argument, enum mcp_version version)
{
	buf_add_char(b, '{');
	jsonw_member(b, "name", argument->name);
	if (version >= MCP_2025_06_18)
		jsonw_member(b, "title", argument->title);
	jsonw_member(b, "description", argument->description);
	jsonw_name(b, "required");
	buf_add_str(b, argument->required ? "true}" : "false}");
}

static void add_prompt(struct buf *b, const struct prompt *prompt, enum mcp_version version)
{
	buf_add_char(b, '{');
	jsonw_member(b, "name", prompt->name);
	if (version >= MCP_2025_06_18)
		jsonw_member(b, "title", prompt->title);
	jsonw_name(b, "description");
	prompts_write_description(b, prompt);
	if (prompt->arguments[0].name) {
		jsonw_name(b, "arguments");
		buf_add_char(b, '[');
		for (size_t i = 0; i < PROMPTS_ARGUMENTS_MAX && prompt->arguments[i].name; i++) {
			buf_add_str(b, i > 0 ? "," : "");
			add_argument(b, &prompt->arguments[i], version);
		}
		buf_add_char(b, ']');
	}
	buf_add_char(b, '}');
}

void prompts_write_list(struct buf *b, enum mcp_version version)
{
	buf_add_char(b, '[');
	for (size_t i = 0; i < ARRAY_LEN(prompts); i++) {
		buf_add_str(b, i > 0 ? "," : "");
		add_prompt(b, &prompts[i], version);
	}
	buf_add_char(b, ']');
}

/* --- one of them -------------------------------------------------------------------------------------------------- */

/* The value of an argument, the last one when there are several; or NULL when it was not given. */
static const char *value_of(const cJSON *arguments, const char *name)
{
	const char *value = NULL;
	const cJSON *item;

	cJSON_ArrayForEach(item, arguments)
		if (strcmp(item->string, name) == 0)
			value = cJSON_GetStringValue(item);
	return value && value[0] ? value : NULL;
}

static void explain_unknown(struct buf *problem, const struct prompt *prompt, const char *name)
{
	buf_addf(problem, "The prompt \"%s\" has no argument \"%s\"; ", prompt->name, ws_show(name).s);
	if (!prompt->arguments[0].name)
		return buf_add_str(problem, "it takes none.");
	buf_add_str(problem, "it takes: ");
	for (size_t i = 0; i < PROMPTS_ARGUMENTS_MAX && prompt->arguments[i].name; i++)
		buf_addf(problem, "%s%s", i > 0 ? ", " : "", prompt->arguments[i].name);
}

static bool check(const struct prompt *prompt, const cJSON *arguments, struct buf *problem)
{
	const cJSON *value;

	cJSON_ArrayForEach(value, arguments) {
		const char *text = cJSON_GetStringValue(value);
		if (!prompts_find_argument(prompt, value->string))
			explain_unknown(problem, prompt, value->string);
		else if (!text)
			buf_addf(problem, "The argument \"%s\" must be a string.", value->string);
		else if (strlen(text) > PROMPTS_VALUE_MAX)
			buf_addf(problem, "The argument \"%s\" has %zu bytes; at most %d are taken.", value->string, strlen(text),
				 PROMPTS_VALUE_MAX);
		if (problem->len > 0 || buf_error(problem))
			return false;
	}
	for (size_t i = 0; i < PROMPTS_ARGUMENTS_MAX && prompt->arguments[i].name; i++) {
		const struct prompt_argument *argument = &prompt->arguments[i];
		if (!argument->required || value_of(arguments, argument->name))
			continue;
		buf_addf(problem, "The prompt \"%s\" needs the argument \"%s\": %s", prompt->name, argument->name,
			 argument->description);
		return false;
	}
	return true;
}

static void add_part(struct buf *text, const struct prompt_part *part, const char *value)
{
	const char *gap = value ? strstr(part->with, "{}") : NULL;

	if (part->argument && !value)
		return buf_add_str(text, part->without ? part->without : "");
	if (!gap)
		return buf_add_str(text, part->with);
	buf_add(text, part->with, (size_t) (gap - part->with));
	buf_add_str(text, value);
	buf_add_str(text, gap + strlen("{}"));
}

bool prompts_fill(struct buf *text, const struct prompt *prompt, const cJSON *arguments, struct buf *problem)
{
	if (!check(prompt, arguments, problem))
		return false;
	if (!prompt->description)
		buf_add_str(text, skill_body());
	for (size_t i = 0; i < PROMPTS_PARTS_MAX && prompt->parts[i].with; i++) {
		const struct prompt_part *part = &prompt->parts[i];
		add_part(text, part, part->argument ? value_of(arguments, part->argument) : NULL);
	}
	return true;
}
