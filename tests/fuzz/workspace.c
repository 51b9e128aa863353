/*
 * The workspace of a fuzz target: see workspace.h. It is made again only when an input has changed it, which the times of its
 * files tell: all of them are set to the past.
 */
#include "tests/fuzz/workspace.h"

#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "tests/fuzz/fuzz.h"

enum { SECRET_LEN = 32, LONG_AGO = 1000000000 };

static const struct {
	const char *name, *content; /* no content: a folder */
} entries[] = {
	{ "sub", NULL },
	{ "a.txt", "one\ntwo\nthree\n" },
	{ "sub/b.py", "def f(x):\n\treturn x\n" },
	{ "c.json", "{\"a\": [1, 2]}\n" },
	{ "binary", "\x89PNG\r\n\x1a\n\x01\x02" },
	{ "latin", "caf\xe9\n" },
};

/* Holds the workspace and the secret. In memory where that is possible: tools write through to the disk. */
static char places[][32] = { "/dev/shm/cloche-fuzz-XXXXXX", "/tmp/cloche-fuzz-XXXXXX" };
static const char *place;
static char root[64], secret[SECRET_LEN + 1];
static int root_fd = -EBADF;

static void write_file(int at, const char *name, const char *content)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fuzz_need(fd >= 0 && fd_write_all(fd, content, strlen(content)) == 0, "the workspace cannot be written");
	(void) fd_close(fd);
}

static void set_time(const char *name)
{
	const struct timespec times[2] = { { .tv_sec = LONG_AGO }, { .tv_sec = LONG_AGO } };

	fuzz_need(utimensat(root_fd, name, times, AT_SYMLINK_NOFOLLOW) == 0, "a time cannot be set");
}

static bool is_unchanged(const char *name)
{
	struct stat st;

	return fstatat(root_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtim.tv_sec == LONG_AGO && st.st_mtim.tv_nsec == 0;
}

static int remove_entry(const char *path, _unused_ const struct stat *st, _unused_ int type, _unused_ struct FTW *ftw)
{
	return remove(path);
}

static void remove_place(void)
{
	(void) nftw(place, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make(void)
{
	(void) nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	root_fd = fd_close(root_fd);
	fuzz_need(mkdir(root, 0700) == 0, "the workspace cannot be made");
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		if (entries[i].content)
			write_file(root_fd, entries[i].name, entries[i].content);
		else
			fuzz_need(mkdirat(root_fd, entries[i].name, 0700) == 0, "a folder cannot be made");
	fuzz_need(symlinkat("../secret", root_fd, "link") == 0 && symlinkat("..", root_fd, "up") == 0, "a link cannot be made");
	for (size_t i = ARRAY_LEN(entries); i-- > 0;)
		set_time(entries[i].name);
	set_time(".");
}

static void make_place(void)
{
	unsigned char bytes[SECRET_LEN];

	for (size_t i = 0; i < ARRAY_LEN(places) && !place; i++)
		place = mkdtemp(places[i]);
	fuzz_need(place && atexit(remove_place) == 0, "no folder for the workspace");
	fuzz_need(getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes), "no random bytes");
	for (size_t i = 0; i < SECRET_LEN; i++)
		secret[i] = (char) ('a' + bytes[i] % 26);
	int fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	write_file(fd, "secret", secret);
	(void) fd_close(fd);
	(void) snprintf(root, sizeof(root), "%s/root", place);
}

int workspace_fresh(void)
{
	if (!root[0])
		make_place();
	bool unchanged = root_fd >= 0 && is_unchanged(".");
	for (size_t i = 0; unchanged && i < ARRAY_LEN(entries); i++)
		unchanged = is_unchanged(entries[i].name);
	if (!unchanged)
		make();
	return root_fd;
}

/* Byte by byte, so that a fuzzer that watches comparisons does not learn the secret. */
bool workspace_tells_secret(const char *text, size_t len)
{
	for (size_t i = 0; i + SECRET_LEN <= len; i++) {
		unsigned int difference = 0;
		for (size_t k = 0; k < SECRET_LEN && difference == 0; k++)
			difference |= (unsigned int) (text[i + k] ^ secret[k]);
		if (difference == 0)
			return true;
	}
	return false;
}
