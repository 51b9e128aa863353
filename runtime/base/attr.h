/*
 * Compiler attributes, ownership helpers and small arithmetic.
 *
 * A variable declared with one of the `_cleanup_*` attributes releases its resource when it goes out of scope.
 * Declare and initialise such a variable in one statement, never jump past one, and hand its value on with TAKE_PTR() or
 * TAKE_FD(), which empty the variable.
 */
#pragma once

#include <stddef.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _must_check_ __attribute__((warn_unused_result))
#define _noreturn_ __attribute__((noreturn))
#define _unused_ __attribute__((unused))

/* Whether this is a build with AddressSanitizer (MODE=asan): gcc and clang tell in different ways. */
#ifdef __SANITIZE_ADDRESS__
#define ATTR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTR_SANITIZED 1
#endif
#endif
#ifndef ATTR_SANITIZED
#define ATTR_SANITIZED 0
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Yields the structure of type @type whose member @member @ptr points to. */
#define CONTAINER_OF(ptr, type, member) ((type *) (void *) ((char *) (ptr) - offsetof(type, member)))

#define MIN(a, b)                                                                                                      \
	({                                                                                                             \
		__typeof__(a) min_a_ = (a);                                                                            \
		__typeof__(b) min_b_ = (b);                                                                            \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                                     \
	})

#define MAX(a, b)                                                                                                      \
	({                                                                                                             \
		__typeof__(a) max_a_ = (a);                                                                            \
		__typeof__(b) max_b_ = (b);                                                                            \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                                     \
	})

/* Yields the value of @var and leaves @empty in it: the way ownership leaves a cleanup variable. */
#define TAKE_VALUE(var, empty)                                                                                         \
	({                                                                                                             \
		__typeof__(var) *take_p_ = &(var);                                                                     \
		__typeof__(var) take_v_ = *take_p_;                                                                    \
		*take_p_ = (empty);                                                                                    \
		take_v_;                                                                                               \
	})

/* For a failure that changes nothing for the caller; say why beside it. */
#define IGNORE_RESULT(expr)                                                                                            \
	do {                                                                                                           \
		__typeof__(expr) ignored_ = (expr);                                                                    \
		(void) ignored_;                                                                                       \
	} while (0)

#define TAKE_PTR(ptr) TAKE_VALUE(ptr, NULL)
