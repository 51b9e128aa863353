/*
 * The size of pictures: see image.h. Pure functions; they see whatever an agent put into a file.
 */
#include "mcp/image.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "mcp/mime.h"

struct bytes {
	const unsigned char *p;
	size_t len;
};

static uint32_t be16(const unsigned char *p)
{
	return (uint32_t) p[0] << 8 | p[1];
}

static uint32_t be32(const unsigned char *p)
{
	return be16(p) << 16 | be16(p + 2);
}

static uint32_t le16(const unsigned char *p)
{
	return (uint32_t) p[1] << 8 | p[0];
}

static uint32_t le24(const unsigned char *p)
{
	return (uint32_t) p[2] << 16 | le16(p);
}

static uint32_t le32(const unsigned char *p)
{
	return le16(p + 2) << 16 | le16(p);
}

static bool is_tag(const unsigned char *p, const char tag[static 4])
{
	return memcmp(p, tag, 4) == 0;
}

/* --- one function per kind: false when it is damaged -------------------------------------------------------------- */

enum { PNG_FIRST = 8, PNG_CHUNK = 12 }; /* bytes of the signature; of a chunk beside its data */

static bool read_png(struct bytes b, struct image *ret)
{
	bool complete = false;

	if (b.len < PNG_FIRST + 16 || !is_tag(b.p + PNG_FIRST + 4, "IHDR"))
		return false;
	ret->width = be32(b.p + PNG_FIRST + 8);
	ret->height = be32(b.p + PNG_FIRST + 12);
	for (size_t at = PNG_FIRST; !complete && b.len - at >= PNG_CHUNK;) {
		size_t len = be32(b.p + at);

		if (len > b.len - at - PNG_CHUNK)
			return false;
		complete = is_tag(b.p + at + 4, "IEND");
		at += PNG_CHUNK + len;
	}
	return complete;
}

/* Whether the JPEG marker @m begins a frame, which has the size: SOF0 to SOF15 but those for tables. */
static bool is_frame(unsigned int m)
{
	return m >= 0xC0 && m <= 0xCF && m != 0xC4 && m != 0xC8 && m != 0xCC;
}

static bool read_jpeg(struct bytes b, struct image *ret)
{
	static const char end_of_image[] = "\xff\xd9";

	for (size_t at = 2; b.len - at >= 9;) {
		unsigned int marker = b.p[at + 1];
		size_t len = be16(b.p + at + 2);

		if (b.p[at] != 0xFF)
			return false;
		if (marker == 0xFF) { /* fill bytes may stand in front of a marker */
			at++;
			continue;
		}
		if (is_frame(marker)) {
			ret->height = be16(b.p + at + 5);
			ret->width = be16(b.p + at + 7);
			return memmem(b.p + at, b.len - at, end_of_image, 2) != NULL;
		}
		if (len < 2 || len > b.len - at - 2)
			return false;
		at += 2 + len;
		if (at + 2 > b.len)
			return false;
	}
	return false;
}

static bool read_gif(struct bytes b, struct image *ret)
{
	if (b.len < 14)
		return false;
	ret->width = le16(b.p + 6);
	ret->height = le16(b.p + 8);
	while (b.len > 0 && b.p[b.len - 1] == 0)
		b.len--;
	return b.p[b.len - 1] == ';';
}

static bool read_webp(struct bytes b, struct image *ret)
{
	if (b.len < 30 || le32(b.p + 4) > b.len - 8)
		return false;
	const unsigned char *chunk = b.p + 12, *data = chunk + 8;
	if (is_tag(chunk, "VP8X")) {
		ret->width = le24(data + 4) + 1;
		ret->height = le24(data + 7) + 1;
		return true;
	}
	if (is_tag(chunk, "VP8L")) {
		ret->width = (le32(data + 1) & 0x3FFF) + 1;
		ret->height = (le32(data + 1) >> 14 & 0x3FFF) + 1;
		return data[0] == 0x2F;
	}
	ret->width = le16(data + 6) & 0x3FFF;
	ret->height = le16(data + 8) & 0x3FFF;
	return is_tag(chunk, "VP8 ") && data[3] == 0x9D && data[4] == 0x01 && data[5] == 0x2A;
}

static const struct {
	const char *type;
	bool (*read)(struct bytes b, struct image *ret);
} kinds[] = {
	{ "image/png", read_png },
	{ "image/jpeg", read_jpeg },
	{ "image/gif", read_gif },
	{ "image/webp", read_webp },
};

int image_read(const void *data, size_t len, struct image *ret)
{
	const char *type = mime_of_picture(data, len);

	for (size_t i = 0; type && i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].type, type) != 0)
			continue;
		*ret = (struct image) { .type = kinds[i].type };
		bool good = kinds[i].read((struct bytes) { data, len }, ret);
		return good && ret->width > 0 && ret->height > 0 ? 0 : -EINVAL;
	}
	return -ENOENT;
}
