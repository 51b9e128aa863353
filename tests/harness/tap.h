/*
 * For test programs that are no libcheck programs, because their tests come from data or need processes of their own:
 * prints TAP for tools/run-tests.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/attr.h"

struct tap {
	unsigned int count;
	unsigned int failed;
};

static inline void _printf_(3, 4) tap_ok(struct tap *t, bool ok, const char *fmt, ...)
{
	va_list ap;

	printf("%s %u - ", ok ? "ok" : "not ok", ++t->count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	t->failed += !ok;
}

static inline void _printf_(3, 4) tap_skip(struct tap *t, const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("ok %u - %s # SKIP ", ++t->count, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* Prints the plan; the exit status for main(). */
static inline int tap_end(const struct tap *t)
{
	printf("1..%u\n", t->count);
	return t->failed || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
