/*
 * Stand-ins: empty folders and files on the host that occupy protected names which do not exist, so that nobody inside can make
 * them. They are there while a sandbox runs, and for no longer.
 *
 * Sandboxes on one folder share them. Which there are stands in a record, one for each folder, in the user's folder for state;
 * each sandbox holds a lock on it for its life. The last one, or whoever finds the record of the dead, removes what it
 * lists. Only what is still the same empty object is removed: what got content from outside stays.
 *
 * The locks belong to an open file (fcntl(2), F_OFD_SETLK), so that several processes of a sandbox can hold one: byte 0 is held for
 * a moment by whoever changes something, byte 1 is shared by all sandboxes alive.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/life/spare.h"
#include "runtime/spec/protected.h"

#define PLACEHOLDER_STATE "placeholders" /* for statedir_open() */

enum {
	PLACEHOLDER_RECORD_MAX = 1 << 20, /* bytes */
	PLACEHOLDER_TRASH_MAX = 64,
};

/* One folder with stand-ins, as one sandbox uses it. */
struct placeholder_folder {
	int fd;           /* borrowed, O_PATH */
	const char *host; /* its canonical path */
	dev_t device;
	ino_t inode;
	int state_fd; /* borrowed, or negative */
	int record; /* owned; -EBADF where there is no place for state: then no other sandbox knows of the stand-ins */
};

/* One that is wanted, and what became of it. */
struct placeholder {
	const char *path; /* relative to its folder, through no link */
	enum protected_stand_in stand_in;
	size_t folder;   /* index */
	bool was_there;  /* something, when it was looked for */
	ino_t inode;     /* of what was made here, else 0: it is there already */
	bool is_skipped; /* it cannot be made, and by nobody inside either */
};

/*
 * Whether the regular file @name of the folder @dir_fd holds what a stand-in of that kind holds, or less, when its maker was killed.
 * @st is what was found there before; when that is gone by now, it was one of a sandbox that has just ended.
 */
bool placeholder_is_untouched(int dir_fd, const char *name, const struct stat *st, enum protected_stand_in stand_in);

/* Removed objects, still open: see placeholder_discard(). */
struct placeholder_trash {
	int fds[PLACEHOLDER_TRASH_MAX];
	size_t count;
	struct spare *spare; /* where folders can be kept instead, or NULL */
};

/*
 * Opens the record of @folder in @state_fd (negative: goes without), holds it for as long as it is open, and removes what a sandbox
 * left behind that was killed with all that belongs to it. Until placeholder_make() nobody else changes anything. 0 or
 * -errno; -EBUSY when somebody does not let go of the record.
 */
int placeholder_join(struct placeholder_folder *folder, int state_fd) _must_check_;

/* Makes the stand-ins of @folder, which is number @index, among the @count @wanted. 0, or -errno with *@ret_failed set. */
int placeholder_make(struct placeholder_folder *folder, size_t index, struct placeholder *wanted, size_t count,
		     size_t *ret_failed) _must_check_;

/*
 * Ends the use of @folder: when no other sandbox uses it, removes the stand-ins, and their record from @state_fd. Without a record,
 * removes what this sandbox made.
 */
void placeholder_leave(struct placeholder_folder *folder, size_t index, int state_fd, const struct placeholder *made, size_t count,
		       struct placeholder_trash *trash);

/* Lets go of what was removed, without waiting until the file system has freed it, where that can be had. */
void placeholder_discard(struct placeholder_trash *trash);

/*
 * Sweeps the records in @state_fd that no living sandbox holds. Returns how many there are (with @dry_run) or were, or -errno. All
 * in that folder was written by the calling user, whom it is told to.
 */
int placeholder_sweep(int state_fd, bool dry_run);
