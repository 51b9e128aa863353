/*
 * Ending sandboxes from outside: the right process and no other, by asking and by force.
 */
#include "runtime/life/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

enum { TEXT_MAX = 512 };

static char scratch[64];

static void set_up(void)
{
	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-stop-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
}

static void tear_down(void)
{
	char text[TEXT_MAX];
	static const char *const made[] = { "/cloche/sandboxes", "/cloche", "" };

	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		(void) snprintf(text, sizeof(text), "%s%s", scratch, made[i]);
		ck_assert_msg(rmdir(text) == 0, "%s: %m", text);
	}
}

/* A supervisor with a child that stands for its init. It ends when asked, unless it is @stubborn. */
static pid_t start_supervisor(bool stubborn, struct state_entry *ret)
{
	int pipe_fds[2];

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct state_record record = { .started = 1 };
		struct state state = STATE_NONE;
		(void) signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
		record.init = fork();
		if (record.init == 0) {
			(void) usleep(200000); /* it takes a moment to end, as an init does */
			_exit(0);
		}
		if (state_publish(&state, &record, NULL) < 0 || write(pipe_fds[1], &state.id, sizeof(state.id)) < 0 ||
		    write(pipe_fds[1], &record.init, sizeof(record.init)) < 0)
			_exit(1);
		for (;;)
			(void) pause();
	}
	(void) close(pipe_fds[1]);
	memset(ret, 0, sizeof(*ret));
	ck_assert_int_eq(fd_read_exact(pipe_fds[0], ret->file, STATE_ID_LEN + 1), 0);
	ck_assert_int_eq(fd_read_exact(pipe_fds[0], &ret->record.init, sizeof(ret->record.init)), 0);
	(void) close(pipe_fds[0]);
	ret->pid = pid;
	return pid;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static struct stop_target prepared(const struct state_entry *entry)
{
	struct stop_target target;
	_cleanup_fd_ int dir_fd = statedir_open(STATEDIR_SANDBOXES, NULL);

	ck_assert_int_ge(dir_fd, 0);
	ck_assert_int_eq(stop_prepare(&target, dir_fd, entry), 0);
	return target;
}

static bool is_there(const struct state_entry *entry)
{
	_cleanup_fd_ int dir_fd = statedir_open(STATEDIR_SANDBOXES, NULL);

	return faccessat(dir_fd, entry->file, F_OK, 0) == 0;
}

static void remove_record(const struct state_entry *entry)
{
	_cleanup_fd_ int dir_fd = statedir_open(STATEDIR_SANDBOXES, NULL);

	ck_assert_int_eq(unlinkat(dir_fd, entry->file, 0), 0);
}

START_TEST(test_both_ways)
{
	struct state_entry entries[2];
	struct stop_target targets[2];

	set_up();
	pid_t asked = start_supervisor(false, &entries[0]);
	targets[0] = prepared(&entries[0]);
	stop_all(targets, 1, false);
	ck_assert_int_eq(targets[0].result, STOP_ENDED);
	ck_assert_int_ge(targets[0].init_fd, 0);
	ck_assert_msg(poll(&(struct pollfd) { .fd = targets[0].init_fd, .events = POLLIN }, 1, 0) == 1, "it did not wait for init");
	ck_assert_int_eq(wait_for(asked), SIGTERM);
	ck_assert(is_there(&entries[0])); /* this one did not remove its record: only what is killed is swept */
	remove_record(&entries[0]);
	stop_done(&targets[0]);

	pid_t forced = start_supervisor(true, &entries[1]);
	targets[1] = prepared(&entries[1]);
	stop_all(targets + 1, 1, true);
	ck_assert_int_eq(targets[1].result, STOP_KILLED);
	ck_assert_int_eq(wait_for(forced), SIGKILL);
	ck_assert(!is_there(&entries[1]));
	stop_done(&targets[1]);
	tear_down();
}
END_TEST

/* One is over when the turn comes to it, and another process may have its number: nothing is sent. */
START_TEST(test_over_already)
{
	struct state_entry dead, alive;
	struct stop_target targets[2];

	set_up();
	pid_t pid = start_supervisor(false, &dead);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(wait_for(pid), SIGKILL);
	pid_t other = start_supervisor(false, &alive);
	dead.pid = other; /* as if the number had come to it */
	targets[0] = prepared(&dead);
	alive.pid = 0; /* in a PID namespace that is not seen from here */
	targets[1] = prepared(&alive);
	stop_all(targets, 2, true);
	ck_assert_int_eq(targets[0].result, STOP_GONE);
	ck_assert_int_eq(targets[1].result, STOP_REFUSED);
	ck_assert_int_eq(targets[1].errnum, ENXIO);
	ck_assert_int_eq(kill(other, 0), 0);
	ck_assert_int_eq(waitpid(other, NULL, WNOHANG), 0);
	stop_done(&targets[0]);
	stop_done(&targets[1]);

	/* A record that claims a stranger for its init is not believed: nobody waits for that one. */
	alive.pid = other;
	alive.record.init = getpid();
	targets[0] = prepared(&alive);
	stop_all(targets, 1, true);
	ck_assert_int_eq(targets[0].result, STOP_KILLED);
	ck_assert_int_eq(targets[0].init_fd, -EBADF);
	ck_assert_int_eq(wait_for(other), SIGKILL);
	stop_done(&targets[0]);
	remove_record(&dead);
	tear_down();
}
END_TEST

UNIT_MAIN("runtime/life/stop", test_both_ways, test_over_already)
