/*
 * The records of running sandboxes: see state.h. state_publish() and state_done() run in the supervisor, the rest in `cloche ps`
 * and its like; all on the host, as the invoking user or as root over folders of other users.
 */
#include "runtime/life/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"

enum {
	SWEEP_MAX = 8,       /* records that state_sweep_some() looks at */
	SWEEP_NAMES = 512,   /* names among which it chooses them */
	UNFINISHED_S = 60,   /* far longer than a launch takes from a file's making to its lock */
};

static const char unfinished_suffix[] = ".new";

bool state_is_id(const char *name)
{
	return strlen(name) == STATE_ID_LEN && strspn(name, "0123456789abcdef") == STATE_ID_LEN;
}

static bool is_unfinished(const char *name)
{
	return strlen(name) == STATE_FILE_MAX - 1 && strspn(name, "0123456789abcdef") == STATE_ID_LEN &&
	       strcmp(name + STATE_ID_LEN, unfinished_suffix) == 0;
}

/* The whole of the lock is one byte, which need not be there. */
static struct flock whole_lock(void)
{
	return (struct flock) { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
}

/* --- our own record ---------------------------------------------------------------------------------------------------- */

/* Locks and fills the file before anybody can find it under the name of a record. */
static int fill(int fd, const struct state_record *record)
{
	_cleanup_buf_ struct buf text = BUF_INIT(STATE_RECORD_MAX);
	struct flock lock = whole_lock();

	if (fcntl(fd, F_SETLK, &lock) < 0)
		return -errno;
	state_record_write(&text, record);
	int r = buf_error(&text);
	return r < 0 ? r : fd_write_all(fd, buf_cstr(&text), text.len);
}

/* Where the file system knows nameless files, a killed launch leaves nothing. Descriptor or -errno. */
static int make_nameless(int dir_fd, const char *id, const struct state_record *record)
{
	char self[32];
	_cleanup_fd_ int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	int r = fill(fd, record);
	if (r < 0)
		return r;
	(void) snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, dir_fd, id, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int make_renamed(int dir_fd, const char *id, const struct state_record *record)
{
	char file[STATE_FILE_MAX];

	(void) snprintf(file, sizeof(file), "%.*s%s", STATE_ID_LEN, id, unfinished_suffix);
	_cleanup_fd_ int fd = openat(dir_fd, file, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = fill(fd, record);
	if (r == 0 && renameat(dir_fd, file, dir_fd, id) < 0)
		r = -errno;
	if (r < 0) {
		(void) unlinkat(dir_fd, file, 0);
		return r;
	}
	return TAKE_FD(fd);
}

/* Calls @look with each name in the folder, at most @max, until it returns something else than 0; returns that. */
static int each_name(int dir_fd, size_t max, int (*look)(int dir_fd, const char *name, void *userdata), void *userdata)
{
	_cleanup_list_ DIR *list = fd_list(dir_fd);
	const struct dirent *entry;
	int r = list ? 0 : -errno;

	for (size_t n = 0; r == 0 && n < max && (entry = readdir(list)); n++)
		r = look(dir_fd, entry->d_name, userdata);
	return r;
}

struct names {
	char file[SWEEP_NAMES][STATE_FILE_MAX];
	size_t count;
};

static int collect(_unused_ int dir_fd, const char *name, void *userdata)
{
	struct names *names = userdata;

	if ((state_is_id(name) || is_unfinished(name)) && names->count < SWEEP_NAMES)
		(void) snprintf(names->file[names->count++], STATE_FILE_MAX, "%s", name);
	return 0;
}

int state_publish(struct state *state, const struct state_record *record, struct err *err)
{
	uint64_t random;

	state->dir_fd = statedir_open(STATEDIR_SANDBOXES, err);
	if (state->dir_fd < 0)
		return state->dir_fd;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t) sizeof(random))
		random = (uint64_t) getpid() << 32 | (uint64_t) (uint32_t) time(NULL); /* at boot: unique among the living, if not random */
	(void) snprintf(state->id, sizeof(state->id), "%016llx", (unsigned long long) random);
	state->fd = make_nameless(state->dir_fd, state->id, record);
	if (state->fd == -EOPNOTSUPP || state->fd == -EISDIR || state->fd == -ENOENT)
		state->fd = make_renamed(state->dir_fd, state->id, record);
	if (state->fd < 0) {
		int r = state->fd;
		state_done(state);
		return err_set(err, ERR_SYSTEM, -r, "the sandbox cannot be recorded for `cloche ps`: %m");
	}
	return 0;
}

void state_sweep_some(const struct state *state)
{
	struct names names = { .count = 0 };
	uint32_t first = 0; /* anywhere, so that each record is looked at sooner or later */

	if (state->fd < 0 || each_name(state->dir_fd, SWEEP_NAMES, collect, &names) < 0)
		return;
	if (getrandom(&first, sizeof(first), GRND_NONBLOCK) != (ssize_t) sizeof(first))
		first = (uint32_t) getpid();
	for (size_t i = 0; i < MIN(names.count, (size_t) SWEEP_MAX); i++) {
		const char *file = names.file[(first + i) % names.count];
		if (strcmp(file, state->id) != 0) /* never our own: see state.h */
			(void) state_sweep(state->dir_fd, file);
	}
}

void state_done(struct state *state)
{
	if (state->fd >= 0)
		(void) unlinkat(state->dir_fd, state->id, 0);
	state->fd = fd_close(state->fd);
	state->dir_fd = fd_close(state->dir_fd);
	state->id[0] = '\0';
}

/* --- those of others --------------------------------------------------------------------------------------------------- */

/* Opens a record: a plain file with no other name, of a size that a record may have. Descriptor or -errno. */
static int open_record(int dir_fd, const char *file, struct stat *ret)
{
	_cleanup_fd_ int fd = openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, ret) < 0)
		return -errno;
	if (ret->st_nlink == 0) /* removed since it was opened: somebody else sweeps as well */
		return -ENOENT;
	return S_ISREG(ret->st_mode) && ret->st_nlink == 1 ? TAKE_FD(fd) : -EBADMSG;
}

