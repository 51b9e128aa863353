/*
 * Ending sandboxes from outside: see stop.h. Runs in `cloche kill`, as the invoking user.
 */
#include "runtime/life/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/base/sysx.h"

enum { STAT_MAX = 2048 };

int stop_prepare(struct stop_target *target, int dir_fd, const struct state_entry *entry)
{
	*target = (struct stop_target) { .pid_fd = -EBADF, .init_fd = -EBADF, .pid = entry->pid, .init = entry->record.init };
	memcpy(target->id, entry->file, STATE_ID_LEN);
	target->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	return target->dir_fd < 0 ? -errno : 0;
}

void stop_done(struct stop_target *target)
{
	target->dir_fd = fd_close(target->dir_fd);
	target->pid_fd = fd_close(target->pid_fd);
	target->init_fd = fd_close(target->init_fd);
}

/* Whether the kernel says that @pid has the parent @parent now (proc_pid_stat(5)). */
static bool is_child_of(pid_t pid, pid_t parent)
{
	char path[32], text[STAT_MAX];
	uint64_t number;

	(void) snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fd_read_text(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	char *at = strrchr(text, ')'); /* the name in front of it may hold anything */
	if (!at || strlen(at) < sizeof(") S ") - 1)
		return false;
	at += sizeof(") S ") - 1;
	at[strcspn(at, " ")] = '\0';
	return str_to_uint(at, 1, INT32_MAX, &number) == 0 && (pid_t) number == parent;
}

/* Opens descriptors of the supervisor and of its sandbox's init, which then cannot be of other processes. 0 or -errno. */
static int open_processes(struct stop_target *t)
{
	if (t->pid <= 0)
		return -ENXIO;
	t->pid_fd = sysx_pidfd_open(t->pid);
	if (t->pid_fd < 0)
		return -errno;
	t->init_fd = t->init > 0 ? sysx_pidfd_open(t->init) : -EBADF;
	if (t->init_fd >= 0 && !is_child_of(t->init, t->pid))
		t->init_fd = fd_close(t->init_fd);
	pid_t holder = state_holder(t->dir_fd, t->id);
	if (holder < 0)
		return holder == -ENOENT ? -ESRCH : holder;
	return holder == t->pid ? 0 : -ESRCH;
}

static void fail(struct stop_target *t, int r)
{
	t->result = r == -ESRCH ? STOP_GONE : STOP_REFUSED;
	t->errnum = -r;
	t->pid_fd = fd_close(t->pid_fd);
	t->init_fd = fd_close(t->init_fd);
}

static void send_signal(struct stop_target *t, int signo)
{
	if (sysx_pidfd_send_signal(t->pid_fd, signo) < 0)
		fail(t, -errno);
}

static bool is_over(int pid_fd)
{
	struct pollfd p = { .fd = pid_fd, .events = POLLIN };

	return pid_fd < 0 || poll(&p, 1, 0) > 0;
}

/* Waits until all supervisors and inits are over, at most @ms. */
static void wait_for_all(const struct stop_target *targets, size_t count, int64_t ms)
{
	int64_t deadline = clock_now_ms() + ms;

	for (size_t i = 0; i < count; i++) {
		const int fds[] = { targets[i].pid_fd, targets[i].init_fd };
		for (size_t k = 0; k < ARRAY_LEN(fds); k++) {
			struct pollfd p = { .fd = fds[k], .events = POLLIN };
			int64_t left = MAX(deadline - clock_now_ms(), (int64_t) 0);
			if (fds[k] >= 0)
				(void) poll(&p, 1, (int) left);
		}
	}
}

void stop_all(struct stop_target *targets, size_t count, bool by_force)
{
	for (size_t i = 0; i < count; i++) {
		int r = open_processes(&targets[i]);
		if (r < 0)
			fail(&targets[i], r);
		else
			send_signal(&targets[i], by_force ? SIGKILL : SIGTERM);
	}
	if (!by_force)
		wait_for_all(targets, count, STOP_PATIENCE_MS);
	for (size_t i = 0; i < count; i++) {
		if (targets[i].pid_fd < 0)
			continue;
		bool killed = by_force || !is_over(targets[i].pid_fd);
		targets[i].result = killed ? STOP_KILLED : STOP_ENDED;
		if (killed && !by_force)
			IGNORE_RESULT(sysx_pidfd_send_signal(targets[i].pid_fd, SIGKILL)); /* it has ended by itself: the wait shows it */
	}
	wait_for_all(targets, count, STOP_KILL_MS);
	for (size_t i = 0; i < count; i++) {
		struct stop_target *t = &targets[i];
		if (!is_over(t->pid_fd) || !is_over(t->init_fd))
			t->result = STOP_STUCK;
		else if (t->result == STOP_KILLED)
			(void) state_sweep(t->dir_fd, t->id);
	}
}
