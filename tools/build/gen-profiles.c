/*
 * gen-profiles: turns the profiles that cloche brings along into a C header with their options, at build time.
 *
 *     gen-profiles NAME.json... > gen/profiles.h
 *
 * So a built-in profile costs no file and no process when a sandbox starts, and one that is wrong stops the build. Runs on the
 * build machine with the builder's privileges.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/compile/profile.h"

enum { NAME_LEN_MAX = 63 };

static int read_file(const char *path, struct buf *b, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot open '%s': %m", path);
	for (;;) {
		char chunk[4096];
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0)
			return err_set(err, ERR_SYSTEM, errno, "cannot read '%s': %m", path);
		if (n == 0)
			return buf_error(b);
		buf_add(b, chunk, (size_t) n);
	}
}

/* A C string of @bytes, one line for each that ends in a NUL (which is written as its escape). */
static void print_strings(const struct buf *bytes)
{
	for (size_t i = 0; i < bytes->len; i++) {
		char c = bytes->p[i];
		if (i == 0 || bytes->p[i - 1] == '\0')
			(void) printf("%s\t\t\"", i ? "\n" : "");
		if (c == '\0')
			(void) printf("\\0\"");
		else if (c == '"' || c == '\\')
			(void) printf("\\%c", c);
		else if (c >= ' ' && c <= '~')
			(void) putchar(c);
		else
			(void) printf("\\%03o", (unsigned int) (unsigned char) c);
	}
}

static int generate(const char *path, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(PROFILE_BYTES_MAX), options = BUF_INIT(PROFILE_OUTPUT_MAX);
	char name[NAME_LEN_MAX + 1] = "";
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = strcspn(base, ".");

	if (len < sizeof(name))
		memcpy(name, base, len);
	if (!str_is_name(name, NAME_LEN_MAX) || strcmp(base + len, ".json") != 0)
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is not NAME.json", path);
	int r = read_file(path, &text, err);
	if (r == 0)
		r = profile_compile(buf_cstr(&text), text.len, &options, err);
	if (r < 0)
		return err_wrap(err, "the profile '%s'", path);
	(void) printf("\t{ .name = \"%s\", .size = %zu, .strings =\n", name, options.len);
	print_strings(&options);
	(void) printf(" },\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = { .code = ERR_NONE };

	(void) printf("/* Made by gen-profiles from profiles/: for each its description, then its options. */\n"
		      "static const struct {\n\tconst char *name;\n\tsize_t size; /* of the strings */\n\tconst char *strings;\n"
		      "} profile_builtin[] = {\n");
	for (int i = 1; i < argc; i++) {
		if (generate(argv[i], &err) < 0) {
			(void) fprintf(stderr, "gen-profiles: %s\n", err.text);
			return EXIT_FAILURE;
		}
	}
	(void) printf("};\n");
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
