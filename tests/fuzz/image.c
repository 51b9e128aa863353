/*
 * Fuzz target: type and size of a picture (mcp/image.h, mcp/mime.h). Sees files that anybody may have made.
 *
 * The first line is the file's name, the rest its content.
 */
#include <string.h>

#include "mcp/image.h"
#include "mcp/mime.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
	struct image image = { .type = NULL };

	if (!newline)
		return 0;
	char *name = strndup((const char *) data, (size_t) (newline - data));
	/* Of exactly the content's size, so that a look beyond it is noticed. */
	size_t len = size - (size_t) (newline + 1 - data);
	uint8_t *content = malloc(len + (len == 0));
	fuzz_need(name && content, "no memory");
	memcpy(content, newline + 1, len);
	const char *picture = mime_of_picture((const char *) content, len);
	if (image_read(content, len, &image) == 0)
		fuzz_need(picture && image.type && strcmp(picture, image.type) == 0, "a picture of two types");
	fuzz_need(mime_of(name, (const char *) content, len, data[0] & 1) != NULL, "a file without a type");
	free(content);
	free(name);
	return 0;
}
