/*
 * read_file: which lines come back, what is refused, and what is told about the rest.
 */
#include "tests/mcp/double.h"

extern const struct mcp_tool tool_read_file;

static const char *call(const char *json)
{
	return double_call(&tool_read_file, json);
}

static double page(const char *name)
{
	const cJSON *item =
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(d.call.meta, "cloche/page"), name);

	return item ? item->valuedouble : -1;
}

static void put_lines(const char *path, int count)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 26);

	for (int i = 1; i <= count; i++)
		buf_addf(&b, "line %d\n", i);
	double_put(path, b.p, b.len);
}

START_TEST(test_paging)
{
	double_setup();
	put_lines("f", 5);
	ck_assert_str_eq(call("{\"filepath\":\"f\"}"), "line 1\nline 2\nline 3\nline 4\nline 5");
	ck_assert_str_eq(d.call.summary, "5 lines returned");
	ck_assert(page("next_offset") < 0 && page("total_lines") == 5);
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"limit\":2}"), "line 1\nline 2");
	ck_assert(page("next_offset") == 2 && page("total_lines") == 5);
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":2,\"limit\":2}"), "line 3\nline 4");
	ck_assert_has_not(call("{\"filepath\":\"f\",\"limit\":3}"), "line 4");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":4,\"limit\":2}"), "line 5");
	ck_assert(page("next_offset") < 0);
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":9999}"), "");
	ck_assert(!d.call.is_error && page("next_offset") < 0);
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":3,\"limit\":0}"), "line 4\nline 5");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":3,\"limit\":-1}"), "line 4\nline 5");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":-2}"), "line 4\nline 5");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":-2,\"limit\":1}"), "line 4");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":-100,\"limit\":1}"), "line 1");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"limit\":9007199254740991,\"offset\":4}"), "line 5");
	double_teardown();
}
END_TEST

START_TEST(test_default_limit_tells_the_rest)
{
	double_setup();
	put_lines("f", 200);
	const char *text = call("{\"filepath\":\"f\"}");
	ck_assert(strncmp(text, "line 1\nline 2\n", 14) == 0);
	ck_assert_has(text, "line 100\n[Lines 1 to 100 of 200 are shown. To go on, call read_file with offset 100.]");
	ck_assert(page("next_offset") == 100);
	ck_assert_has(call("{\"filepath\":\"f\",\"offset\":150}"), "line 200");
	ck_assert_has_not(call("{\"filepath\":\"f\",\"offset\":150}"), "[");
	put_lines("f", 100);
	ck_assert_has_not(call("{\"filepath\":\"f\"}"), "[");
	double_teardown();
}
END_TEST

START_TEST(test_texts)
{
	static const struct {
		const char *content, *want;
		double lines;
	} rows[] = {
		{ "", "", 0 },
		{ "\n", "", 1 },
		{ "\n\n", "\n", 2 },
		{ "a", "a", 1 },
		{ "a\r\nb\r\n", "a\nb", 2 },
		{ "a\rb\n", "a\rb", 1 },
		{ "a\r", "a\r", 1 },
		{ "\xEF\xBB\xBF" "a\n", "a", 1 },
		{ "a\fb\xE2\x80\xA8" "c\n", "a\fb\xE2\x80\xA8" "c", 1 },
		{ "caf\xE9\n", "caf\xEF\xBF\xBD", 1 },
		{ "  indented\t\n", "  indented\t", 1 },
	};

	double_setup();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double_put_str("f", rows[i].content);
		ck_assert_str_eq(call("{\"filepath\":\"f\"}"), rows[i].want);
		ck_assert_msg(page("total_lines") == rows[i].lines, "row %zu", i);
	}
	double_teardown();
}
END_TEST

START_TEST(test_refused)
{
	double_setup();
	ck_assert_failed(call("{\"filepath\":\"missing\"}"), "File 'missing' not found");
	ck_assert_has(buf_cstr(&d.call.text), "list_directory");
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ck_assert_failed(call("{\"filepath\":\"dir\"}"), "is a directory");
	ck_assert_failed(call("{\"filepath\":\"../../etc/passwd\"}"), "outside the workspace boundary");
	ck_assert_failed(call("{\"filepath\":\"/etc/passwd\"}"), "outside the workspace boundary");
	double_put("bin", "ab\0cd", 5);
	ck_assert_failed(call("{\"filepath\":\"bin\"}"), "appears to be binary");
	ck_assert_failed(call("{\"filepath\":\"bin\",\"offset\":50}"), "appears to be binary");
	ck_assert_int_eq(mkfifo("fifo", 0644), 0);
	ck_assert_failed(call("{\"filepath\":\"fifo\"}"), "named pipe");
	ck_assert_has_not(buf_cstr(&d.call.text), d.dir);
	double_teardown();
}
END_TEST

START_TEST(test_size_cap)
{
	double_setup();
	d.config.max_read_bytes = 5;
	double_put_str("f", "hello world\n");
	ck_assert_failed(call("{\"filepath\":\"f\"}"), "exceeds MAX_READ_SIZE_BYTES");
	ck_assert_has(buf_cstr(&d.call.text), "(12 bytes)");
	double_put_str("f", "hello");
	ck_assert_worked(call("{\"filepath\":\"f\"}"), "hello");
	d.config.max_read_bytes = 20;
	put_lines("f", 100);
	ck_assert_failed(call("{\"filepath\":\"f\"}"), "only 2 lines from offset 0 on fit");
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":50,\"limit\":2}"), "line 51\nline 52");
	double_teardown();
}
END_TEST

