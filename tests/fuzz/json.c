/*
 * Fuzz target: the checker of JSON files (mcp/check_json.h), and whether it agrees with the pre-scan. Sees what a model writes.
 */
#include <string.h>

#include "mcp/check_json.h"
#include "mcp/scan.h"
#include "runtime/base/utf8.h"
#include "tests/fuzz/fuzz.h"

/* What the pre-scan refuses though it is JSON: more than a message may hold. */
static bool is_about_size(const struct scan *scan, enum scan_result result)
{
	return result == SCAN_SIZE || strcmp(scan->problem, "it is nested too deeply") == 0 ||
	       strcmp(scan->problem, "a number has too many digits") == 0;
}

static void check_verdict(const struct check_result *res)
{
	fuzz_need((res->verdict == CHECK_OK) == (res->text[0] == '\0'), "a verdict without its reason, or a reason without its verdict");
	fuzz_need(utf8_is_valid(res->text, strlen(res->text)) && utf8_is_valid(res->warning, strlen(res->warning)), "a report that is not UTF-8");
}

static void check_agreement(const char *data, size_t len, const struct check_result *res)
{
	struct check_result copy;
	struct scan scan;

	scan_trim(&data, &len);
	if (len == 0)
		return;
	enum scan_result result = scan_value(&scan, data, len);
	/* NaN and Infinity pass with a warning, and so does a repeated name. */
	if (res->verdict == CHECK_OK && !res->warning[0])
		fuzz_need(result == SCAN_OK || is_about_size(&scan, result), "a good file is no good message");
	if (result == SCAN_OK) {
		check_json(scan.text.p, scan.text.len, &copy);
		fuzz_need(copy.verdict == CHECK_OK, "a good message, repaired, is no good file");
	}
	scan_done(&scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct check_result res;

	check_jsonl((const char *) data, size, &res);
	check_verdict(&res);
	check_json((const char *) data, size, &res);
	check_verdict(&res);
	check_agreement((const char *) data, size, &res);
	return 0;
}
