/*
 * Argument validation: what is coerced, what is refused and in which words, defaults.
 */
#include "mcp/schema.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness/unit.h"

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":8},"
	"\"limit\":{\"type\":\"integer\",\"default\":100,\"minimum\":1,\"maximum\":1000},"
	"\"ratio\":{\"type\":\"number\"},"
	"\"dry_run\":{\"type\":\"boolean\",\"default\":false},"
	"\"size\":{\"type\":\"string\",\"pattern\":\"^[0-9]+[kmg]?$\"},"
	"\"mode\":{\"type\":\"string\",\"enum\":[\"fast\",\"slow\"]},"
	"\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":2},"
	"\"edits\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"old\":{\"type\":\"string\"},"
	"\"new\":{\"type\":\"string\"}},\"required\":[\"old\",\"new\"],\"additionalProperties\":false}}"
	"},\"required\":[\"path\"],\"additionalProperties\":false}";

static const struct {
	const char *args;
	const char *accepted; /* the whole object afterwards, or NULL */
	const char *refused;  /* part of the problems, or NULL */
} rows[] = {
#define REST ",\"limit\":100,\"dry_run\":false}"
	{ "{\"path\":\"a\"}", "{\"path\":\"a\"" REST, NULL },
	{ "{\"path\":\"a\",\"limit\":null,\"ratio\":null}", "{\"path\":\"a\"" REST, NULL },
	{ "{\"limit\":\"5\",\"path\":\"a\"}", "{\"limit\":5,\"path\":\"a\",\"dry_run\":false}", NULL },
	{ "{\"limit\":5.0,\"path\":\"a\"}", "{\"limit\":5,\"path\":\"a\",\"dry_run\":false}", NULL },
	{ "{\"limit\":\" 7.0 \",\"path\":\"a\"}", "{\"limit\":7,\"path\":\"a\",\"dry_run\":false}", NULL },
	{ "{\"limit\":true,\"path\":\"a\"}", "{\"limit\":1,\"path\":\"a\",\"dry_run\":false}", NULL },
	{ "{\"path\":\"a\",\"dry_run\":\"Yes\"}", "{\"path\":\"a\",\"dry_run\":true,\"limit\":100}", NULL },
	{ "{\"path\":\"a\",\"dry_run\":\"false\"}", "{\"path\":\"a\",\"dry_run\":false,\"limit\":100}", NULL },
	{ "{\"path\":\"a\",\"dry_run\":1}", "{\"path\":\"a\",\"dry_run\":true,\"limit\":100}", NULL },
	{ "{\"path\":\"a\",\"names\":\"[\\\"x\\\"]\"}",
	  "{\"path\":\"a\",\"names\":[\"x\"],\"limit\":100,\"dry_run\":false}", NULL },
	{ "{\"path\":\"a\",\"edits\":[\"{\\\"old\\\":\\\"1\\\",\\\"new\\\":\\\"2\\\"}\"]}",
	  "{\"path\":\"a\",\"edits\":[{\"old\":\"1\",\"new\":\"2\"}],\"limit\":100,\"dry_run\":false}", NULL },
	{ "{\"path\":\"a\",\"path\":\"b\"}", "{\"path\":\"b\"" REST, NULL },
	{ "{\"path\":\"a\",\"ratio\":\"1e-2\"}", "{\"path\":\"a\",\"ratio\":0.01,\"limit\":100,\"dry_run\":false}",
	  NULL },
	{ "{\"path\":\"a\",\"mode\":\"slow\"}", "{\"path\":\"a\",\"mode\":\"slow\",\"limit\":100,\"dry_run\":false}",
	  NULL },
	/* One item for an array of them. */
	{ "{\"path\":\"a\",\"names\":\"x\"}", "{\"path\":\"a\",\"names\":[\"x\"]" REST, NULL },
	{ "{\"path\":\"a\",\"edits\":{\"old\":\"1\",\"new\":\"2\"}}", "{\"path\":\"a\",\"edits\":[{\"old\":\"1\",\"new\":\"2\"}]" REST, NULL },
	{ "{\"path\":\"a\",\"edits\":\"{\\\"old\\\":\\\"1\\\",\\\"new\\\":\\\"2\\\"}\"}",
	  "{\"path\":\"a\",\"edits\":[{\"old\":\"1\",\"new\":\"2\"}]" REST, NULL },
	/* A number for a string, where its digits can be meant only; the pattern itself is not looked at. */
	{ "{\"path\":\"a\",\"size\":512}", "{\"path\":\"a\",\"size\":\"512\"" REST, NULL },
	{ "{\"path\":\"a\",\"size\":4294967296.0}", "{\"path\":\"a\",\"size\":\"4294967296\"" REST, NULL },
	{ "{\"path\":\"a\",\"size\":\"much\"}", "{\"path\":\"a\",\"size\":\"much\"" REST, NULL },
	{ "{\"path\":\"a\",\"size\":null}", "{\"path\":\"a\"" REST, NULL },
#undef REST
	{ "{\"path\":\"a\",\"size\":1.5}", NULL, "- size: must be a string, but is 1.5" },
	{ "{\"path\":\"a\",\"size\":1e300}", NULL, "- size: must be a string" },
	{ "{\"path\":\"a\",\"size\":true}", NULL, "- size: must be a string, but is true" },
	{ "{}", NULL, "- path: is required, but missing" },
	{ "{\"path\":null}", NULL, "- path: must be a string, but is null" },
	{ "{\"path\":5}", NULL, "- path: must be a string, but is 5" },
	{ "{\"path\":\"\"}", NULL, "at least 1" },
	{ "{\"path\":\"123456789\"}", NULL, "at most 8" },
	{ "{\"path\":\"a\",\"limit\":5.5}", NULL, "- limit: must be an integer, but is 5.5" },
	{ "{\"path\":\"a\",\"limit\":5.1}", NULL, "- limit: must be an integer, but is 5.1\n" },
	{ "{\"path\":\"a\",\"limit\":0.30000000000000004}", NULL, "but is 0.30000000000000004\n" },
	{ "{\"path\":\"a\",\"limit\":\"five\"}", NULL, "but is the string \"five\"" },
	{ "{\"path\":\"a\",\"limit\":\"5 6\"}", NULL, "- limit:" },
	{ "{\"path\":\"a\",\"limit\":1e300}", NULL, "- limit: must be an integer" },
	{ "{\"path\":\"a\",\"limit\":0}", NULL, "at least 1, but is 0" },
	{ "{\"path\":\"a\",\"limit\":1001}", NULL, "at most 1000" },
	{ "{\"path\":\"a\",\"ratio\":1e999}", NULL, "- ratio:" },
	{ "{\"path\":\"a\",\"dry_run\":\"maybe\"}", NULL, "- dry_run: must be true or false" },
	{ "{\"path\":\"a\",\"mode\":\"medium\"}", NULL, "must be one of \"fast\", \"slow\"" },
	{ "{\"path\":\"a\",\"names\":\"x, y\"}", NULL, "- names: must be an array, but is the string \"x, y\"" },
	{ "{\"path\":\"a\",\"names\":\"[x\"}", NULL, "- names: must be an array" },
	{ "{\"path\":\"a\",\"names\":\"\"}", NULL, "- names: must be an array" },
	{ "{\"path\":\"a\",\"names\":{}}", NULL, "- names: must be an array, but is an object" },
	{ "{\"path\":\"a\",\"names\":5}", NULL, "- names: must be an array, but is 5" },
	{ "{\"path\":\"a\",\"edits\":\"x\"}", NULL, "- edits: must be an array" },
	{ "{\"path\":\"a\",\"edits\":{\"old\":\"x\"}}", NULL, "- edits[0].new: is required" },
	{ "{\"path\":\"a\",\"names\":[\"x\",5]}", NULL, "- names[1]: must be a string" },
	{ "{\"path\":\"a\",\"names\":[\"x\",\"y\",\"z\"]}", NULL, "at most 2 items" },
	{ "{\"path\":\"a\",\"edits\":[{\"old\":\"x\"}]}", NULL, "- edits[0].new: is required" },
	{ "{\"path\":\"a\",\"edits\":[{\"old\":\"x\",\"new\":\"y\",\"nwe\":\"z\"}]}", NULL,
	  "- edits[0].nwe: there is no such argument; did you mean \"new\"?" },
	{ "{\"pth\":\"a\",\"path\":\"b\"}", NULL, "- pth: there is no such argument; did you mean \"path\"?" },
	{ "{\"file_path\":\"a\",\"path\":\"b\"}", NULL, "- file_path: there is no such argument; did you mean \"path\"?" },
	{ "{\"path\":\"a\",\"edits\":[{\"old_string\":\"x\",\"new_str\":\"y\"}]}", NULL,
	  "- edits[0].old_string: there is no such argument; did you mean \"old\"?\n"
	  "- edits[0].new_str: there is no such argument; did you mean \"new\"?" },
	{ "{\"path\":\"b\",\"dry\":true}", NULL, "did you mean \"dry_run\"?" },
	{ "{\"zzzzzz\":1,\"path\":\"b\"}", NULL, "there are: path, limit, ratio" },
	{ "{\"limit\":5.5,\"mode\":1}", NULL, "- path: is required" },
	{ "{\"limit\":5.5,\"mode\":1}", NULL, "- mode: must be a string" },
};

