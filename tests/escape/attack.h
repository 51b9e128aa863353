/*
 * Attacks on a sandbox, made from inside it. One small program holds them all, linked statically so that it needs nothing
 * where it runs; attacks.list says which are made, how, and against which wall.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Also the exit status of the program. */
enum verdict {
	SUCCEEDED = 0,
	REFUSED = 1,
	NOT_TRIED = 2, /* something that the attack needs is not here: says nothing about the sandbox */
};

struct attack {
	const char *name;
	const char *arguments; /* what it wants, for people; NULL: nothing */
	enum verdict (*run)(char **args); /* @args ends with NULL */
};

/* One theme, one file, one table; a table ends with a row without a name. */
extern const struct attack descriptor_attacks[], exec_attacks[], file_attacks[], kernel_attacks[], key_attacks[], mount_attacks[],
	namespace_attacks[], proc_attacks[], resource_attacks[], signal_attacks[], socket_attacks[], terminal_attacks[];

/* Succeeded when @r is not negative; else refused, and errno is printed beside @what. */
enum verdict attack_result(long r, const char *what);

/* Prints the first bytes of @fd: the proof that it could be read. False when there was nothing to read. */
bool attack_show(int fd);
