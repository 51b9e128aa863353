/*
 * Fuzz target: the pre-scan (mcp/scan.h) and the envelope (mcp/rpc.h) over one line. Sees what a client sends.
 */
#include <string.h>

#include "mcp/rpc.h"
#include "mcp/scan.h"
#include "runtime/base/utf8.h"
#include "tests/fuzz/fuzz.h"

enum { SLICES_MAX = 100 };

/* What cJSON is given: text that it reads to its end, and that needs no further repair. */
static void check_copy(const char *text, size_t len)
{
	struct scan again;
	const char *end = NULL;
	cJSON *tree = cJSON_ParseWithLengthOpts(text, len + 1, &end, true);

	fuzz_need(utf8_is_valid(text, len), "the copy is not UTF-8");
	for (size_t i = 0; i < len; i++)
		fuzz_need((unsigned char) text[i] >= 0x20, "the copy holds a control character");
	fuzz_need(tree && end == text + len, "cJSON does not read what the scan accepted");
	cJSON_Delete(tree);
	fuzz_need(scan_value(&again, text, len) == SCAN_OK, "the copy is not accepted");
	fuzz_need(again.text.len == len && memcmp(again.text.p, text, len) == 0 && !again.has_nul, "the copy is not final");
	scan_done(&again);
}

/* An id or token is one JSON string or number, short, and can be echoed. */
static void check_raw(const struct scan_raw *raw)
{
	struct scan scan;

	if (raw->type != SCAN_STRING && raw->type != SCAN_NUMBER)
		return;
	fuzz_need(raw->text.len > 0 && raw->text.len <= SCAN_RAW_MAX, "a raw value of the wrong length");
	fuzz_need((raw->text.p[0] == '"') == (raw->type == SCAN_STRING), "a raw value of the wrong type");
	fuzz_need(utf8_is_valid(raw->text.p, raw->text.len) && strlen(raw->text.p) == raw->text.len, "a raw value that cannot be echoed");
	enum scan_result result = scan_value(&scan, raw->text.p, raw->text.len);
	fuzz_need(result == SCAN_OK || raw->type == SCAN_NUMBER, "a raw value that is no JSON");
	scan_done(&scan);
}

static void check_split(const char *line, size_t len, enum scan_result whole)
{
	struct scan_slice slices[SLICES_MAX];
	struct scan scan;
	size_t count;
	enum scan_result result = scan_split(&scan, line, len, slices, SLICES_MAX, &count);

	fuzz_need((result == SCAN_OK) == (whole == SCAN_OK), "an array is accepted as one and refused as the other");
	for (size_t i = 0; result == SCAN_OK && i < MIN(count, (size_t) SLICES_MAX); i++) {
		fuzz_need(slices[i].p > line && slices[i].p + slices[i].len < line + len, "an element outside its array");
		fuzz_need(scan_value(&scan, slices[i].p, slices[i].len) == SCAN_OK, "an element that is no value");
		scan_done(&scan);
	}
}

static void check_envelope(const char *line, size_t len)
{
	struct rpc m;

	rpc_parse(&m, line, len);
	fuzz_need(m.kind != RPC_REQUEST || (m.id && m.method), "a request without id or method");
	fuzz_need(m.kind != RPC_NOTIFICATION || (!m.id && m.method), "a notification with an id, or without method");
	fuzz_need((m.kind == RPC_BAD) == (m.code != 0) && (m.kind == RPC_BAD) == (m.problem[0] != '\0'), "a problem that is not told");
	rpc_done(&m);
	rpc_too_long(&m, line, len, 1);
	fuzz_need(m.kind == RPC_BAD && m.code == RPC_INVALID_REQUEST, "a long line that is not refused");
	rpc_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line = (const char *) data;
	size_t len = size;
	struct scan scan;

	scan_trim(&line, &len);
	if (len == 0)
		return 0;
	enum scan_result result = scan_message(&scan, line, len);
	if (result == SCAN_OK)
		check_copy(scan.text.p, scan.text.len);
	else
		fuzz_need(scan.problem[0] && scan.offset <= len, "a problem that is not told");
	check_raw(&scan.id);
	check_raw(&scan.token);
	check_raw(&scan.target);
	scan_done(&scan);
	if (line[0] == '[' && result != SCAN_SIZE)
		check_split(line, len, result);
	check_envelope(line, len);
	return 0;
}