/* A file larger than any cap can be paged through to its last line. */
START_TEST(test_large_file)
{
	double_setup();
	put_lines("f", 500000);
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":499998,\"limit\":5}"), "line 499999\nline 500000");
	ck_assert(page("total_lines") == 500000);
	ck_assert_str_eq(call("{\"filepath\":\"f\",\"offset\":-1}"), "line 500000");
	ck_assert_failed(call("{\"filepath\":\"f\",\"limit\":0}"), "exceeds MAX_READ_SIZE_BYTES");

	double_teardown();
}
END_TEST

/* More than an answer holds is cut at a line, and told; so every file can be read to its end. */
START_TEST(test_long_answer)
{
	char json[80];
	int64_t next = 0;

	double_setup();
	put_lines("f", 20000);
	_cleanup_buf_ struct buf again = BUF_INIT(1 << 20);
	while (next >= 0) {
		(void) snprintf(json, sizeof(json), "{\"filepath\":\"f\",\"limit\":0,\"offset\":%lld}", (long long) next);
		const char *text = call(json), *note = strstr(text, "\n[Lines ");
		next = (int64_t) page("next_offset");
		ck_assert(!d.call.is_error && (next >= 0) == (note != NULL));
		if (next >= 0) {
			(void) snprintf(json, sizeof(json), " of 20000 are shown. To go on, call read_file with offset %lld.]", (long long) next);
			ck_assert_has(note, json);
			ck_assert_uint_gt(d.call.text.len, 38000);
		}
		buf_add(&again, text, note ? (size_t) (note - text) : strlen(text));
		buf_add_char(&again, '\n');
	}
	ck_assert_str_eq(again.p, buf_cstr(double_get("f")));
	double_teardown();
}
END_TEST

/* Of a line that is longer than an answer its beginning is shown, and the command that shows what follows. */
START_TEST(test_long_line)
{
	char command[200] = "";

	double_setup();
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 20), part = BUF_INIT(1 << 20);
	for (int i = 0; i < 20000; i++)
		buf_addf(&data, "%05d.\xC3\xA9", i);
	buf_add_str(&data, "\nsecond\n");
	double_put("it's a file", data.p, data.len);
	const char *text = call("{\"filepath\":\"it's a file\"}"), *note = strstr(text, "\n[Line 1 has 160000 bytes; its first ");
	ck_assert(!d.call.is_error && note != NULL);
	size_t shown = (size_t) (note - text);
	ck_assert_uint_gt(shown, 38000);
	ck_assert(strncmp(text, data.p, shown) == 0);
	ck_assert_has(note, " The next line is at offset 1. To see more of this one, call run_bash with: ");
	ck_assert(page("next_offset") == 1 && page("total_lines") == 2);
	ck_assert_int_eq(sscanf(strstr(note, "sed -n"), "%199[^]]", command), 1);
	FILE *f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	for (int c; (c = getc(f)) != EOF;)
		buf_add_char(&part, (char) c);
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_eq(part.len, shown + 1);
	ck_assert(strncmp(part.p, data.p + shown, shown) == 0);
	ck_assert_str_eq(call("{\"filepath\":\"it's a file\",\"offset\":1}"), "second");
	double_teardown();
}
END_TEST

/* A GIF of @width pixels with @padding bytes inside. */
static void put_gif(const char *path, int width, size_t padding)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 24);
	const char size[] = { (char) (width & 0xFF), (char) (width >> 8), 5, 0, 0, 0, 0 };

	buf_add_str(&b, "GIF89a");
	buf_add(&b, size, sizeof(size));
	while (padding-- > 0)
		buf_add_char(&b, 'x');
	buf_add_char(&b, ';');
	double_put(path, b.p, b.len);
}

START_TEST(test_pictures)
{
	double_setup();
	put_gif("f.gif", 300, 10);
	ck_assert_str_eq(call("{\"filepath\":\"f.gif\",\"offset\":5,\"limit\":1}"), "image/gif, 300 x 5 pixels, 24 bytes");
	ck_assert(!d.call.is_error);
	ck_assert_str_eq(d.call.image_type, "image/gif");
	ck_assert_uint_eq(d.call.image.len, 24);
	ck_assert(memcmp(d.call.image.p, buf_cstr(double_get("f.gif")), 24) == 0);
	put_gif("f.gif", 2000, 749986);
	ck_assert_worked(call("{\"filepath\":\"f.gif\"}"), "2000 x 5 pixels, 750000 bytes");
	put_gif("f.gif", 2000, 749987);
	ck_assert_failed(call("{\"filepath\":\"f.gif\"}"), "has 750001 bytes, but a picture may have 750000. Make a smaller copy with run_bash");
	ck_assert_uint_eq(d.call.image.len, 0);
	put_gif("f.gif", 2001, 10);
	ck_assert_failed(call("{\"filepath\":\"f.gif\"}"), "has 2001 x 5 pixels, but a picture may have 2000 on each side");
	put_gif("f.gif", 0, 10);
	ck_assert_failed(call("{\"filepath\":\"f.gif\"}"), "appears to be binary (image/gif), but is damaged");
	d.config.max_read_bytes = 20;
	put_gif("f.gif", 20, 10);
	ck_assert_failed(call("{\"filepath\":\"f.gif\"}"), "(image/gif, 24 bytes) exceeds MAX_READ_SIZE_BYTES (20)");
	/* A text is a text, whatever it begins with. */
	double_put_str("f.gif", "GIF89a is how they begin\n");
	d.config.max_read_bytes = 1000;
	ck_assert_str_eq(call("{\"filepath\":\"f.gif\"}"), "GIF89a is how they begin");
	double_teardown();
}
END_TEST

UNIT_MAIN("mcp/tool_read_file", test_paging, test_default_limit_tells_the_rest, test_texts, test_refused, test_size_cap,
	  test_large_file, test_long_answer, test_long_line, test_pictures)
