/*
 * Fuzz target: settings files of other programs that are changed by text (runtime/compile/jsonc.h, toml.h). Sees files that anybody
 * may have written, on the host, in the confined cloche-compile.
 *
 * The first byte chooses the kind of file; the rest is its text.
 */
#include <stdbool.h>
#include <string.h>

#include "runtime/compile/jsonc.h"
#include "runtime/compile/toml.h"
#include "runtime/spec/compilemsg.h"
#include "tests/fuzz/fuzz.h"

/* The form is told in spec/compilemsg.h. The last empty name is the string's own NUL. */
static const char settings[] =
	"servers\0cloche\0command\0\0\"/usr/bin/cloche\"\0"
	"servers\0cloche\0args\0\0[\"mcp\", \"/a b\"]\0"
	"servers\0cloche\0timeout\0\0005\0"
	"top\0\0\"x\"\0";

static int edit(bool toml, const char *text, size_t len, struct buf *out, struct err *err)
{
	struct buf input = BUF_INIT(2 * COMPILE_INPUT_MAX);

	*err = (struct err) { .code = ERR_NONE };
	buf_add(&input, settings, sizeof(settings));
	buf_add(&input, text, len);
	int r = toml ? toml_edit(input.p, input.len, out, err) : jsonc_edit(input.p, input.len, out, err);
	buf_done(&input);
	return r;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/*
 * Where none of our names stands, nothing is replaced: the file is still there, with something between. Blanks do not count: an
 * empty object becomes one with members.
 */
static void check_rest(const char *text, size_t len, const struct buf *out)
{
	static const char *const ours[] = { "servers", "cloche", "top", "\\" };
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (memmem(text, len, ours[i], strlen(ours[i])))
			return;
	for (size_t i = 0; i <= out->len; i++) {
		while (found < len && is_blank(text[found]))
			found++;
		found += i < out->len && found < len && out->p[i] == text[found];
	}
	fuzz_need(found == len, "bytes of the file are gone");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT(COMPILE_OUTPUT_MAX), again = BUF_INIT(COMPILE_OUTPUT_MAX);
	struct err err;

	if (size < 1)
		return 0;
	bool toml = data[0] & 1;
	if (edit(toml, (const char *) data + 1, size - 1, &out, &err) < 0) {
		fuzz_need(err.text[0], "a refusal without a reason");
	} else {
		check_rest((const char *) data + 1, size - 1, &out);
		fuzz_need(edit(toml, buf_cstr(&out), out.len, &again, &err) == 0, "what was written is refused");
		fuzz_need(again.len == out.len && memcmp(again.p, out.p, out.len) == 0, "what was written changes");
	}
	buf_done(&out);
	buf_done(&again);
	return 0;
}
