/*
 * `cloche gc`: removes what killed sandboxes have left.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/proc.h"
#include "runtime/cli/command.h"
#include "runtime/cli/options.h"
#include "runtime/cli/sandboxes.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/userns.h"
#include "runtime/life/cgroup.h"
#include "runtime/life/placeholder.h"

enum { LINE_MAX_BYTES = 1024, EXIT_NOT_ALL = 1, COUNT_MAX = 100 };

struct collection {
	bool dry_run;
	size_t removed, failed;
};

static void say(const struct state_entry *e, const char *what, int fd)
{
	_cleanup_buf_ struct buf line = BUF_INIT(LINE_MAX_BYTES);

	if (fd == STDERR_FILENO)
		buf_add_str(&line, "cloche: ");
	buf_addf(&line, "%s the record of the killed sandbox ", what);
	sandboxes_add_title(&line, e);
	buf_add_char(&line, '\n');
	IGNORE_RESULT(fd_write_all(fd, buf_cstr(&line), line.len)); /* nobody reads it */
}

static int collect(int dir_fd, const struct state_entry *entry, void *userdata)
{
	struct collection *c = userdata;

	if (entry->kind == STATE_ALIVE)
		return 0;
	int r = c->dry_run ? state_is_stale(dir_fd, entry->file) : state_sweep(dir_fd, entry->file);
	if (r > 0) {
		say(entry, c->dry_run ? "would remove" : "removed", STDOUT_FILENO);
		c->removed++;
	} else if (r < 0) {
		say(entry, "cannot remove", STDERR_FILENO);
		c->failed++;
	}
	return 0;
}

/*
 * Removes the stand-ins for protected names that killed sandboxes have left in workspaces. Which there are was written by @owner, so
 * that root lets a process without more rights than that user do it. The number of workspaces (up to COUNT_MAX), or -errno.
 */
static int sweep_stand_ins(int fd, uid_t owner, bool dry_run)
{
	struct stat st;
	int status;

	if (owner == geteuid())
		return placeholder_sweep(fd, dry_run);
	if (fstat(fd, &st) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		int r = userns_become(owner, st.st_gid);
		if (r == 0 && (r = caps_prepare()) == 0 && (r = caps_drop_all()) == 0)
			r = placeholder_sweep(fd, dry_run);
		_exit(r < 0 ? COUNT_MAX + 1 : MIN(r, COUNT_MAX));
	}
	int r = proc_wait(pid, &status);
	if (r < 0)
		return r;
	r = proc_exit_status(status);
	return r > COUNT_MAX ? -EIO : r;
}

static int collect_stand_ins(int fd, uid_t owner, const char *path, void *userdata)
{
	struct collection *c = userdata;
	int r = sweep_stand_ins(fd, owner, c->dry_run);

	if (r > 0) {
		(void) dprintf(STDOUT_FILENO, "%s the empty stand-ins for protected names in %d workspace%s (recorded in %s)\n",
			       c->dry_run ? "would remove" : "removed", r, r == 1 ? "" : "s", path);
		c->removed++;
	} else if (r < 0) {
		(void) dprintf(STDERR_FILENO, "cloche: cannot remove the empty stand-ins for protected names that are recorded in %s: %s\n",
			       path, strerror(-r));
		c->failed++;
	}
	return 0;
}

static void collect_cgroup(const char *path, int r, void *userdata)
{
	struct collection *c = userdata;

	if (r > 0) {
		(void) dprintf(STDOUT_FILENO, "%s the cgroup %s\n", c->dry_run ? "would remove" : "removed", path);
		c->removed++;
	} else {
		(void) dprintf(STDERR_FILENO, "cloche: cannot remove the cgroup %s: %s\n", path, strerror(-r));
		c->failed++;
	}
}

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };

	options_init(&o);
	int operands = opt_parse(options_table, GROUP_GC, OPT_PERMUTE, &o, argc, argv, err);
	if (operands < 0)
		return operands;
	if (operands > 0)
		return err_set(err, ERR_USAGE, EINVAL, "gc takes no argument, but '%s' was given", argv[0]);
	if (o.help) {
		cli_print_help(&cmd_gc);
		return EXIT_SUCCESS;
	}
	struct collection c = { .dry_run = o.dry_run };
	int r = state_visit(collect, &c);
	if (r >= 0)
		r = statedir_visit(PLACEHOLDER_STATE, collect_stand_ins, &c);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the records cannot be listed: %m");
	cgroup_sweep_all(c.dry_run, collect_cgroup, &c);
	if (c.removed == 0 && c.failed == 0)
		(void) dprintf(STDOUT_FILENO, "nothing to remove\n");
	return c.failed ? EXIT_NOT_ALL : EXIT_SUCCESS;
}

const struct cli_command cmd_gc = {
	.name = "gc",
	.usage = "[--dry-run]",
	.summary = "remove what killed sandboxes have left",
	.about = "A sandbox whose cloche was killed with SIGKILL leaves its record, its empty cgroup if it had one and, when everything\n"
		 "of it was killed at once, the empty stand-ins for protected names in its workspace. (The kernel ends its processes\n"
		 "and mounts.) Later launches remove them in passing; this command removes all of them now, and says which. Root does\n"
		 "it for everybody. The exit status is 0, or 1 when something cannot be removed.\n",
	.group = GROUP_GC,
	.run = run,
};
