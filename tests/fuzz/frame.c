/*
 * Fuzz target: newline framing (mcp/frame.h), against a model that looks at the whole stream at once. Sees what a client sends.
 *
 * The first byte chooses the longest line and how the stream is cut into pieces.
 */
#include <string.h>

#include "mcp/frame.h"
#include "mcp/scan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/seeded.h"

/* The line that begins at @p: what frame_take() has to say about it. */
static void check_line(enum frame_event event, const char *line, size_t len, const char *p, size_t n, size_t max)
{
	size_t head = MIN(max, (size_t) FRAME_HEAD);

	fuzz_need(event == (n <= max ? FRAME_LINE : FRAME_TOO_LONG), "a line of the wrong kind");
	fuzz_need(len == (n <= max ? n : head), "a line of the wrong length");
	fuzz_need(len == 0 || memcmp(line, p, len) == 0, "a line with other bytes");
}

static void check_trimmed(const char *line, size_t len)
{
	const char *before = line;
	size_t len_before = len;

	scan_trim(&line, &len);
	fuzz_need(line >= before && line + len <= before + len_before, "trimmed outside the line");
	fuzz_need(len == 0 || (!strchr(" \t\r\n", line[0]) && !strchr(" \t\r\n", line[len - 1])) || !line[0] || !line[len - 1],
		  "white space is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	const size_t max = (size_t[]) { 0, 1, 16, 200 }[data[0] & 3];
	struct seeded dice = { .state = (uint64_t) data[0] + 1 };
	const char *stream = (const char *) data + 1, *end = (const char *) data + size, *at = stream;
	struct frame frame;

	frame_init(&frame, max);
	while (stream < end) {
		size_t piece = MIN(1 + seeded_below(&dice, data[0] & 4 ? 3 : 300), (size_t) (end - stream));
		const char *next = stream;
		size_t left = piece;
		while (left > 0) {
			const char *line;
			size_t len;
			enum frame_event event = frame_take(&frame, &next, &left, &line, &len);
			fuzz_need(next + left == stream + piece, "bytes were lost");
			const char *newline = memchr(at, '\n', (size_t) (next - at));
			fuzz_need((event == FRAME_MORE) == (newline == NULL), "a line ends where there is no newline, or not where there is one");
			if (event == FRAME_MORE)
				continue;
			check_line(event, line, len, at, (size_t) (newline - at), max);
			check_trimmed(line, len);
			at = newline + 1;
		}
		stream += piece;
	}
	frame_done(&frame);
	return 0;
}
