/*
 * The janitor: see janitor.h. janitor_main() runs in a process of its own on the host, with the rights of the workspace's owner and, until
 * its last act, none else, no standard streams, and all signals blocked; the rest runs in the launcher, which becomes the supervisor.
 */
#include "runtime/life/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/base/utf8.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/caps_override.h"
#include "runtime/kern/userns.h"
#include "runtime/life/statedir.h"

enum {
	FIRST_FD = 3,          /* the janitor's descriptors are from here up, all others closed */
	FINISH_MS = 5000,      /* the supervisor's patience at the end, each time: it may be a slow file system */
	END_MS = 2000,         /* the same, for the janitor to end when it has nothing to do any more */
	UNKNOWN_INIT_MS = 200, /* the supervisor was killed in the moment between clone and message: init dies with it */
	RESULT_NONE = -ECHILD, /* the janitor has died */
};

#define NO_ITEM UINT32_MAX

/* Supervisor to janitor, one byte each. The other way there is one: with the records, then after MESSAGE_GONE another. */
enum {
	MESSAGE_INIT = 'I', /* with the pidfd */
	MESSAGE_GONE = 'G', /* nothing runs any more: remove the stand-ins */
	MESSAGE_DONE = 'D', /* they are removed */
};

/* What is to be occupied, and what became of it. */
struct janitor_list {
	int result;      /* 0 or -errno; RESULT_NONE until all is made */
	uint32_t failed; /* the item that could not be occupied, or NO_ITEM */
	struct placeholder wanted[MOUNTPLAN_PROTECTED_MAX];
	uint32_t items[MOUNTPLAN_PROTECTED_MAX]; /* beside it: which item of struct protect */
	size_t count;
	char text[PROTECT_TEXT_MAX]; /* the paths */
	size_t text_len;
};

/* --- the janitor's own process ----------------------------------------------------------------------------------------- */

/* Keeps the descriptors of @j, and no others. */
static int keep_descriptors(struct janitor *j)
{
	int *fds[3 + PROTECT_ROOTS] = { &j->fd, &j->ready_fd, &j->cgroup.base_fd };

	for (size_t i = 0; i < PROTECT_ROOTS; i++)
		fds[3 + i] = &j->folders[i].fd;
	/* First out of the way of each other, then to where they stay. */
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (*fds[i] >= 0 && (*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, FIRST_FD + (int) ARRAY_LEN(fds))) < 0)
			return -errno;
	}
	for (int i = 0; i < (int) ARRAY_LEN(fds); i++) {
		if (*fds[i] < 0)
			(void) close(FIRST_FD + i); /* whatever that is */
		else if ((*fds[i] = dup3(*fds[i], FIRST_FD + i, O_CLOEXEC)) < 0)
			return -errno;
	}
	return sysx_close_range(0, FIRST_FD - 1, 0) < 0 || sysx_close_range(FIRST_FD + ARRAY_LEN(fds), ~0U, 0) < 0 ? -errno : 0;
}

/* Takes the owner's identity and gives up the rights of root, up to the one that removing a cgroup of root's needs, held back. */
static int drop_rights(const struct janitor *j, const struct janitor_identity *identity)
{
	bool keeps = identity->change && j->cgroup.base_fd >= 0;
	int r = keeps ? caps_override_begin() : 0;

	if (r == 0 && identity->change)
		r = userns_become(identity->uid, identity->gid);
	if (r < 0)
		return r;
	return keeps ? caps_override_reserve() : caps_drop_all();
}

/* Leaves everything behind that was the caller's: session, signals, descriptors, rights. */
static int settle(struct janitor *j, const struct janitor_identity *identity)
{
	sigset_t all;

	(void) sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || setsid() < 0)
		return -errno;
	(void) prctl(PR_SET_NAME, "cloche-janitor");
	(void) umask(0);
	int r = keep_descriptors(j);
	if (r == 0)
		r = caps_prepare();
	if (r < 0 || (r = drop_rights(j, identity)) < 0)
		return r;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : proc_hide();
}

/* Makes the stand-ins, in each folder together with whoever else has a sandbox there. */
static int occupy(struct janitor *j, int state_fd)
{
	int r = 0;

	for (size_t i = 0; i < PROTECT_ROOTS && r == 0; i++) {
		size_t failed = SIZE_MAX;

		if (j->folders[i].fd < 0)
			continue;
		r = placeholder_join(&j->folders[i], state_fd);
		if (r == 0)
			r = placeholder_make(&j->folders[i], i, j->list->wanted, j->list->count, &failed);
		if (failed < j->list->count)
			j->list->failed = j->list->items[failed];
	}
	return r;
}

