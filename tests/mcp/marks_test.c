/*
 * Marks: who is told of what, and that they end with their owners or with what they watch.
 */
#include "mcp/marks.h"

#include <unistd.h>

#include "tests/mcp/double.h"

/* What an owner was told. */
struct owner {
	struct mark_link *links;
	int told, surely;
};

static void hit(void *data, bool surely)
{
	struct owner *owner = data;

	owner->told++;
	owner->surely += surely;
}

static struct marks marks;

static void setup(void)
{
	double_setup();
	marks = (struct marks) MARKS_INIT(hit);
	ck_assert_int_eq(marks_open(&marks), 0);
}

/* How many watches the kernel has. */
static unsigned int watches(void)
{
	char path[40], line[256];
	unsigned int count = 0;

	(void) snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", marks.fd);
	FILE *f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		count += strncmp(line, "inotify wd:", strlen("inotify wd:")) == 0;
	(void) fclose(f);
	return count;
}

static void teardown(void)
{
	ck_assert_uint_eq(marks.count, 0);
	ck_assert_uint_eq(watches(), 0);
	marks_close(&marks);
	double_teardown();
}

static int add(struct owner *owner, const char *path, const char *name)
{
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return marks_add(&marks, &owner->links, owner, fd, name);
}

/* Reads the events and returns how often @owner was told of since the last time; *@ret_surely, how often for sure. */
static int news(struct owner *owner, int *ret_surely)
{
	ck_assert(!marks_read(&marks));
	int told = owner->told;
	*ret_surely = owner->surely;
	owner->told = owner->surely = 0;
	return told;
}

static void check(struct owner *owner, bool told, bool surely)
{
	int sure;

	ck_assert_int_eq(news(owner, &sure) > 0, told);
	ck_assert_int_eq(sure > 0, surely);
}

START_TEST(test_file)
{
	struct owner owner = { .links = NULL };
	char c;

	setup();
	double_put_str("f", "a");
	ck_assert_int_eq(add(&owner, "f", NULL), 0);
	check(&owner, false, false);
	_cleanup_fd_ int fd = open("f", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(read(fd, &c, 1), 1);
	check(&owner, false, false);
	ck_assert_int_eq(pwrite(fd, "b", 1, 0), 1);
	check(&owner, true, true);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	check(&owner, true, true);
	ck_assert_int_eq(fchmod(fd, 0600), 0);
	check(&owner, true, false);
	fd = fd_close(fd);
	check(&owner, true, false); /* as after writing through a mapping */
	double_put_str("g", "of nobody's concern");
	check(&owner, false, false);
	marks_release(&marks, &owner.links);
	double_put_str("f", "c");
	check(&owner, false, false);
	teardown();
}
END_TEST

START_TEST(test_folder)
{
	struct owner whole = { .links = NULL }, entry = { .links = NULL };

	setup();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	ck_assert_int_eq(add(&whole, "d", NULL), 0);
	ck_assert_int_eq(add(&entry, "d", "f"), 0);
	ck_assert_uint_eq(marks.count, 1);
	double_put_str("d/other", "");
	check(&entry, false, false);
	check(&whole, true, true);
	double_put_str("d/f", "");
	ck_assert(!marks_read(&marks));
	check(&entry, true, false);
	check(&whole, true, true);
	double_put_str("d/f", "a"); /* the folder has the same entries as before */
	check(&whole, false, false);
	ck_assert_int_eq(rename("d/f", "d/g"), 0);
	ck_assert(!marks_read(&marks));
	check(&entry, true, false);
	check(&whole, true, true);
	marks_release(&marks, &whole.links);
	ck_assert_uint_eq(marks.count, 1);
	ck_assert_uint_eq(watches(), 1);
	ck_assert_int_eq(rename("d/g", "d/f"), 0);
	check(&whole, false, false);
	check(&entry, true, false);
	marks_release(&marks, &entry.links);
	teardown();
}
END_TEST

/* What is watched ends before its owner lets go of it; what comes to its place has a mark of its own. */
START_TEST(test_what_is_gone)
{
	struct owner owner = { .links = NULL };

	setup();
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(mkdir("d", 0755), 0);
		ck_assert_int_eq(add(&owner, "d", NULL), 0);
		check(&owner, false, false);
		ck_assert_int_eq(rmdir("d"), 0);
		ck_assert(!marks_read(&marks));
		check(&owner, true, false);
		ck_assert_uint_eq(marks.count, 0);
	}
	marks_release(&marks, &owner.links);
	ck_assert_ptr_null(owner.links);
	teardown();
}
END_TEST

START_TEST(test_refusals)
{
	struct owner owner = { .links = NULL };
	unsigned int added = 0;
	int r = 0;

	setup();
	double_put_str("f", "a");
	ck_assert_int_eq(add(&owner, "f", "name"), -ENOTDIR);
	ck_assert_int_eq(marks_add(&marks, &owner.links, &owner, -EBADF, NULL), -ENOENT);
	ck_assert_ptr_null(owner.links);
	for (int i = 0; i < MARKS_MAX + 10; i++) {
		char name[16];
		(void) snprintf(name, sizeof(name), "%d", i);
		double_put_str(name, "");
		r = add(&owner, name, NULL);
		ck_assert(r == 0 || r == -ENOSPC); /* the user's limit may be lower */
		added += r == 0;
	}
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_uint_eq(marks.count, added);
	ck_assert_uint_le(added, MARKS_MAX);
	ck_assert_int_eq(add(&owner, "0", NULL), 0); /* is watched already */
	marks_release(&marks, &owner.links);
	teardown();
}
END_TEST

UNIT_MAIN("mcp/marks", test_file, test_folder, test_what_is_gone, test_refusals)
