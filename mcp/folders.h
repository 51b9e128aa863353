/*
 * Folders in memory: how full they are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mcp/facts.h"
#include "runtime/base/buf.h"

/* A folder's room, as statvfs(2) tells it. */
struct folder {
	const char *name;
	uint64_t size, free;        /* bytes */
	uint64_t files, files_free; /* how many it can hold, and could hold beside those that are there; 0, 0: any number */
};

/*
 * Adds a line to @lines, between @before and @after, for each folder in memory that has hardly any room left; when there is none of
 * those and @wanted, a line with the room of all. Looks at them now.
 */
void folders_add_lines(struct buf *lines, const struct facts *facts, bool wanted, const char *before, const char *after);

/* The parts. Whether next to nothing more can be put there. */
bool folder_is_full(const struct folder *folder);
void folder_add_full(struct buf *text, const struct folder *folder);