/* Lets go of the sandbox, which may wait for the stand-ins, and hands the records to the supervisor. */
static int tell_ready(struct janitor *j)
{
	const char message = 0;
	int fds[PROTECT_ROOTS];
	size_t count = 0;

	j->ready_fd = fd_close(j->ready_fd);
	for (size_t i = 0; i < PROTECT_ROOTS; i++)
		if (j->folders[i].record >= 0)
			fds[count++] = j->folders[i].record;
	return fdpass_send(j->fd, &message, sizeof(message), fds, count);
}

/* Waits until nothing of the sandbox runs. False when the stand-ins are removed already. */
static bool wait_for_end(const struct janitor *j)
{
	_cleanup_fd_ int init = -EBADF;

	for (;;) {
		char message = 0;
		int fd = -EBADF;
		size_t nfds = 0;
		ssize_t n = fdpass_recv(j->fd, &message, sizeof(message), &fd, 1, &nfds);

		if (n == 1 && message == MESSAGE_INIT && nfds == 1) {
			(void) fd_close(init);
			init = fd;
			continue;
		}
		(void) fd_close(fd);
		if (n == 1)
			return message != MESSAGE_DONE;
		if (n != -EINTR)
			break;
	}
	struct pollfd gone = { .fd = init, .events = POLLIN };
	while (poll(&gone, 1, init < 0 ? UNKNOWN_INIT_MS : -1) < 0 && errno == EINTR)
		;
	return true;
}

static void leave(struct janitor *j, int state_fd, struct placeholder_trash *trash)
{
	for (size_t i = PROTECT_ROOTS; i-- > 0;) /* a repository before the workspace that it is in */
		if (j->folders[i].fd >= 0)
			placeholder_leave(&j->folders[i], i, state_fd, j->list->wanted, j->list->count, trash);
}

/* The last thing it does: nothing that others may have made is looked at with this right. */
static void remove_cgroup(const struct janitor *j)
{
	if (j->cgroup.base_fd < 0 || caps_override_use(true) < 0)
		return;
	(void) cgroup_node_remove(j->cgroup.base_fd, j->cgroup.name);
	cgroup_node_sweep_some(j->cgroup.base_fd, j->cgroup.name);
}

_noreturn_ static void janitor_main(struct janitor *j, const struct janitor_identity *identity)
{
	struct placeholder_trash trash = { .count = 0 };
	const char done = 0;

	int r = settle(j, identity);
	if (r < 0) {
		j->list->result = r;
		_exit(1);
	}
	int state_fd = statedir_open(PLACEHOLDER_STATE, NULL);
	j->list->result = occupy(j, state_fd);
	/* A supervisor that is gone was killed: then there is nothing to wait for but init. */
	IGNORE_RESULT(tell_ready(j));
	if (wait_for_end(j)) {
		leave(j, state_fd, &trash);
		placeholder_discard(&trash);
		remove_cgroup(j);
		IGNORE_RESULT(fdpass_send(j->fd, &done, sizeof(done), NULL, 0)); /* the same */
	}
	_exit(0);
}

/* --- the launcher ------------------------------------------------------------------------------------------------------ */

/* Copies @s, which is from the text of a struct protect: there is as much room here. */
static const char *keep(struct janitor_list *list, const char *s)
{
	size_t size = strlen(s) + 1;
	char *ret = list->text + list->text_len;

	memcpy(ret, s, size);
	list->text_len += size;
	return ret;
}

static int describe(struct janitor *j, const struct protect *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct protect_item *item = &p->items[i];
		const struct protect_folder *root = &p->roots[item->root];
		struct placeholder_folder *folder = &j->folders[item->root];

		if (!item->occupy)
			continue;
		const char *path = keep(j->list, item->path);
		if (folder->fd < 0) {
			*folder = (struct placeholder_folder) { .fd = fcntl(root->fd, F_DUPFD_CLOEXEC, 0), .device = root->device,
								.inode = root->inode, .record = -EBADF };
			folder->host = keep(j->list, root->host);
			if (folder->fd < 0)
				return -errno;
		}
		j->list->items[j->list->count] = (uint32_t) i;
		j->list->wanted[j->list->count++] = (struct placeholder) {
			.path = path, .stand_in = item->stand_in, .folder = item->root, .was_there = item->is_taken };
	}
	return 0;
}

