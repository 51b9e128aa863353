/*
 * Errors for people.
 *
 * Functions return 0 (or a positive value) on success and a negative errno on failure. The words travel beside the number,
 * in a `struct err` that the caller owns (usually on its stack). Only process mains print; library code never does.
 *
 * A good text says what was tried, on which object (in quotes), why it failed and what to do:
 *     err_set(err, ERR_USAGE, EINVAL, "--memory '%s' is not a size: use a number with k, m or g, as in 512m", s)
 */
#pragma once

#include "runtime/base/attr.h"

enum err_code {
	ERR_NONE,
	ERR_USAGE,       /* the caller asked for something that makes no sense; exit status 125 */
	ERR_UNSUPPORTED, /* this host cannot provide a required layer; exit status 125 */
	ERR_SYSTEM,      /* a system call failed; exit status 125 */
	ERR_NOT_FOUND,   /* the command does not exist; exit status 127 */
	ERR_NOT_EXEC,    /* the command exists but cannot be executed; exit status 126 */
};

enum { ERR_TEXT_MAX = 1024 };

struct err {
	enum err_code code;
	int errnum; /* positive errno, 0 when none applies */
	char text[ERR_TEXT_MAX];
};

/*
 * Fills @err (NULL is allowed) and returns -@errnum, or -EINVAL when @errnum is 0, so that
 * `return err_set(err, …)` is one statement. When @errnum is positive nothing is appended: write the reason into the text
 * with %m.
 */
int err_set(struct err *err, enum err_code code, int errnum, const char *fmt, ...) _printf_(4, 5);

/* Prefixes the text of @err with formatted context; code and number stay. Returns -err->errnum (or -EINVAL). */
int err_wrap(struct err *err, const char *fmt, ...) _printf_(2, 3);

/* The exit status of `cloche` for an error of this code: 125, 126 or 127 (see cloche(1), EXIT STATUS). */
int err_exit_status(enum err_code code);
