/*
 * A user's own system-call filter: see userfilter.h. Runs in the launcher, before anything is created.
 *
 * The text is read once: what was read is what gets compiled, kept and compared. A kept result lies in the folder of state
 * "filters", in a file that is named after a hash of the text and holds the text itself, and is used only when that is the same to the
 * byte, so that nobody gains from making two texts with one hash. What comes from there is checked like what comes from
 * cloche-compile. Without a folder of state, each start compiles anew.
 */
#include "runtime/life/userfilter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/hash.h"
#include "runtime/kern/seccomp.h"
#include "runtime/life/compile.h"
#include "runtime/life/memfile.h"
#include "runtime/life/statedir.h"
#include "runtime/spec/filterform.h"

#define KEPT_IN "filters"

enum {
	KEPT_MAGIC = 0x4b436c43, /* "ClCK" in memory */
	KEPT_VERSION = 1,
	KEPT_FILES_MAX = 64,
	NAME_MAX_LEN = 40,
};

/* Begins a kept file; the text and then the compiled form follow. */
struct kept_head {
	uint32_t magic;
	uint32_t version;
	uint32_t text_len;
	uint32_t form_len;
};

enum { KEPT_MAX = sizeof(struct kept_head) + COMPILE_INPUT_MAX + FILTERFORM_MAX };

static int read_text(const char *path, struct buf *text, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_USAGE, errno, "the system-call filter '%s' cannot be opened: %m", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, EINVAL, "the system-call filter '%s' is not a regular file", path);
	int r = buf_read_fd(text, fd);
	if (r == -EFBIG)
		return err_set(err, ERR_USAGE, E2BIG, "the system-call filter '%s' is larger than %d bytes", path, COMPILE_INPUT_MAX);
	return r < 0 ? err_set(err, ERR_USAGE, -r, "the system-call filter '%s' cannot be read: %m", path) : 0;
}

/* --- what was compiled before ------------------------------------------------------------------------------------------ */

static void name_of(const struct buf *text, char ret[NAME_MAX_LEN])
{
	uint64_t h = HASH_BEGIN;

	for (size_t i = 0; i < text->len; i++)
		h = hash_add(h, (unsigned char) text->p[i]);
	(void) snprintf(ret, NAME_MAX_LEN, "%016llx", (unsigned long long) h);
}

/* Whether @form was made for the running kernel, which rules may ask for. */
static bool is_current(const struct buf *form)
{
	struct seccomp_program program;

	return seccomp_program_parse(form->p, form->len, &program) == 0 &&
	       ((const struct filterform_head *) (const void *) form->p)->kernel == filterform_running_kernel();
}

/* Finds the compiled form of @text. */
static bool find_kept(int dir, const struct buf *text, struct buf *form)
{
	_cleanup_buf_ struct buf file = BUF_INIT(KEPT_MAX + 1);
	char name[NAME_MAX_LEN];
	struct kept_head head;

	name_of(text, name);
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || buf_read_fd(&file, fd) < 0 || file.len < sizeof(head))
		return false;
	memcpy(&head, file.p, sizeof(head));
	if (head.magic != KEPT_MAGIC || head.version != KEPT_VERSION || head.text_len != text->len ||
	    head.form_len != file.len - sizeof(head) - text->len || file.len < sizeof(head) + text->len ||
	    memcmp(file.p + sizeof(head), buf_cstr(text), text->len) != 0)
		return false;
	/* A copy, since an instruction must lie where its numbers can be read. */
	buf_add(form, file.p + sizeof(head) + text->len, head.form_len);
	if (buf_error(form) == 0 && form->len > 0 && is_current(form))
		return true;
	buf_clear(form);
	return false;
}

/* A folder that has become too full is emptied: what is needed is soon there again. */
static void make_room(int dir)
{
	_cleanup_list_ DIR *list = fd_list(dir);
	const struct dirent *entry;
	unsigned int count = 0;

	if (!list)
		return;
	while ((entry = readdir(list)))
		count += entry->d_name[0] != '.';
	if (count >= KEPT_FILES_MAX) {
		rewinddir(list);
		while ((entry = readdir(list)))
			if (entry->d_name[0] != '.')
				(void) unlinkat(dir, entry->d_name, 0);
	}
}

