/*
 * When a folder in memory counts as full, and what is said of it.
 */
#include "mcp/folders.h"

#include <string.h>

#include "tests/harness/unit.h"

#define MIB ((uint64_t) 1 << 20)
#define ck_assert_has(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text)

static struct buf text = BUF_INIT(16 * 1024);

static const char *full(struct folder folder)
{
	buf_clear(&text);
	ck_assert(folder_is_full(&folder));
	folder_add_full(&text, &folder);
	return buf_cstr(&text);
}

START_TEST(test_full)
{
	struct folder folder = { .name = "/tmp", .size = 64 * MIB, .free = 0, .files = 1000, .files_free = 900 };

	ck_assert_str_eq(full(folder), "/tmp is full: it is in memory and can hold 64 MiB. Remove what is not needed there, put large things "
				       "elsewhere, or ask the user for a larger one (option --tmpfs /tmp:size=SIZE of cloche).");
	folder.free = MIB - 1;
	ck_assert(folder_is_full(&folder));
	folder.free = MIB;
	ck_assert(!folder_is_full(&folder));
	folder.files_free = 0;
	folder.name = "/dev/shm";
	ck_assert_has(full(folder), "/dev/shm is full: it is in memory and can hold 1000 files. ");
	ck_assert_has(buf_cstr(&text), "(option --shm-size SIZE of cloche).");
	folder.files = 0; /* any number */
	ck_assert(!folder_is_full(&folder));
	folder.size = 4096; /* one page */
	folder.free = 4096;
	ck_assert(!folder_is_full(&folder));
	folder.free = 0;
	ck_assert(folder_is_full(&folder));
}
END_TEST

/* On folders of this machine: one that has room, others that are none. */
START_TEST(test_lines)
{
	struct facts facts = { .in_memory = { "/dev/shm", "/no/such/folder", "/proc/self/exe" } };

	folders_add_lines(&text, &facts, false, "<", ">\n");
	ck_assert_str_eq(buf_cstr(&text), "");
	folders_add_lines(&text, &facts, true, "<", ">\n");
	ck_assert_has(buf_cstr(&text), "<no space left on a device. Folders in memory have sizes: /dev/shm ");
	ck_assert_has(buf_cstr(&text), " MiB free now). If it was one of them, ");
	ck_assert_ptr_null(strstr(buf_cstr(&text), "/no/such"));
	ck_assert_ptr_null(strstr(buf_cstr(&text), "/proc"));
	buf_clear(&text);
	folders_add_lines(&text, &(struct facts) { .read_only = true }, true, "<", ">\n");
	ck_assert_str_eq(buf_cstr(&text), "");
}
END_TEST

UNIT_MAIN("mcp/folders", test_full, test_lines)
