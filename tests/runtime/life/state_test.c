/*
 * Records of sandboxes: alive while the process that made them lives, dead from the moment it is killed, and nobody else's.
 */
#include "runtime/life/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

enum { TEXT_MAX = 512, MANY = 40 };

static char scratch[64];

static void set_up(void)
{
	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-state-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", scratch, 1), 0);
}

static const char *path_of(const char *file)
{
	static char text[TEXT_MAX];

	(void) snprintf(text, sizeof(text), "%s/cloche/sandboxes%s%s", scratch, *file ? "/" : "", file);
	return text;
}

/* Removes the folders, which must be empty by now. */
static void tear_down(void)
{
	char text[TEXT_MAX];

	ck_assert_msg(rmdir(path_of("")) == 0, "a record is left: %m");
	(void) snprintf(text, sizeof(text), "%s/cloche", scratch);
	ck_assert_int_eq(rmdir(text), 0);
	ck_assert_int_eq(rmdir(scratch), 0);
}

/* A supervisor: publishes a record, says so by a byte, and waits for its end. With a second process that inherits everything. */
static pid_t start_supervisor(bool with_heir, pid_t *ret_heir)
{
	struct state_record record = { .started = 1764446340, .init = 99, .name = "one", .workspace = "/w", .command = "true" };
	struct state state = STATE_NONE;
	int pipe_fds[2];

	ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		pid_t heir = 0;
		if (state_publish(&state, &record, NULL) < 0)
			_exit(1);
		if (with_heir && (heir = fork()) == 0)
			for (;;)
				(void) pause();
		if (write(pipe_fds[1], &heir, sizeof(heir)) < 0)
			_exit(1);
		for (;;)
			(void) pause();
	}
	(void) close(pipe_fds[1]);
	pid_t heir = 0;
	ck_assert_int_eq(read(pipe_fds[0], &heir, sizeof(heir)), sizeof(heir));
	if (ret_heir)
		*ret_heir = heir;
	(void) close(pipe_fds[0]);
	return pid;
}

static void kill_and_reap(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* What a visit found in the scratch folder; the machine may have records elsewhere. */
struct found {
	size_t count;
	struct state_entry last;
	int dir_fd;
};

static int find(int dir_fd, const struct state_entry *entry, void *userdata)
{
	struct found *found = userdata;
	struct stat here, there;

	if (fstat(dir_fd, &here) < 0 || stat(path_of(""), &there) < 0 || here.st_ino != there.st_ino || here.st_dev != there.st_dev)
		return 0;
	found->count++;
	found->last = *entry;
	return 0;
}

static struct found look(void)
{
	static struct found found;

	found.count = 0;
	ck_assert_int_eq(state_visit(find, &found), 0);
	found.dir_fd = open(path_of(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return found;
}

START_TEST(test_life)
{
	set_up();
	pid_t pid = start_supervisor(false, NULL);
	struct found found = look();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.last.kind, STATE_ALIVE);
	ck_assert_int_eq(found.last.pid, pid);
	ck_assert_uint_eq(found.last.owner, geteuid());
	ck_assert(found.last.is_readable);
	ck_assert(state_is_id(found.last.file));
	ck_assert_str_eq(found.last.record.name, "one");
	ck_assert_str_eq(found.last.record.workspace, "/w");
	ck_assert_str_eq(found.last.record.command, "true");
	ck_assert_int_eq(found.last.record.init, 99);
	ck_assert_int_eq(state_holder(found.dir_fd, found.last.file), pid);
	ck_assert_int_eq(state_sweep(found.dir_fd, found.last.file), 0);

	kill_and_reap(pid);
	(void) fd_close(found.dir_fd);
	found = look();
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.last.kind, STATE_DEAD);
	ck_assert_int_eq(found.last.pid, 0);
	ck_assert_str_eq(found.last.record.name, "one");
	ck_assert_int_eq(state_holder(found.dir_fd, found.last.file), -ESRCH);
	ck_assert_int_eq(state_is_stale(found.dir_fd, found.last.file), 1);
	ck_assert_int_eq(state_sweep(found.dir_fd, found.last.file), 1);
	ck_assert_int_eq(state_sweep(found.dir_fd, found.last.file), 0);
	ck_assert_int_eq(state_holder(found.dir_fd, found.last.file), -ENOENT);
	(void) fd_close(found.dir_fd);
	tear_down();
}
END_TEST

START_TEST(test_ends_by_itself)
{
	struct state state = STATE_NONE;
	struct state_record record = { .started = 1 };

	set_up();
	ck_assert_int_eq(state_publish(&state, &record, NULL), 0);
	ck_assert_int_eq(access(path_of(state.id), F_OK), 0);
	state_done(&state);
	ck_assert_int_eq(state.fd, -EBADF);
	state_done(&state); /* nothing is left to do */
	tear_down();
}
END_TEST

/* A process that inherited the descriptors of a supervisor does not keep its record alive. */
START_TEST(test_heir)
{
	pid_t heir = 0;

	set_up();
	pid_t pid = start_supervisor(true, &heir);
	ck_assert_int_gt(heir, 0);
	kill_and_reap(pid);
	struct found found = look();
	ck_assert_int_eq(found.last.kind, STATE_DEAD);
	ck_assert_int_eq(kill(heir, SIGKILL), 0);
	ck_assert_int_eq(state_sweep(found.dir_fd, found.last.file), 1);
	(void) fd_close(found.dir_fd);
	tear_down();
}
END_TEST

/* A launch removes records of the dead: a few of many, all of a few, and never one of the living. */
START_TEST(test_sweep_by_launches)
{
	struct state_record record = { .started = 1 };
	pid_t pids[MANY];

	set_up();
	for (int i = 0; i < MANY; i++)
		pids[i] = start_supervisor(false, NULL);
	for (int i = 0; i < MANY; i++)
		kill_and_reap(pids[i]);
	struct found found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, MANY);
	pid_t alive = start_supervisor(false, NULL);
	found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, MANY + 1);
	for (int i = 0; i < 20 * MANY; i++) {
		struct state state = STATE_NONE;
		ck_assert_int_eq(state_publish(&state, &record, NULL), 0);
		state_sweep_some(&state);
		state_done(&state);
	}
	found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.last.kind, STATE_ALIVE);
	ck_assert_int_eq(found.last.pid, alive);
	kill_and_reap(alive);
	ck_assert_int_eq(unlink(path_of(found.last.file)), 0);
	tear_down();
}
END_TEST

