/*
 * Files and directories of the workspace as resources.
 */
#include "mcp/resource_file.h"

#include "tests/mcp/double.h"

static struct resource_content content;

static int get(const char *path)
{
	double_reset();
	resource_content_done(&content);
	content = (struct resource_content) RESOURCE_CONTENT_INIT;
	int r = resource_read_path(&d.call, path, &content);
	ck_assert_int_eq(r < 0, d.call.is_error);
	return r;
}

/* Reads @path; it is text of @type. */
static const char *text_of(const char *path, const char *type)
{
	ck_assert_msg(get(path) == 0, "%s: %s", path, buf_cstr(&d.call.text));
	ck_assert_str_eq(content.type, type);
	ck_assert(content.is_text);
	return buf_cstr(&content.bytes);
}

static void fails(const char *path, int error, const char *part)
{
	int r = get(path);

	ck_assert_msg(r == error, "%s: %d", path, r);
	ck_assert_has(buf_cstr(&d.call.text), part);
}

START_TEST(test_files)
{
	double_setup();
	double_put_str("a.md", "# caf\xc3\xa9\n");
	double_put_str("empty", "");
	double_put("nul.txt", "a\0b", 3);
	double_put_str("latin1.txt", "caf\xe9\n");
	double_put_str("bom.txt", "\xef\xbb\xbfx");
	ck_assert_str_eq(text_of("a.md", "text/markdown"), "# caf\xc3\xa9\n");
	ck_assert_str_eq(text_of("empty", "text/plain"), "");
	ck_assert_str_eq(text_of("bom.txt", "text/plain"), "\xef\xbb\xbfx"); /* as it is */
	ck_assert_int_eq(get("nul.txt"), 0);
	ck_assert(!content.is_text);
	ck_assert_uint_eq(content.bytes.len, 3);
	ck_assert_int_eq(memcmp(content.bytes.p, "a\0b", 3), 0);
	ck_assert_str_eq(content.type, "application/octet-stream");
	ck_assert_int_eq(get("latin1.txt"), 0);
	ck_assert(!content.is_text);
	ck_assert_int_eq(symlink("a.md", "link"), 0);
	ck_assert_str_eq(text_of("link", "text/plain"), "# caf\xc3\xa9\n");
	double_teardown();
}
END_TEST

/* All bytes, over several reads, and not one more than is allowed. */
START_TEST(test_limits)
{
	static char big[300000];

	double_setup();
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char) ('a' + i % 23);
	double_put("big", big, sizeof(big));
	ck_assert_int_eq(get("big"), 0);
	ck_assert_uint_eq(content.bytes.len, sizeof(big));
	ck_assert_int_eq(memcmp(content.bytes.p, big, sizeof(big)), 0);
	d.config.max_read_bytes = sizeof(big);
	ck_assert_int_eq(get("big"), 0);
	d.config.max_read_bytes--;
	fails("big", -EFBIG, "has more than 299999 bytes");
	ck_assert_has(buf_cstr(&d.call.text), "read_file");
	ck_assert_has(buf_cstr(&d.call.text), "search_workspace");
	d.config.max_read_bytes = INT64_C(1) << 30;
	ck_assert_int_eq(truncate("big", RESOURCE_BYTES_MAX), 0);
	ck_assert_int_eq(get("big"), 0);
	ck_assert_int_eq(truncate("big", RESOURCE_BYTES_MAX + 1), 0);
	fails("big", -EFBIG, "has more than 4194304 bytes");
	double_teardown();
}
END_TEST

START_TEST(test_directories)
{
	double_setup();
	ck_assert_str_eq(text_of(".", "inode/directory"), "");
	double_put_str("b.c", "x");
	double_put_str("a\nb", "x");
	ck_assert_int_eq(mkdir("src", 0755), 0);
	ck_assert_int_eq(mkdir(".git", 0755), 0);
	ck_assert_int_eq(symlink("src", "link"), 0);
	ck_assert_str_eq(text_of(".", "inode/directory"), "a\\x0ab\nb.c\nlink\nsrc/\n");
	ck_assert_str_eq(text_of("src/", "inode/directory"), "");
	ck_assert_str_eq(text_of("link", "inode/directory"), "");
	double_teardown();
}
END_TEST

START_TEST(test_long_directory)
{
	char name[64];

	double_setup();
	for (int i = 0; i < 5001; i++) {
		(void) snprintf(name, sizeof(name), "%05d", i);
		double_put_str(name, "");
	}
	const char *text = text_of(".", "inode/directory");
	ck_assert_has(text, "\n04999\n[5000 of 5001 entries shown. Use search_workspace");
	ck_assert_has_not(text, "05000");
	for (int i = 0; i < 2000; i++) {
		(void) snprintf(name, sizeof(name), "%05d-%050d", i, i);
		double_put_str(name, "");
	}
	text = text_of(".", "inode/directory");
	ck_assert_has(text, " of 7001 entries shown. ");
	ck_assert_uint_lt(strlen(text), 101 * 1024);
	double_teardown();
}
END_TEST

START_TEST(test_what_cannot_be_read)
{
	double_setup();
	double_put_str("file", "x");
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	ck_assert_int_eq(symlink("/etc/passwd", "outside"), 0);
	ck_assert_int_eq(symlink("circle", "circle"), 0);
	fails("nothing", -ENOENT, "not found");
	fails("file/x", -ENOTDIR, "not found");
	fails("file/", -ENOTDIR, "not found");
	fails("outside", -EXDEV, "outside the workspace boundary");
	fails("../x", -EXDEV, "outside the workspace boundary");
	fails("circle", -ELOOP, "circle");
	fails("fifo", -EINVAL, "is a named pipe");
	atomic_store(&d.cancelled, true);
	ck_assert_int_eq(resource_read_path(&d.call, "file", &content), -ECANCELED);
	double_teardown();
}
END_TEST

static const char *json_of(const char *uri)
{
	static struct buf b = BUF_INIT(4096);

	buf_clear(&b);
	resource_write_content(&b, uri, &content);
	ck_assert_int_eq(buf_error(&b), 0);
	return buf_cstr(&b);
}

START_TEST(test_json)
{
	double_setup();
	double_put_str("a.c", "\"x\"\n");
	double_put("b", "\xff\x00", 2);
	ck_assert_int_eq(get("a.c"), 0);
	ck_assert_str_eq(json_of("u:\"1\""), "{\"uri\":\"u:\\\"1\\\"\",\"mimeType\":\"text/x-c\",\"text\":\"\\\"x\\\"\\n\"}");
	ck_assert_int_eq(get("b"), 0);
	ck_assert_str_eq(json_of("u"), "{\"uri\":\"u\",\"mimeType\":\"application/octet-stream\",\"blob\":\"/wA=\"}");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/resource_file", test_files, test_limits, test_directories, test_long_directory, test_what_cannot_be_read, test_json)
