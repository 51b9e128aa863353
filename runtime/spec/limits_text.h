/*
 * What a limit did to a command, as sentences for an agent or a person: which limit, its value, what was used of it, and how to
 * get more. Every word is ours; figures count for what they can be at most, wherever they came from.
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/buf.h"
#include "runtime/spec/initmsg.h"

enum {
	LIMITS_TEXT_MAX = 4 * 1024,          /* more than all sentences together have */
	LIMITS_THROTTLED_LEAST_US = 1000000, /* a shorter command was not held back in a way that matters */
	LIMITS_CPU_TIME_LEAST_US = 2000000,  /* … nor one that used all that it might have */
};

/* One command that is over. */
struct limits_told {
	const struct initmsg_metrics *metrics;
	const struct initmsg_limits *limits;  /* what it could use */
	const struct initmsg_limits *sandbox; /* what all commands together can use */
	struct initmsg_limits asked;          /* by its caller; 0 = nothing */
	uint32_t killed;                      /* enum initmsg_killed */
	bool failed;                          /* it ended in another way than with status 0 */
	bool fork_failed;                     /* its output says that a process or thread could not be started */
	bool for_agent;                       /* who can ask for more in the next call; else the reader is the user */
};

/* Whether it was ended for want of memory, and not only some of its processes. */
bool limits_out_of_memory(const struct limits_told *told);

/*
 * Whether it reached its limit of processes and threads: the kernel counted refusals or, where nobody counts them, it was seen with next
 * to as many as it may have, and something went wrong.
 */
bool limits_out_of_pids(const struct limits_told *told);

/*
 * Whether a limit of CPUs made it wait for more than half of its time. The figure adds up what its processes waited on each CPU, so it
 * may be more than the time that passed.
 */
bool limits_held_back(const struct limits_told *told);

/* "killed: used 512 MiB of 512 MiB of memory, …" at the end of @text, without a line break. For limits_out_of_memory() only. */
void limits_add_memory(struct buf *text, const struct limits_told *told);

/*
 * Adds a line to @text, between @before and @after, for each other limit that the command felt: memory that cost it only some of its
 * processes, new processes that were refused, and for an agent, whose calls have a time limit, CPU time. Returns the number of lines.
 */
unsigned int limits_add_others(struct buf *text, const struct limits_told *told, const char *before, const char *after);

/* "512 MiB" or, when it is small, "300 KiB"; "0.5" */
void limits_add_size(struct buf *text, uint64_t bytes);
void limits_add_cpus(struct buf *text, uint32_t milli);
