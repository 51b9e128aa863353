/*
 * Errors for people: see err.h. Runs anywhere; allocates nothing.
 */
#include "runtime/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int err_number(const struct err *err)
{
	return err->errnum > 0 ? -err->errnum : -EINVAL;
}

/*
 * Names from outside may hold what a terminal or a log would obey: a message stays one line of printable text. The bytes of
 * a character above U+009F are left alone; U+0080 to U+009F (c2 80 to c2 9f in UTF-8) are control characters as well.
 */
static void make_printable(char *text)
{
	for (unsigned char *c = (unsigned char *) text; *c; c++) {
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
			c[0] = c[1] = '?';
	}
}

/* A text that was cut (by a very long name in it) still ends with the cause. */
static void end_with_cause(struct err *err)
{
	char cause[ERR_TEXT_MAX / 4];
	int n = snprintf(cause, sizeof(cause), "...: %s", strerror(err->errnum));
	size_t len = n > 0 ? MIN((size_t) n, sizeof(cause) - 1) : 0;

	memcpy(err->text + sizeof(err->text) - 1 - len, cause, len);
}

int err_set(struct err *err, enum err_code code, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return errnum > 0 ? -errnum : -EINVAL;
	err->code = code;
	err->errnum = errnum;
	errno = errnum; /* so that %m in @fmt means @errnum */
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= (int) sizeof(err->text) && errnum > 0)
		end_with_cause(err);
	make_printable(err->text);
	return err_number(err);
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char context[ERR_TEXT_MAX / 2];
	char old[ERR_TEXT_MAX];
	va_list ap;

	if (!err)
		return -EINVAL;
	va_start(ap, fmt);
	(void) vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(old, err->text, sizeof(old));
	(void) snprintf(err->text, sizeof(err->text), "%s: %.*s", context, ERR_TEXT_MAX / 2 - 4, old);
	return err_number(err);
}

int err_exit_status(enum err_code code)
{
	static const int status[] = {
		[ERR_NONE] = 0,
		[ERR_USAGE] = 125,
		[ERR_UNSUPPORTED] = 125,
		[ERR_SYSTEM] = 125,
		[ERR_NOT_FOUND] = 127,
		[ERR_NOT_EXEC] = 126,
	};

	return (size_t) code < ARRAY_LEN(status) ? status[code] : 125;
}