START_TEST(test_rows)
{
	cJSON *schema = cJSON_Parse(schema_text);

	ck_assert_ptr_nonnull(schema);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf problems = BUF_INIT(SCHEMA_PROBLEMS_MAX);
		cJSON *args = schema_apply(schema, cJSON_Parse(rows[i].args), &problems);
		ck_assert_msg(!args == !rows[i].accepted, "'%s': %s", rows[i].args, buf_cstr(&problems));
		if (args) {
			char *text = cJSON_PrintUnformatted(args);
			ck_assert_str_eq(text, rows[i].accepted);
			free(text);
			cJSON_Delete(args);
		} else {
			ck_assert_msg(strstr(buf_cstr(&problems), rows[i].refused) != NULL, "'%s': %s", rows[i].args,
				      buf_cstr(&problems));
		}
	}
	cJSON_Delete(schema);
}
END_TEST

START_TEST(test_no_arguments)
{
	cJSON *schema =
		cJSON_Parse("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":\".\"}}}");
	_cleanup_buf_ struct buf problems = BUF_INIT(SCHEMA_PROBLEMS_MAX);
	cJSON *args = schema_apply(schema, NULL, &problems);

	ck_assert_ptr_nonnull(args);
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(args, "a")->valuestring, ".");
	cJSON_Delete(args);
	cJSON_Delete(schema);
}
END_TEST

START_TEST(test_hostile_sizes)
{
	cJSON *schema = cJSON_Parse(schema_text);
	_cleanup_buf_ struct buf problems = BUF_INIT(SCHEMA_PROBLEMS_MAX);
	cJSON *args = cJSON_CreateObject();

	for (int i = 0; i < 50000; i++)
		cJSON_AddItemToObject(args, "same", cJSON_CreateNull());
	ck_assert_ptr_null(schema_apply(schema, args, &problems));
	buf_clear(&problems);
	args = cJSON_CreateObject();
	cJSON *names = cJSON_AddArrayToObject(args, "edits");
	for (int i = 0; i < 50000; i++)
		cJSON_AddItemToArray(names, cJSON_CreateNull());
	ck_assert_ptr_null(schema_apply(schema, args, &problems));
	ck_assert_uint_le(problems.len, SCHEMA_PROBLEMS_MAX);
	cJSON_Delete(schema);
}
END_TEST

UNIT_MAIN("mcp/schema", test_rows, test_no_arguments, test_hostile_sizes)
