/*
 * cloche-compile: turns a policy file of the user into what the rest of cloche reads, and changes the settings of other programs.
 *
 *     cloche-compile seccomp NAME < FILE > RESULT      a system-call filter (Docker's JSON)
 *     cloche-compile profile NAME < FILE > RESULT      a profile
 *     cloche-compile jsonc NAME < CHANGES > RESULT     an MCP client's settings, in JSON with comments
 *     cloche-compile toml NAME < CHANGES > RESULT      the same in TOML
 *
 * The only program on the host side that parses JSON and TOML. It runs as the invoking user (for real root, as an unprivileged
 * identity), has three descriptors, and locks itself in before it reads a byte (confine.c); whoever takes it over can make a
 * wrong result, and nothing else. What it writes is checked by those who read it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/fd.h"
#include "runtime/compile/confine.h"
#include "runtime/compile/jsonc.h"
#include "runtime/compile/profile.h"
#include "runtime/compile/seccomp.h"
#include "runtime/compile/toml.h"
#include "runtime/spec/compilemsg.h"

enum { EXIT_MISUSED = 125 };

static const struct kind {
	const char *word;
	const char *what; /* begins a message, in front of the file's name */
	int (*compile)(const char *text, size_t len, struct buf *out, struct err *err);
} kinds[] = {
	{ "seccomp", "the system-call filter", seccomp_compile },
	{ "profile", "the profile", profile_compile },
	{ "jsonc", "the settings file", jsonc_edit },
	{ "toml", "the settings file", toml_edit },
};

static const struct kind *find_kind(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].word, word) == 0)
			return &kinds[i];
	return NULL;
}

static int read_input(struct buf *text, struct err *err)
{
	int r = buf_read_fd(text, STDIN_FILENO);

	if (r == -EFBIG)
		return err_set(err, ERR_USAGE, EFBIG, "it is larger than %d bytes", COMPILE_INPUT_MAX);
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "it cannot be read: %m") : 0;
}

static int compile(const struct kind *kind, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(COMPILE_INPUT_MAX + 1); /* room to see that there is more */
	_cleanup_buf_ struct buf out = BUF_INIT(COMPILE_OUTPUT_MAX);
	int r = read_input(&text, err);

	if (r == 0)
		r = kind->compile(buf_cstr(&text), text.len, &out, err);
	if (r < 0)
		return r;
	r = fd_write_all(STDOUT_FILENO, buf_cstr(&out), out.len);
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "the result cannot be written: %m") : 0;
}

int main(int argc, char **argv)
{
	const struct kind *kind = argc == 3 ? find_kind(argv[1]) : NULL;
	struct err err = { 0 };

	if (!kind) {
		(void) dprintf(STDERR_FILENO, "cloche-compile is a part of cloche, which calls it to read policy files\n");
		return EXIT_MISUSED;
	}
	int r = confine_self();
	if (r < 0)
		(void) err_set(&err, ERR_UNSUPPORTED, -r, "it is not read, since cloche-compile cannot lock itself in: %m");
	else
		r = compile(kind, &err);
	if (r == 0)
		return EXIT_SUCCESS;
	(void) dprintf(STDERR_FILENO, "%s '%s': %s\n", kind->what, argv[2], err.text);
	return EXIT_FAILURE;
}
