/*
 * Prompts: what the table must keep to, what values do to a text, and which are refused.
 */
#include "mcp/prompts.h"

#include <string.h>

#include "mcp/skill.h"
#include "tests/harness/unit.h"

enum { NAME_MAX_SHOWN = 40 };

static struct buf text = BUF_INIT(PROMPTS_TEXT_MAX), problem = BUF_INIT(4096);

/* Fills the prompt @name with the object @json; its text, or what is wrong. */
static const char *fill(const char *name, const char *json)
{
	const struct prompt *prompt = prompts_find(name);
	cJSON *arguments = json ? cJSON_Parse(json) : NULL;

	ck_assert_msg(prompt && (!json || arguments), "%s %s", name, json ? json : "");
	buf_done(&text);
	buf_done(&problem);
	text = (struct buf) BUF_INIT(PROMPTS_TEXT_MAX);
	problem = (struct buf) BUF_INIT(4096);
	bool good = prompts_fill(&text, prompt, arguments, &problem);
	cJSON_Delete(arguments);
	ck_assert_int_eq(buf_error(&text), 0);
	ck_assert_int_eq(buf_error(&problem), 0);
	ck_assert_int_eq(good, problem.len == 0);
	return good ? buf_cstr(&text) : buf_cstr(&problem);
}

static void check_argument(const cJSON *argument)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(argument, "name"));

	ck_assert_ptr_nonnull(name);
	ck_assert_uint_le(strlen(name), NAME_MAX_SHOWN);
	ck_assert(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(argument, "title")));
	ck_assert(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(argument, "description")));
	ck_assert(cJSON_IsBool(cJSON_GetObjectItemCaseSensitive(argument, "required")));
}

START_TEST(test_list)
{
	struct buf b = BUF_INIT(64 * 1024);
	const cJSON *prompt, *argument;

	prompts_write_list(&b, MCP_2026_07_28);
	cJSON *list = cJSON_Parse(buf_cstr(&b));
	ck_assert_int_ge(cJSON_GetArraySize(list), 5);
	cJSON_ArrayForEach(prompt, list) {
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(prompt, "name"));
		ck_assert_ptr_nonnull(name);
		ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
		ck_assert_uint_le(strlen(name), NAME_MAX_SHOWN);
		ck_assert_str_eq(prompts_find(name)->name, name);
		ck_assert(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(prompt, "title")));
		ck_assert_uint_ge(strlen(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(prompt, "description"))), 20);
		cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(prompt, "arguments"))
			check_argument(argument);
	}
	cJSON_Delete(list);
	buf_clear(&b);
	prompts_write_list(&b, MCP_2025_03_26);
	ck_assert_ptr_null(strstr(buf_cstr(&b), "\"title\""));
	buf_clear(&b);
	prompts_add_names(&b);
	ck_assert_str_eq(buf_cstr(&b), "cloche, explore, fix-tests, review-changes, write-tests");
	ck_assert_ptr_null(prompts_find(""));
	ck_assert_ptr_null(prompts_find("Explore"));
	buf_done(&b);
}
END_TEST

/* Every value has its place in its text, and parts that depend on one are there only with it. */
START_TEST(test_values)
{
	static const char *const names[] = { "explore", "fix-tests", "review-changes", "write-tests" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct prompt *prompt = prompts_find(names[i]);
		cJSON *all = cJSON_CreateObject();
		for (size_t a = 0; a < PROMPTS_ARGUMENTS_MAX && prompt->arguments[a].name; a++)
			ck_assert_ptr_nonnull(cJSON_AddStringToObject(all, prompt->arguments[a].name,
								      (const char *const[]) { "VALUE-0", "VALUE-1", "VALUE-2",
											      "VALUE-3" }[a]));
		char *json = cJSON_PrintUnformatted(all);
		const char *filled = fill(names[i], json);
		for (size_t a = 0; a < PROMPTS_ARGUMENTS_MAX && prompt->arguments[a].name; a++) {
			const char value[] = { 'V', 'A', 'L', 'U', 'E', '-', (char) ('0' + (char) a), '\0' };
			const char *at = strstr(filled, value);
			ck_assert_msg(at != NULL, "%s lacks %s", names[i], value);
			ck_assert_msg(!strstr(at + 1, value), "%s has %s twice", names[i], value);
		}
		ck_assert_ptr_null(strstr(filled, "{}"));
		cJSON_free(json);
		cJSON_Delete(all);
	}
	ck_assert_str_eq(fill("cloche", NULL), skill_body());
	ck_assert_str_eq(fill("cloche", "{}"), skill_body());
	const char *bare = fill("explore", "{\"path\":\"\"}");
	ck_assert_ptr_null(strstr(bare, "Look only at"));
	ck_assert_ptr_null(strstr(bare, "{}"));
	ck_assert_ptr_nonnull(strstr(fill("fix-tests", NULL), "Find out how the tests are run"));
	ck_assert_ptr_null(strstr(fill("fix-tests", "{\"command\":\"make t\"}"), "Find out how the tests are run"));
	/* A value is text and nothing else. */
	ck_assert_ptr_nonnull(strstr(fill("explore", "{\"path\":\"a{}b%s\\n\"}"), "Look only at: a{}b%s\n\n"));
}
END_TEST

START_TEST(test_refusals)
{
	char *large = malloc(PROMPTS_VALUE_MAX + 64);
	size_t head = strlen("{\"path\":\"");

	ck_assert_str_eq(fill("explore", "{\"pth\":\"x\"}"), "The prompt \"explore\" has no argument \"pth\"; it takes: path, question");
	ck_assert_str_eq(fill("cloche", "{\"path\":\"x\"}"), "The prompt \"cloche\" has no argument \"path\"; it takes none.");
	ck_assert_str_eq(fill("explore", "{\"path\":5}"), "The argument \"path\" must be a string.");
	ck_assert_str_eq(fill("explore", "{\"path\":null}"), "The argument \"path\" must be a string.");
	const char *wanted = "The prompt \"write-tests\" needs the argument \"path\": A file or directory of the workspace.";
	ck_assert_str_eq(fill("write-tests", NULL), wanted);
	ck_assert_str_eq(fill("write-tests", "{\"path\":\"\",\"command\":\"x\"}"), wanted);
	ck_assert_ptr_nonnull(large);
	memcpy(large, "{\"path\":\"", head);
	memset(large + head, 'x', PROMPTS_VALUE_MAX);
	memcpy(large + head + PROMPTS_VALUE_MAX, "\"}", 3);
	ck_assert_ptr_nonnull(strstr(fill("explore", large), "xxx\n"));
	memcpy(large + head + PROMPTS_VALUE_MAX, "y\"}", 4);
	ck_assert_str_eq(fill("explore", large), "The argument \"path\" has 4097 bytes; at most 4096 are taken.");
	free(large);
}
END_TEST

UNIT_MAIN("mcp/prompts", test_list, test_values, test_refusals)