int janitor_explain(const struct janitor *j, const struct protect *p, struct err *err)
{
	int errnum = -j->list->result;
	bool is_full = errnum == ENOSPC || errnum == EDQUOT;

	if (errnum == EBUSY)
		return err_set(err, ERR_SYSTEM, errnum,
			       "another cloche on this workspace was stopped while it changed the list of occupied paths: continue it (kill -CONT) "
			       "or end it (kill -KILL)");
	if (j->list->result == RESULT_NONE)
		return err_set(err, ERR_SYSTEM, errnum, "the process that occupies protected paths was killed or stopped: try again");
	if (j->list->failed >= p->count)
		return err_set(err, ERR_SYSTEM, errnum, "the protected paths that are missing cannot be occupied: %m%s",
			       is_full ? ". Free some space" : "");
	const struct protect_item *item = &p->items[j->list->failed];
	const char *host = p->roots[item->root].host;
	if (errnum == ESTALE)
		return err_set(err, ERR_SYSTEM, errnum, "the folder of '%s/%s' was moved while it was looked at: try again", host, item->path);
	if (is_full)
		return err_set(err, ERR_SYSTEM, errnum,
			       "the protected path '%s/%s' does not exist and cannot be occupied, so an agent could make it: %m. Free some space, "
			       "or give the workspace read-only (:ro)", host, item->path);
	return err_set(err, ERR_SYSTEM, errnum,
		       "the protected path '%s/%s' does not exist and cannot be occupied, so an agent could make it: %m. Make its folder "
		       "writable, give the workspace read-only (:ro), or give --unprotect %s%s", host, item->path,
		       item->root == PROTECT_REPOSITORY ? ".git/" : "", item->path);
}

static int connect_ends(struct janitor *j)
{
	int pair[2], ready[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	j->fd = pair[0];
	j->its_fd = pair[1];
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	j->ready_fd = ready[0];
	j->its_ready_fd = ready[1];
	return 0;
}

static int start(struct janitor *j)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct janitor own = *j;
		own.fd = j->its_fd;
		own.ready_fd = j->its_ready_fd;
		janitor_main(&own, &j->identity);
	}
	int r = pid < 0 ? -errno : 0;
	j->its_fd = fd_close(j->its_fd);
	j->its_ready_fd = fd_close(j->its_ready_fd);
	j->pid = pid;
	if (r < 0)
		return r;
	j->pid_fd = sysx_pidfd_open(pid);
	return j->pid_fd < 0 ? -errno : 0;
}

static int explain_start(int r, struct err *err)
{
	if (r == -EAGAIN)
		return err_set(err, ERR_SYSTEM, EAGAIN,
			       "the sandbox cannot be started: you have too many processes (ulimit -u). End some, or raise the limit");
	return err_set(err, ERR_SYSTEM, -r, "the process that cleans up behind the sandbox cannot be started: %m");
}

int janitor_begin(struct janitor *j, struct err *err)
{
	int r = j->list && j->pid < 0 ? start(j) : 0;

	return r < 0 ? explain_start(r, err) : 0;
}

/* There is something to do for it. */
static int set_up(struct janitor *j, const struct janitor_identity *identity)
{
	if (j->list)
		return 0;
	void *list = mmap(NULL, sizeof(*j->list), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return -errno;
	j->list = list;
	j->list->result = RESULT_NONE;
	j->list->failed = NO_ITEM;
	j->identity = *identity;
	return connect_ends(j);
}

int janitor_keep_cgroup(struct janitor *j, int base_fd, const char *name, const struct janitor_identity *identity, struct err *err)
{
	int r = set_up(j, identity);

	if (r < 0)
		return explain_start(r, err);
	(void) snprintf(j->cgroup.name, sizeof(j->cgroup.name), "%s", name);
	j->cgroup.base_fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 0);
	return j->cgroup.base_fd < 0 ? explain_start(-errno, err) : 0;
}

int janitor_prepare(struct janitor *j, const struct protect *p, struct mountplan_facts *facts, const struct janitor_identity *identity,
		    struct err *err)
{
	if (p->to_occupy == 0)
		return 0;
	int r = set_up(j, identity);
	if (r == 0)
		r = describe(j, p);
	if (r < 0)
		return explain_start(r, err);
	facts->ready_fd = j->ready_fd;
	facts->ready = &j->list->result;
	for (size_t i = 0; i < j->list->count; i++)
		facts->protected[j->list->items[i]].absent = &j->list->wanted[i].is_skipped;
	return 0;
}

static int tell(const struct janitor *j, char message, const int *fds, size_t count)
{
	return fdpass_send(j->fd, &message, sizeof(message), fds, count);
}

void janitor_watch(const struct janitor *j, int init_pidfd)
{
	/* A janitor that was killed is noticed at the end. */
	if (j->fd >= 0)
		IGNORE_RESULT(tell(j, MESSAGE_INIT, &init_pidfd, 1));
}

void janitor_forget(struct janitor *j)
{
	j->fd = fd_close(j->fd);
	j->pid_fd = fd_close(j->pid_fd);
	j->its_fd = fd_close(j->its_fd);
	j->its_ready_fd = fd_close(j->its_ready_fd);
	j->cgroup.base_fd = fd_close(j->cgroup.base_fd);
	for (size_t i = 0; i < PROTECT_ROOTS; i++) {
		j->folders[i].fd = fd_close(j->folders[i].fd);
		j->folders[i].record = fd_close(j->folders[i].record);
	}
}

