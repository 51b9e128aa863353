/*
 * Elapsed time on the monotonic clock.
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline struct timespec clock_now(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return now;
}

/* Milliseconds on this clock, for deadlines. */
static inline int64_t clock_now_ms(void)
{
	struct timespec now = clock_now();

	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Microseconds since @start (a clock_now()). */
static inline uint64_t clock_us_since(const struct timespec *start)
{
	struct timespec now = clock_now();

	return (uint64_t) ((now.tv_sec - start->tv_sec) * 1000000 + (now.tv_nsec - start->tv_nsec) / 1000);
}

/* Microseconds of CPU time that this process has used. */
static inline uint64_t clock_cpu_us(void)
{
	struct timespec used = { 0 };

	(void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t) used.tv_sec * 1000000 + (uint64_t) used.tv_nsec / 1000;
}
