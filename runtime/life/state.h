/*
 * Which sandboxes run: one file for each, below statedir.h's "sandboxes", named by a random id.
 *
 * The file is locked by the supervisor for its life (fcntl(2), the kind that belongs to a process), before it gets its name. So
 * a record whose lock nobody holds is that of a dead supervisor, however that died; and the kernel itself says which process
 * holds it. Nothing in the file is needed to find that process, and nothing in it can lead to another one.
 *
 * Such a lock is lost when the process closes any descriptor of the file: a supervisor must never open its own record again.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/base/err.h"
#include "runtime/life/state_record.h"
#include "runtime/life/statedir.h"

enum {
	STATE_ID_LEN = 16,
	STATE_FILE_MAX = STATE_ID_LEN + sizeof(".new"),
	STATE_LIST_MAX = 4096, /* records that are looked at, of each user */
};

/* The record of our own sandbox. */
struct state {
	char id[STATE_ID_LEN + 1];
	int dir_fd; /* owned */
	int fd;     /* owned: it carries the lock */
};

#define STATE_NONE { .id = "", .dir_fd = -EBADF, .fd = -EBADF }

/*
 * Records a sandbox that has this process as its supervisor. 0, or -errno with @err filled (NULL is allowed) and nothing recorded:
 * then the sandbox is not found by `cloche ps`, which is no reason to end it.
 */
int state_publish(struct state *state, const struct state_record *record, struct err *err);

/* Removes a few records of the dead beside our own, if we have one: for when there is nothing better to do. */
void state_sweep_some(const struct state *state);

/* Removes the record, if there is one. */
void state_done(struct state *state);

/* Whether @name is what state_publish() calls a record. */
bool state_is_id(const char *name);

enum state_kind {
	STATE_ALIVE,
	STATE_DEAD,       /* its supervisor was killed */
	STATE_UNFINISHED, /* its launch was killed; such files exist only where the file system knows no nameless ones */
};

/* What holds of a record that was found. */
struct state_entry {
	char file[STATE_FILE_MAX]; /* its name: the id of the sandbox, when it is finished */
	enum state_kind kind;
	bool is_readable; /* else @record is empty: somebody wrote nonsense into it */
	pid_t pid;        /* of the supervisor; 0 when it is dead, or in a PID namespace that we do not see */
	uid_t owner;      /* whose folder it lies in */
	struct state_record record;
};

/* Gets each record in turn; @dir_fd is borrowed. Negative ends the visit. */
typedef int state_visitor(int dir_fd, const struct state_entry *entry, void *userdata);

/*
 * Shows @visit the records of the caller's sandboxes, or of everybody's when the caller is real root. Files that are no records
 * are passed over. Returns what the visitor returned when negative, else 0.
 */
int state_visit(state_visitor *visit, void *userdata);

/* The process that holds the lock of the record @file now, 0 when we cannot see it, -ESRCH when nobody does, or -errno. */
pid_t state_holder(int dir_fd, const char *file);

/* Whether @file is the record of a dead supervisor, or an unfinished one: 1, 0 or -errno. */
int state_is_stale(int dir_fd, const char *file);

/* Removes @file if it is the record of a dead supervisor, or an unfinished one. 1 when removed, 0 when not, or -errno. */
int state_sweep(int dir_fd, const char *file);
