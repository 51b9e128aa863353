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

int err_set(struct err *err, enum err_code code, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return errnum > 0 ? -errnum : -EINVAL;
	err->code = code;
	err->errnum = errnum;
	errno = errnum; /* so that %m in @fmt means @errnum */
	va_start(ap, fmt);
	(void) vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
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
