/*
 * Media types of files, and base64.
 */
#include "mcp/mime.h"

#include <errno.h>
#include <string.h>

#include "mcp/base64.h"
#include "tests/harness/unit.h"

#define PNG "\x89PNG\r\n\x1a\n0000"
#define WEBP "RIFF\x10\x00\x00\x00WEBPVP8 "

START_TEST(test_pictures)
{
	ck_assert_str_eq(mime_of_picture(PNG, sizeof(PNG) - 1), "image/png");
	ck_assert_str_eq(mime_of_picture("\xff\xd8\xff\xe0", 4), "image/jpeg");
	ck_assert_str_eq(mime_of_picture("GIF87a", 6), "image/gif");
	ck_assert_str_eq(mime_of_picture("GIF89a..", 8), "image/gif");
	ck_assert_str_eq(mime_of_picture(WEBP, sizeof(WEBP) - 1), "image/webp");
	ck_assert_str_eq(mime_of_picture(WEBP, 12), "image/webp");
	ck_assert_ptr_null(mime_of_picture(WEBP, 11));
	ck_assert_ptr_null(mime_of_picture("RIFF\x10\x00\x00\x00WAVEfmt ", 16));
	ck_assert_ptr_null(mime_of_picture(PNG, 7));
	ck_assert_ptr_null(mime_of_picture("GIF88a", 6));
	ck_assert_ptr_null(mime_of_picture("", 0));
}
END_TEST

START_TEST(test_names)
{
	static const struct {
		const char *name;
		bool is_text;
		const char *type;
	} rows[] = {
		{ "README.md", true, "text/markdown" },
		{ "src/main.c", true, "text/x-c" },
		{ "a/b.tar/PAGE.HTML", true, "text/html" },
		{ "x.min.js", true, "text/javascript" },
		{ "data.json", true, "application/json" },
		{ "logo.svg", true, "image/svg+xml" },
		{ "a.pdf", false, "application/pdf" },
		{ "a.tar.gz", false, "application/gzip" },
		{ "Makefile", true, "text/plain" },
		{ "a.out", false, "application/octet-stream" },
		{ "a.unknown", true, "text/plain" },
		{ ".md", true, "text/plain" }, /* no extension: a hidden file */
		{ "dir.md/", true, "text/plain" },
		{ "dir.md/file", true, "text/plain" },
		{ "a.", true, "text/plain" },
		{ "", true, "text/plain" },
		/* A name that promises what is not there. */
		{ "a.c", false, "application/octet-stream" },
		{ "a.png", true, "text/plain" },
		{ "a.zip", true, "text/plain" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(strcmp(mime_of(rows[i].name, "x", 1, rows[i].is_text), rows[i].type) == 0, "%s: %s", rows[i].name,
			      mime_of(rows[i].name, "x", 1, rows[i].is_text));
	/* What is in a file goes before its name. */
	ck_assert_str_eq(mime_of("a.zip", PNG, sizeof(PNG) - 1, false), "image/png");
	ck_assert_str_eq(mime_of("a.txt", "GIF89a", 6, true), "text/plain");
}
END_TEST

static const char *in_base64(const char *data, size_t n)
{
	static struct buf b = BUF_INIT(256);

	buf_clear(&b);
	base64_add(&b, data, n);
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_uint_eq(b.len, base64_length(n));
	ck_assert_uint_eq(strlen(buf_cstr(&b)), b.len);
	return buf_cstr(&b);
}

/* The vectors of RFC 4648, section 10, and all digits. */
START_TEST(test_base64)
{
	static const char all[] = "\x00\x10\x83\x10\x51\x87\x20\x92\x8b\x30\xd3\x8f\x41\x14\x93\x51\x55\x97\x61\x96\x9b\x71\xd7\x9f\x82\x18\xa3\x92\x59"
				  "\xa7\xa2\x9a\xab\xb2\xdb\xaf\xc3\x1c\xb3\xd3\x5d\xb7\xe3\x9e\xbb\xf3\xdf\xbf";

	ck_assert_str_eq(in_base64("", 0), "");
	ck_assert_str_eq(in_base64("f", 1), "Zg==");
	ck_assert_str_eq(in_base64("fo", 2), "Zm8=");
	ck_assert_str_eq(in_base64("foo", 3), "Zm9v");
	ck_assert_str_eq(in_base64("foob", 4), "Zm9vYg==");
	ck_assert_str_eq(in_base64("fooba", 5), "Zm9vYmE=");
	ck_assert_str_eq(in_base64("foobar", 6), "Zm9vYmFy");
	ck_assert_str_eq(in_base64("\0\0\0\0", 4), "AAAAAA==");
	ck_assert_str_eq(in_base64("\xff\xff", 2), "//8=");
	ck_assert_str_eq(in_base64(all, sizeof(all) - 1), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
}
END_TEST

START_TEST(test_base64_has_a_limit)
{
	struct buf b = BUF_INIT(7);

	base64_add(&b, "abc", 3);
	ck_assert_int_eq(buf_error(&b), 0);
	base64_add(&b, "d", 1);
	ck_assert_int_eq(buf_error(&b), -E2BIG);
	ck_assert_str_eq(buf_cstr(&b), "YWJj");
	buf_done(&b);
}
END_TEST

UNIT_MAIN("mcp/mime", test_pictures, test_names, test_base64, test_base64_has_a_limit)