/* Keeps @form for @text, in one step. A failure costs the next start its time, and nothing else. */
static void keep(int dir, const struct buf *text, const struct buf *form)
{
	struct kept_head head = {
		.magic = KEPT_MAGIC, .version = KEPT_VERSION, .text_len = (uint32_t) text->len, .form_len = (uint32_t) form->len,
	};
	char name[NAME_MAX_LEN], new_name[NAME_MAX_LEN + 16];

	make_room(dir);
	name_of(text, name);
	(void) snprintf(new_name, sizeof(new_name), "%s.%d", name, getpid());
	_cleanup_fd_ int fd = openat(dir, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (fd_write_all(fd, &head, sizeof(head)) < 0 || fd_write_all(fd, buf_cstr(text), text->len) < 0 ||
	    fd_write_all(fd, buf_cstr(form), form->len) < 0 || renameat(dir, new_name, dir, name) < 0)
		(void) unlinkat(dir, new_name, 0);
}

/* --- from the text to the compiled form -------------------------------------------------------------------------------- */

static int compile(const char *path, const struct buf *text, struct buf *form, struct err *err)
{
	_cleanup_fd_ int fd = memfile_make("cloche-filter-text", buf_cstr(text), text->len);

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, -fd, "cannot make a memory file: %m");
	int r = compile_run("seccomp", fd, path, form, err);
	if (r < 0)
		return r;
	if (form->len > 0 && is_current(form))
		return 0;
	return err_set(err, ERR_SYSTEM, EBADMSG, "what cloche-compile made of the system-call filter '%s' makes no sense", path);
}

static int form_of(const char *path, const struct buf *text, struct buf *form, struct err *err)
{
	_cleanup_fd_ int dir = statedir_open(KEPT_IN, NULL);

	if (dir >= 0 && find_kept(dir, text, form))
		return 0;
	int r = compile(path, text, form, err);
	if (r == 0 && dir >= 0)
		keep(dir, text, form);
	return r;
}

/* Without these no command could be started, or end: better said here than found out. */
static int check_usable(const char *path, const struct buf *linked, struct err *err)
{
	static const struct {
		const char *name;
		uint32_t nr;
	} needed[] = { { "execve", SYS_execve }, { "exit_group", SYS_exit_group } };
	struct seccomp_program program;

	int r = seccomp_program_parse(linked->p, linked->len, &program);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the system-call filter '%s' cannot be used: %m", path);
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!seccomp_allows(&program, needed[i].nr))
			return err_set(err, ERR_USAGE, EPERM,
				       "the system-call filter '%s' does not allow '%s', so that no command could %s: add it", path,
				       needed[i].name, i == 0 ? "be started" : "end");
	return 0;
}

/* The notes are at the end of the compiled form, which has been checked. They may repeat words of the file: plain text only. */
static void add_notes(const struct buf *form, struct buf *notes)
{
	const char *bytes = buf_cstr(form);
	size_t len = ((const struct filterform_head *) (const void *) bytes)->notes_len;
	const char *at = bytes + form->len - len;

	for (size_t i = 0; i < len; i++)
		buf_add_char(notes, at[i] == '\n' ? '\0' : at[i] < ' ' || at[i] > '~' ? '?' : at[i]);
}

int userfilter_open(const char *path, bool debug, struct buf *notes, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(COMPILE_INPUT_MAX + 1);
	_cleanup_buf_ struct buf form = BUF_INIT(FILTERFORM_MAX);
	_cleanup_buf_ struct buf linked = BUF_INIT(FILTERFORM_MAX);
	int r;

	if ((r = read_text(path, &text, err)) < 0 || (r = form_of(path, &text, &form, err)) < 0)
		return r;
	r = seccomp_program_link(form.p, form.len, debug, &linked);
	if (r < 0)
		return err_set(err, ERR_USAGE, -r, "the system-call filter '%s' is too long to have the floor under it: name fewer calls "
			       "with 'args'", path);
	r = check_usable(path, &linked, err);
	if (r < 0)
		return r;
	add_notes(&form, notes);
	r = memfile_make("cloche-filter", buf_cstr(&linked), linked.len);
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "cannot make a memory file: %m") : r;
}
