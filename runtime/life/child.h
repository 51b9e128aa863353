/*
 * The child side of a launch: an ordered table of small steps from clone() to the execution of cloche-init.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"

struct launch;

/* What the child reports through the pipe when a step fails. A pipe that closes without a report means success. */
struct child_report {
	uint32_t step;    /* index into the table of steps */
	uint32_t op;      /* index into the mount plan, for the step that performs it */
	uint32_t errnum;  /* positive errno */
};

/* What step @i of a start does, and what that is good for, for people. False behind the last one. */
bool child_step_describe(size_t i, const char **ret_what, const char **ret_why);

/* Runs the steps and executes cloche-init; reports and exits when one fails. Never returns. */
_noreturn_ void child_main(struct launch *launch);

/* Turns a report into a sentence with cause and repair. Returns -errno. */
int child_explain(const struct launch *launch, const struct child_report *report, struct err *err);