/* Takes the records, which the janitor has sent long ago, or sends before it dies. False when it was killed before. */
static bool take_records(struct janitor *j)
{
	struct pollfd message = { .fd = j->fd, .events = POLLIN };
	int fds[PROTECT_ROOTS];
	char byte;
	size_t count = 0, taken = 0;

	if (poll(&message, 1, FINISH_MS) <= 0 || fdpass_recv(j->fd, &byte, sizeof(byte), fds, ARRAY_LEN(fds), &count) != 1)
		return false;
	for (size_t i = 0; i < PROTECT_ROOTS; i++)
		if (j->folders[i].fd >= 0 && taken < count)
			j->folders[i].record = fds[taken++];
	return true;
}

static bool has_done_it(const struct janitor *j)
{
	struct pollfd answer = { .fd = j->fd, .events = POLLIN };
	char done;
	size_t nfds;

	return tell(j, MESSAGE_GONE, NULL, 0) == 0 && poll(&answer, 1, FINISH_MS) > 0 &&
	       fdpass_recv(j->fd, &done, sizeof(done), NULL, 0, &nfds) == 1;
}

/*
 * An ordinary user's supervisor removes the stand-ins itself, which is faster. What nobody could do is left to whoever comes next: false
 * when there may be something.
 */
static bool remove_all(struct janitor *j)
{
	struct placeholder_trash trash = { .count = 0 };

	if (!take_records(j))
		return false;
	if (j->identity.change && has_done_it(j))
		return true;
	_cleanup_fd_ int state_fd = statedir_open(PLACEHOLDER_STATE, NULL);
	leave(j, state_fd, &trash);
	IGNORE_RESULT(tell(j, MESSAGE_DONE, NULL, 0)); /* it was killed */
	placeholder_discard(&trash);
	return !j->identity.change;
}

/* It ends now in any case, having no supervisor; left to others, it might stay a zombie in a container. False when it does not end. */
static bool reap(const struct janitor *j)
{
	struct pollfd gone = { .fd = j->pid_fd, .events = POLLIN };

	if (poll(&gone, 1, END_MS) <= 0 && (sysx_pidfd_send_signal(j->pid_fd, SIGKILL) < 0 || poll(&gone, 1, END_MS) <= 0))
		return false;
	IGNORE_RESULT(proc_wait(j->pid, NULL));
	return true;
}

/* Whether something of what was made here is still there, or may be. */
static bool has_left(const struct janitor *j, size_t folder)
{
	struct stat st;

	for (size_t i = 0; i < j->list->count; i++) {
		const struct placeholder *made = &j->list->wanted[i];
		if (made->folder != folder || made->inode == 0)
			continue;
		if (fstatat(j->folders[folder].fd, made->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno == EACCES : st.st_ino == made->inode)
			return true;
	}
	return false;
}

/* Started by root, the supervisor may not have the rights to do what a janitor that was killed or stopped has not done. */
static void tell_left(const struct janitor *j, bool is_stopped)
{
	char stopped[128] = "";

	if (is_stopped)
		(void) snprintf(stopped, sizeof(stopped), "End the process that should have removed them and was stopped (kill -KILL %d); then ",
				(int) j->pid);
	if (j->cgroup.base_fd >= 0 && faccessat(j->cgroup.base_fd, j->cgroup.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		(void) dprintf(STDERR_FILENO, "cloche: the cgroup '%s' stays. %s`cloche gc`, as root, removes it\n", j->cgroup.name, stopped);
	for (size_t i = 0; i < PROTECT_ROOTS; i++) {
		_cleanup_buf_ struct buf host = BUF_INIT(3 * SPEC_PATH_MAX);

		if (j->folders[i].fd < 0 || !has_left(j, i))
			continue;
		utf8_add_printable(&host, j->folders[i].host, strlen(j->folders[i].host));
		(void) dprintf(STDERR_FILENO, "cloche: empty stand-ins for protected names stay in '%s'. %s`cloche gc` removes them\n", buf_cstr(&host),
			       stopped);
	}
}

void janitor_finish(struct janitor *j)
{
	if (!j->list)
		return;
	if (j->pid > 0) {
		bool is_done = remove_all(j);
		j->fd = fd_close(j->fd);
		bool is_stopped = !reap(j);
		if (!is_done)
			tell_left(j, is_stopped);
	}
	janitor_forget(j);
	j->ready_fd = fd_close(j->ready_fd);
	(void) munmap(j->list, sizeof(*j->list));
	j->list = NULL;
}
