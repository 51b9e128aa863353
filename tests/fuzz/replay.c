/*
 * Runs a fuzz target over stored inputs, where there is no libFuzzer. An ordinary program for tests, with no privilege:
 *
 *     TARGET FILE|FOLDER...
 *
 * A folder stands for its files. Prints TAP; an input that breaks something ends the program, and its name has been printed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1024 * 1024, INPUTS_MAX = 4096 };

static char *inputs[INPUTS_MAX];
static size_t count;

static void die(const char *what, const char *name)
{
	printf("Bail out! %s %s: %s\n", what, name, strerror(errno));
	exit(1);
}

static void add(const char *folder, const char *name)
{
	struct buf path = BUF_INIT(4096);

	buf_addf(&path, "%s%s%s", folder, folder[0] ? "/" : "", name);
	if (count == INPUTS_MAX)
		die("too many inputs:", name);
	inputs[count] = buf_take(&path, NULL);
	if (!inputs[count++])
		die("no memory for", name);
}

static void add_all(const char *name)
{
	struct stat st;

	if (stat(name, &st) < 0)
		die("cannot find", name);
	if (!S_ISDIR(st.st_mode)) {
		add("", name);
		return;
	}
	DIR *dir = opendir(name);
	if (!dir)
		die("cannot read", name);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		if (entry->d_name[0] != '.')
			add(name, entry->d_name);
	(void) closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static void replay(const char *name)
{
	struct buf data = BUF_INIT(INPUT_MAX);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	while (fd >= 0 && n > 0) {
		char *to = buf_reserve(&data, 65536);
		n = to ? read(fd, to, 65536) : -1;
		data.len += n > 0 ? (size_t) n : 0;
	}
	if (fd < 0 || n < 0)
		die("cannot read", name);
	(void) fd_close(fd);
	/* A copy of exactly this size: what is read beyond it is noticed. */
	uint8_t *copy = malloc(data.len + (data.len == 0));
	if (!copy)
		die("no memory for", name);
	memcpy(copy, data.len ? data.p : "", data.len);
	(void) LLVMFuzzerTestOneInput(copy, data.len);
	free(copy);
	buf_done(&data);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		add_all(argv[i]);
	qsort(inputs, count, sizeof(inputs[0]), by_name);
	printf("1..%zu\n", count);
	for (size_t i = 0; i < count; i++) {
		const char *slash = strrchr(inputs[i], '/');
		printf("# %s\n", inputs[i]);
		(void) fflush(stdout);
		replay(inputs[i]);
		printf("ok %zu - %s\n", i + 1, slash ? slash + 1 : inputs[i]);
		free(inputs[i]);
	}
	return count == 0;
}
