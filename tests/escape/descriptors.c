/*
 * Attacks through what the caller had open or set: descriptors, the working directory, variables. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"

enum { FIRST = 3, LAST = 1100 };

/* A descriptor beyond the three streams is open. A file shows its content; from a directory @args[0] is read. */
static enum verdict inherited(char **args)
{
	enum verdict v = REFUSED;
	struct stat st;

	for (int fd = FIRST; fd < LAST; fd++) {
		if (fstat(fd, &st) < 0)
			continue;
		printf("descriptor %d: mode %o\n", fd, st.st_mode);
		v = SUCCEEDED;
		if (S_ISDIR(st.st_mode) && args[0])
			(void) attack_show(openat(fd, args[0], O_RDONLY | O_CLOEXEC));
		else if (S_ISREG(st.st_mode))
			(void) attack_show(fd);
	}
	return v;
}

/* A standard stream is a directory, from which the file @args[0] is read. */
static enum verdict from_stream(char **args)
{
	enum verdict v = REFUSED;

	for (int fd = STDIN_FILENO; fd < FIRST && args[0]; fd++) {
		int file = openat(fd, args[0], O_RDONLY | O_CLOEXEC);
		if (attack_result(file, args[0]) == SUCCEEDED && attack_show(file))
			v = SUCCEEDED;
	}
	return args[0] ? v : NOT_TRIED;
}

const struct attack descriptor_attacks[] = {
	{ "inherited", "NAME", inherited },
	{ "from-stream", "NAME", from_stream },
	{ NULL, NULL, NULL },
};