static pid_t holder(int fd)
{
	struct flock lock = whole_lock();

	if (fcntl(fd, F_GETLK, &lock) < 0)
		return -errno;
	if (lock.l_type == F_UNLCK)
		return -ESRCH;
	return MAX(lock.l_pid, 0);
}

pid_t state_holder(int dir_fd, const char *file)
{
	struct stat st;
	_cleanup_fd_ int fd = open_record(dir_fd, file, &st);

	return fd < 0 ? fd : holder(fd);
}

static bool is_old(const struct stat *st)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 && st->st_ctim.tv_sec + UNFINISHED_S < now.tv_sec;
}

int state_is_stale(int dir_fd, const char *file)
{
	struct stat st;
	_cleanup_fd_ int fd = open_record(dir_fd, file, &st);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return holder(fd) == -ESRCH && (!is_unfinished(file) || is_old(&st));
}

int state_sweep(int dir_fd, const char *file)
{
	/* Nobody takes the lock of a finished record again, and no two records have one name: what is dead now stays dead. */
	int r = state_is_stale(dir_fd, file);

	if (r <= 0)
		return r;
	if (unlinkat(dir_fd, file, 0) < 0)
		return errno == ENOENT ? 0 : -errno; /* somebody else sweeps as well */
	return 1;
}

static void read_record(int fd, const struct stat *st, struct state_entry *entry)
{
	char text[STATE_RECORD_MAX + 1];

	if (st->st_size > STATE_RECORD_MAX)
		return;
	ssize_t n = pread(fd, text, STATE_RECORD_MAX, 0);
	if (n < 0)
		return;
	text[n] = '\0';
	entry->is_readable = state_record_parse(&entry->record, text, (size_t) n) == 0;
	if (!entry->is_readable)
		memset(&entry->record, 0, sizeof(entry->record));
}

struct visit {
	state_visitor *call;
	void *userdata;
	uid_t owner;
};

static int visit_name(int dir_fd, const char *name, void *userdata)
{
	const struct visit *v = userdata;
	struct state_entry entry = { .owner = v->owner };
	struct stat st;

	if (!state_is_id(name) && !is_unfinished(name))
		return 0;
	_cleanup_fd_ int fd = open_record(dir_fd, name, &st);
	if (fd < 0)
		return 0;
	(void) snprintf(entry.file, sizeof(entry.file), "%s", name);
	pid_t pid = holder(fd);
	entry.pid = MAX(pid, 0);
	if (is_unfinished(name))
		entry.kind = STATE_UNFINISHED;
	else
		entry.kind = pid == -ESRCH ? STATE_DEAD : STATE_ALIVE;
	read_record(fd, &st, &entry);
	int r = v->call(dir_fd, &entry, v->userdata);
	return MIN(r, 0);
}

static int visit_folder(int fd, uid_t owner, _unused_ const char *path, void *userdata)
{
	struct visit *v = userdata;

	v->owner = owner;
	return each_name(fd, STATE_LIST_MAX, visit_name, v);
}

int state_visit(state_visitor *visit, void *userdata)
{
	struct visit v = { .call = visit, .userdata = userdata };

	return statedir_visit(STATEDIR_SANDBOXES, visit_folder, &v);
}
