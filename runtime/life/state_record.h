/*
 * The text of a sandbox's record: one `key=value` a line, in ASCII, with `\xHH` for every other byte. Pure: touches no file.
 *
 *     cloche=1
 *     started=1764446340
 *     init=4711
 *     name=build
 *     workspace=/home/mia/src/project
 *     command=make -j4
 *
 * Whatever runs as the same user may have written to a record, so that it is read like any input from outside: the size, every
 * line and every value are bounded, and nothing of it is believed but what the kernel confirms (state.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/spec/spec.h"

enum {
	STATE_RECORD_MAX = 20 * 1024,
	STATE_COMMAND_MAX = 256,
};

/* What is written of a sandbox. */
struct state_record {
	int64_t started;                /* seconds since 1970 */
	pid_t init;                     /* in the PID namespace of its supervisor */
	char name[SPEC_NAME_MAX + 1];   /* --name; "" for none */
	char workspace[SPEC_PATH_MAX];  /* on the host; "" for an empty one */
	char command[STATE_COMMAND_MAX]; /* of `cloche run`, its beginning; "" for an MCP session */
};

/* Fills @ret with the words of @argv (NULL-terminated), separated by blanks, as far as they fit. */
void state_record_command(char ret[STATE_COMMAND_MAX], const char *const *argv);

/* Appends the text of @record to @out. */
void state_record_write(struct buf *out, const struct state_record *record);

/* Reads the @len bytes of a text (that is NUL-terminated behind them). 0, or -EBADMSG when any of it is not as it must be. */
int state_record_parse(struct state_record *ret, char *text, size_t len) _must_check_;