static void put(const char *file, const char *text)
{
	_cleanup_fd_ int fd = open(path_of(file), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

/* What somebody else put there under the name of a record. */
START_TEST(test_forged)
{
	static const char one[] = "00000000000000aa", two[] = "00000000000000bb";
	char text[TEXT_MAX];

	set_up();
	_cleanup_fd_ int dir_fd = statedir_open(STATEDIR_SANDBOXES, NULL);
	ck_assert_int_ge(dir_fd, 0);

	put(one, "nonsense");
	struct found found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, 1);
	ck_assert(!found.last.is_readable);
	ck_assert_str_eq(found.last.record.name, "");
	ck_assert_int_eq(found.last.kind, STATE_DEAD);

	(void) snprintf(text, sizeof(text), "%s", path_of(two));
	ck_assert_int_eq(link(path_of(one), text), 0); /* a file of another folder must not be swept by a link to it */
	ck_assert_int_eq(state_sweep(dir_fd, one), -EBADMSG);
	ck_assert_int_eq(unlink(path_of(two)), 0);
	ck_assert_int_eq(state_sweep(dir_fd, one), 1);

	ck_assert_int_eq(mkfifo(path_of(one), 0600), 0);
	ck_assert_int_eq(state_holder(dir_fd, one), -EBADMSG);
	ck_assert_int_eq(unlink(path_of(one)), 0);
	ck_assert_int_eq(symlink("/etc/passwd", path_of(one)), 0);
	ck_assert_int_eq(state_holder(dir_fd, one), -ELOOP);
	ck_assert_int_eq(unlink(path_of(one)), 0);
	ck_assert_int_eq(mkdir(path_of(one), 0700), 0);
	ck_assert_int_eq(state_sweep(dir_fd, one), -EBADMSG);
	found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, 0);
	ck_assert_int_eq(rmdir(path_of(one)), 0);

	put("README", "x");
	put("00000000000000AA", "x");
	found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, 0);
	ck_assert_int_eq(unlink(path_of("README")), 0);
	ck_assert_int_eq(unlink(path_of("00000000000000AA")), 0);
	tear_down();
}
END_TEST

START_TEST(test_unfinished)
{
	static const char file[] = "00000000000000aa.new";

	set_up();
	_cleanup_fd_ int dir_fd = statedir_open(STATEDIR_SANDBOXES, NULL);
	ck_assert_int_ge(dir_fd, 0);
	put(file, "");
	struct found found = look();
	(void) fd_close(found.dir_fd);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_int_eq(found.last.kind, STATE_UNFINISHED);
	ck_assert_msg(state_sweep(dir_fd, file) == 0, "a launch that has just begun was robbed");
	ck_assert_int_eq(unlink(path_of(file)), 0);
	ck_assert(!state_is_id(file));
	tear_down();
}
END_TEST

UNIT_MAIN("runtime/life/state", test_life, test_ends_by_itself, test_heir, test_sweep_by_launches, test_forged, test_unfinished)
