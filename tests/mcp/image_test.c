/*
 * Sizes of pictures: one of each kind, cut at every length, and with bytes changed.
 */
#include "mcp/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/unit.h"

#define BYTES(text) (text), sizeof(text) - 1

static const struct {
	const char *what;
	const char *data;
	size_t len;
	const char *type;
	uint32_t width, height;
} rows[] = {
	{ "PNG", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\3\0\0\0\2\x08\2\0\0\0\xaa\xbb\xcc\xdd\0\0\0\1IDATx\xaa\xbb\xcc\xdd\0\0\0\0IEND\xae\x42\x60\x82"),
	  "image/png", 259, 2 },
	{ "JPEG", BYTES("\xff\xd8\xff\xe0\0\x04JF\xff\xff\xc0\0\x0b\x08\0\x10\1\x20\1\1\x11\0\xff\xda\0\2xx\xff\xd9"), "image/jpeg", 288, 16 },
	{ "progressive JPEG", BYTES("\xff\xd8\xff\xc4\0\3x\xff\xc2\0\x0b\x08\0\1\0\2\1\1\x11\0\xff\xd9"), "image/jpeg", 2, 1 },
	{ "GIF", BYTES("GIF89a\x0a\0\x14\0\0\0\0,x;"), "image/gif", 10, 20 },
	{ "lossy WebP", BYTES("RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x30\1\0\x9d\1\x2a\x40\1\xf0\0"), "image/webp", 320, 240 },
	{ "lossless WebP", BYTES("RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0\x2f\x3f\xc1\x3b\0xxxxx"), "image/webp", 320, 240 },
	{ "extended WebP", BYTES("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\1\0\xef\0\0"), "image/webp", 320, 240 },
};

START_TEST(test_sizes)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image image;

		ck_assert_msg(image_read(rows[i].data, rows[i].len, &image) == 0, "%s", rows[i].what);
		ck_assert_str_eq(image.type, rows[i].type);
		ck_assert_msg(image.width == rows[i].width && image.height == rows[i].height, "%s: %u x %u", rows[i].what, image.width, image.height);
	}
}
END_TEST

/* A part of a picture is none; every length is in memory of its own, so that a look beyond it is found out. */
START_TEST(test_parts)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t len = 0; len < rows[i].len; len++) {
			char *copy = malloc(len + 1);
			struct image image;

			ck_assert_ptr_nonnull(copy);
			memcpy(copy, rows[i].data, len);
			copy = realloc(copy, MAX(len, (size_t) 1));
			ck_assert_msg(image_read(copy, len, &image) < 0, "%zu bytes of %s", len, rows[i].what);
			free(copy);
		}
	}
}
END_TEST

START_TEST(test_changed_bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t at = 0; at < rows[i].len; at++) {
			for (unsigned int byte = 0; byte < 256; byte++) {
				char *copy = malloc(rows[i].len);
				struct image image = { .type = NULL };

				ck_assert_ptr_nonnull(copy);
				memcpy(copy, rows[i].data, rows[i].len);
				copy[at] = (char) byte;
				int r = image_read(copy, rows[i].len, &image);
				ck_assert(r == 0 ? image.width > 0 && image.height > 0 && image.type : r == -EINVAL || r == -ENOENT);
				free(copy);
			}
		}
	}
}
END_TEST

START_TEST(test_others)
{
	struct image image;

	ck_assert_int_eq(image_read(BYTES("BM\0\0\0\0\0\0\0\0\0\0\0\0"), &image), -ENOENT);
	ck_assert_int_eq(image_read(BYTES("RIFF\x10\0\0\0WAVEfmt "), &image), -ENOENT);
	ck_assert_int_eq(image_read("", 0, &image), -ENOENT);
	ck_assert_int_eq(image_read(BYTES("GIF89a\0\0\x14\0\0\0\0,x;"), &image), -EINVAL); /* no width */
}
END_TEST

UNIT_MAIN("mcp/image", test_sizes, test_parts, test_changed_bytes, test_others)
