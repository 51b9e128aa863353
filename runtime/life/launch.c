/*
 * Makes a sandbox: see launch.h. Runs in the launcher, which becomes the supervisor.
 */
#include "runtime/life/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/base/proc.h"
#include "runtime/base/sysx.h"
#include "runtime/base/utf8.h"
#include "runtime/base/wall.h"
#include "runtime/kern/caps.h"
#include "runtime/kern/caps_override.h"
#include "runtime/life/child.h"
#include "runtime/life/memfile.h"
#include "runtime/life/userfilter.h"
#include "runtime/life/userns_diagnose.h"
#include "runtime/spec/filterform.h"

enum { FILES_FOR_RUN = 32, FILES_FOR_MCP = 512 }; /* the least limits of open files that do */

uint64_t launch_namespaces(void)
{
	return CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | (wall_stands(WALL_NETNS) ? CLONE_NEWNET : 0) |
	       (wall_stands(WALL_IPCNS) ? CLONE_NEWIPC : 0) | (wall_stands(WALL_UTSNS) ? CLONE_NEWUTS : 0) |
	       (wall_stands(WALL_CGROUPNS) ? CLONE_NEWCGROUP : 0);
}

static void add_arg(struct launch *l, const char *arg)
{
	if (l->init_argc < LAUNCH_INIT_ARGS_MAX)
		l->init_argv[l->init_argc] = arg;
	l->init_argc++; /* counts beyond the end, so that plan_args() sees an overflow */
}

static void add_arg_number(struct launch *l, uint64_t number)
{
	char *to = l->arg_text + l->arg_text_len;
	size_t room = sizeof(l->arg_text) - l->arg_text_len;
	int n = snprintf(to, room, "%llu", (unsigned long long) number);

	if (n < 0 || (size_t) n >= room) {
		l->init_argc = LAUNCH_INIT_ARGS_MAX + 1;
		return;
	}
	l->arg_text_len += (size_t) n + 1;
	add_arg(l, to);
}

/* Only a build for tests has something to say here. */
static void add_missing_walls(struct launch *l)
{
	if (!wall_missing())
		return;
	add_arg(l, "--without");
	add_arg(l, wall_missing());
}

static void add_limit(struct launch *l, int resource, rlim_t soft, rlim_t hard)
{
	add_arg(l, "--limit");
	add_arg_number(l, (uint64_t) resource);
	add_arg_number(l, soft);
	add_arg_number(l, hard);
}

/* What commands may use, where it is limited. How that is held init knows by the descriptor of a cgroup, which is there or not. */
static void add_numbers(struct launch *l, const struct spec *s)
{
	const struct {
		const char *option;
		uint64_t number;
	} numbers[] = {
		{ "--memory", s->memory },
		{ "--pids", s->pids },
		{ "--cpus", s->cpu_milli },
		{ "--command-memory", s->command.memory },
		{ "--command-pids", s->command.pids },
		{ "--command-cpus", s->command.cpu_milli },
	};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (numbers[i].number == 0)
			continue;
		add_arg(l, numbers[i].option);
		add_arg_number(l, numbers[i].number);
	}
}

/* How many files a process may have open: for the server, which says so to a model whose command wanted more. */
static void add_open_files(struct launch *l, const struct spec_rlimit *files)
{
	struct rlimit now;

	if (!files->set || files->soft == 0 || files->soft == RLIM_INFINITY || getrlimit(RLIMIT_NOFILE, &now) < 0)
		return;
	add_arg(l, "--open-files");
	add_arg_number(l, MIN(files->soft, now.rlim_max));
}

/*
 * cloche-init OPTION… run | mcp SERVER-OPTION…       (the options: init/settings.c, docs/protocols.md)
 *
 * The limits are for commands. Processes are counted per user namespace, so init keeps its own, higher limit and can always
 * answer; init watches over the memory, where no cgroup does. (No RLIMIT_DATA: AddressSanitizer reserves terabytes.)
 */
static int plan_args(struct launch *l, struct err *err)
{
	const struct spec *s = l->spec;

	add_arg(l, "cloche-init");
	add_missing_walls(l);
	add_arg(l, "--filter");
	add_arg(l, s->filter_path ? "own" : s->allow_debug ? "debug" : "default");
	if (s->weaker & SPEC_WEAKER_PROC)
		add_arg(l, "--shared-proc");
	/*
	 * Where no cgroup counts, the processes of a container around us must not be: each of ours is limited for itself then. Whether one
	 * does is not certain before the clone, so this is said in any case.
	 */
	if (s->memory && (s->weaker & SPEC_WEAKER_PROC))
		add_limit(l, RLIMIT_DATA, s->memory, s->memory);
	add_numbers(l, s);
	for (size_t i = 0; i < s->mount_count; i++) {
		if (s->mounts[i].kind != SPEC_TMPFS)
			continue;
		add_arg(l, "--folder");
		add_arg(l, s->mounts[i].target);
	}
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (s->rlimits[i].set && i != RLIMIT_CORE) /* see step_limits() */
			add_limit(l, i, s->rlimits[i].soft, s->rlimits[i].hard);
	if (l->host.facts.views && l->host.facts.shows_repository) {
		add_arg(l, "--repository");
		add_arg(l, l->host.facts.repository.path + 1);
	}
	for (size_t i = 0; i < l->host.facts.protected_count && l->host.facts.views; i++) {
		add_arg(l, "--protected");
		add_arg(l, l->host.facts.protected[i].target);
	}
	add_arg(l, l->first ? "run" : "mcp");
	if (!l->first) {
		add_missing_walls(l);
		add_open_files(l, &s->rlimits[RLIMIT_NOFILE]);
		for (size_t i = 0; i < s->server_arg_count; i++)
			add_arg(l, s->server_args[i]);
	}
	if (l->init_argc > LAUNCH_INIT_ARGS_MAX)
		return err_set(err, ERR_USAGE, E2BIG, "too many limits and options for one sandbox");
	l->init_argv[l->init_argc] = NULL;
	return 0;
}

/*
 * The standard streams are the only descriptors of the host that get inside. From an open directory, or a path that was only
 * looked up, all of the host's tree could be walked, whatever the sandbox's root is.
 */
static int check_streams(struct err *err)
{
	static const char *const names[] = { "input", "output", "error" };

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && wall_stands(WALL_STREAMS); fd++) {
		struct stat st;
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fstat(fd, &st) < 0)
			return err_set(err, ERR_SYSTEM, errno, "standard %s cannot be examined: %m", names[fd]);
		if (S_ISDIR(st.st_mode) || (flags & O_PATH))
			return err_set(err, ERR_USAGE, EISDIR,
				       "standard %s is a directory of the host: through it everything outside could be reached. Redirect "
				       "it to a file or /dev/null", names[fd]);
	}
	return 0;
}

/* Init parks descriptors at high numbers; without this check it would end without a word that helps. */
static int check_files_limit(const struct launch *l, struct err *err)
{
	rlim_t needed = l->first ? FILES_FOR_RUN : FILES_FOR_MCP;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || (files.rlim_max >= needed && files.rlim_cur >= FILES_FOR_RUN))
		return 0;
	return err_set(err, ERR_SYSTEM, EMFILE,
		       "the limit of open files is %llu, but this needs %llu: raise it (ulimit -n; it may be a hard limit, ulimit -Hn)",
		       (unsigned long long) files.rlim_cur, (unsigned long long) needed);
}

static int prepare(struct launch *l, bool for_real, struct err *err)
{
	int r;

	if ((r = check_files_limit(l, err)) < 0 || (r = check_streams(err)) < 0)
		return r;
	l->proc_fd = userns_open_proc();
	if (l->proc_fd < 0)
		return err_set(err, ERR_UNSUPPORTED, -l->proc_fd, "/proc is not a usable procfs: %m. Mount one: mount -t proc proc /proc");
	if (l->spec->filter_path) {
		l->filter_fd = userfilter_open(l->spec->filter_path, l->spec->allow_debug, &l->filter_notes, err);
		if (l->filter_fd < 0)
			return l->filter_fd;
	}
	if ((r = host_prepare(&l->host, l->spec, !l->first, for_real, err)) < 0)
		return r;
	if (!l->first) /* a session may be long, and its commands come one after the other */
		l->host.facts.views = l->views;
	r = mountplan_build(&l->plan, l->spec, &l->host.facts, err);
	if (r < 0)
		return r;
	r = plan_args(l, err);
	if (r < 0)
		return r;
	env_build(&l->env, l->spec, !l->first);
	userns_plan(&l->map, l->spec->uid, l->spec->gid, l->host.uid, l->host.gid);
	r = idhelper_prepare(&l->ids, l->spec, l->host.uid, l->host.gid, err);
	if (r < 0)
		return r;
	r = caps_prepare();
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot prepare the capability sets: %m");
	return 0;
}

/* Reads the child's verdict. 0 when it has executed init, else -errno with @err filled. */
static int await_child(struct launch *l, int report_fd, struct err *err)
{
	struct child_report report;
	ssize_t n;

	do
		n = read(report_fd, &report, sizeof(report));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n != (ssize_t) sizeof(report))
		return err_set(err, ERR_SYSTEM, EPROTO, "the sandbox died while it was being built");
	return child_explain(l, &report, err);
}

/* Makes the sandbox known to `cloche ps` while the child builds it. Without a place for state it is not known, and runs all the same. */
static void record(const struct launch *l, pid_t init, struct state *ret)
{
	struct state_record record = { .started = (int64_t) time(NULL), .init = init };

	if (l->spec->name)
		(void) snprintf(record.name, sizeof(record.name), "%s", l->spec->name);
	memcpy(record.workspace, l->host.workspace_path, sizeof(record.workspace));
	if (l->first)
		state_record_command(record.command, (const char *const *) l->first->argv);
	(void) state_publish(ret, &record, NULL);
}

/* Has the map of subordinate ids written, when the child waits for it. What made it fail before that, its report tells. */
static int give_ids(struct launch *l, pid_t pid, struct err *err)
{
	char byte = 0;
	int r = 0;

	l->ids_fd = fd_close(l->ids_fd);
	if (l->ids.wanted && fd_read_exact(l->ids_ours_fd, &byte, 1) == 0) {
		r = idhelper_apply(&l->ids, pid, err);
		if (r == 0)
			IGNORE_RESULT(fd_write_all(l->ids_ours_fd, &byte, 1));
	}
	l->ids_ours_fd = fd_close(l->ids_ours_fd);
	return r;
}

/* The child waits on a socket until its map of subordinate ids is written. */
static int open_ids(struct launch *l, struct err *err)
{
	int pair[2];

	if (!l->ids.wanted)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a socket pair: %m");
	l->ids_ours_fd = pair[0];
	l->ids_fd = pair[1];
	return 0;
}

/*
 * Clones the sandbox's first process, into its cgroup when there is one; then it stays in the host's cgroup namespace (see step_cgroup()).
 * Its pid, or -errno with @err filled.
 */
static pid_t clone_first(struct launch *l, int *ret_pid_fd, struct err *err)
{
	for (;;) {
		int cgroup = cgroup_clone_into(&l->host.cgroup);
		struct clone_args args = {
			.flags = launch_namespaces() | CLONE_PIDFD, .pidfd = (uint64_t) (uintptr_t) ret_pid_fd, .exit_signal = SIGCHLD,
		};
		if (cgroup_is_wanted(&l->host.cgroup))
			args.flags &= ~(__u64) CLONE_NEWCGROUP;
		if (cgroup >= 0) {
			args.flags |= CLONE_INTO_CGROUP;
			args.cgroup = (__u64) cgroup;
		}
		/* What root has held back for this: the group that both are in may be root's. */
		bool is_roots = cgroup >= 0 && l->host.launched_by_root;
		int r = is_roots ? caps_override_use(true) : 0;
		pid_t pid = r < 0 ? r : sysx_clone3(&args);
		int errnum = errno;
		if (pid == 0)
			child_main(l);
		if (is_roots && (r = caps_drop_all()) < 0)
			return err_set(err, ERR_SYSTEM, -r, "the supervisor cannot give up its capabilities: %m");
		if (pid > 0)
			return pid;
		r = cgroup_clone_failed(&l->host.cgroup, errnum, err);
		if (r <= 0)
			return r < 0 ? r : userns_diagnose(errnum, err);
	}
}

static int clone_child(struct launch *l, int report_fd, struct sandbox *ret, struct err *err)
{
	_cleanup_fd_ int pid_fd = -EBADF; /* made by clone3(2) */
	pid_t pid = clone_first(l, &pid_fd, err);

	if (pid < 0)
		return pid;
	int r = janitor_begin(&l->host.janitor, err);
	janitor_watch(&l->host.janitor, pid_fd);
	l->report_fd = fd_close(l->report_fd);
	l->control_fd = fd_close(l->control_fd);
	if (r == 0)
		r = cgroup_place(&l->host.cgroup, pid, err);
	record(l, pid, &ret->state);
	if (r == 0)
		r = give_ids(l, pid, err);
	if (r == 0)
		r = await_child(l, report_fd, err);
	if (r < 0) {
		(void) kill(pid, SIGKILL);
		(void) proc_wait(pid, NULL);
		state_done(&ret->state);
		return r;
	}
	ret->pid = pid;
	ret->pid_fd = TAKE_FD(pid_fd);
	return 0;
}

/* What a caller should know about what is protected and what is not. Nobody else is there to tell it to. */
static void tell_warnings(const struct launch *l)
{
	_cleanup_buf_ struct buf out = BUF_INIT(3 * PROTECT_WARNINGS_MAX);
	const char *line = l->host.protect ? buf_cstr(&l->host.protect->warnings) : "";

	/* With names that an agent may have chosen. */
	for (size_t len; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		utf8_add_printable(&out, line, len);
		buf_add_char(&out, '\n');
	}
	IGNORE_RESULT(fd_write_all(STDERR_FILENO, buf_cstr(&out), out.len));
}

/* Has the policy written, now that everything is decided. */
static int store_policy(struct launch *l, const struct launch_teller *teller, struct err *err)
{
	_cleanup_buf_ struct buf policy = BUF_INIT(LAUNCH_POLICY_MAX);

	if (!teller)
		return 0;
	teller->write(l, teller->userdata, &policy);
	int r = buf_error(&policy);
	if (r == 0)
		r = l->policy_fd = memfile_make("cloche-policy", policy.p, policy.len);
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "cannot store the policy of the sandbox for its server: %m") : 0;
}

static int start(struct launch *l, const struct launch_teller *teller, struct sandbox *ret, struct err *err)
{
	int report[2], control[2];
	int r = prepare(l, true, err);

	if (r < 0 || (r = store_policy(l, teller, err)) < 0 || (r = open_ids(l, err)) < 0)
		return r;
	tell_warnings(l);
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a pipe: %m");
	_cleanup_fd_ int report_read = report[0];
	l->report_fd = report[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot make a socket pair: %m");
	_cleanup_fd_ int control_ours = control[0];
	l->supervisor_fd = control[0];
	l->control_fd = control[1];
	r = l->first ? fdpass_send(control_ours, l->first->bytes.p, l->first->bytes.len, l->first->stdio, INITMSG_SPAWN_FDS) : 0;
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "cannot hand the command to the sandbox: %m");
	r = clone_child(l, report_read, ret, err);
	if (r < 0)
		return r;
	/* A change of identity takes root's capabilities, unless the caller's securebits say otherwise. */
	r = caps_drop_all();
	if (r < 0) {
		state_done(&ret->state);
		return err_set(err, ERR_SYSTEM, -r, "the supervisor cannot give up its capabilities: %m");
	}
	ret->control_fd = TAKE_FD(control_ours);
	ret->janitor = l->host.janitor;
	l->host.janitor = (struct janitor) JANITOR_NONE;
	ret->cgroup = l->host.cgroup.node;
	l->host.cgroup.node = (struct cgroup_node) CGROUP_NODE_NONE;
	return 0;
}

static struct launch *new_launch(const struct spec *spec, const struct spawnmsg *first)
{
	struct launch *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->spec = spec;
	l->first = first;
	l->filter_notes = (struct buf) BUF_INIT(FILTERFORM_NOTES_MAX);
	l->views[0] = l->views[1] = -EBADF;
	l->proc_fd = l->policy_fd = l->filter_fd = l->report_fd = l->control_fd = l->supervisor_fd = l->ids_fd = l->ids_ours_fd = -EBADF;
	l->ids = (struct idhelper) IDHELPER_NONE;
	host_init(&l->host);
	return l;
}

void launch_free(struct launch *l)
{
	if (!l)
		return;
	(void) fd_close(l->proc_fd);
	(void) fd_close(l->policy_fd);
	(void) fd_close(l->filter_fd);
	buf_done(&l->filter_notes);
	(void) fd_close(l->report_fd);
	(void) fd_close(l->control_fd);
	(void) fd_close(l->ids_fd);
	(void) fd_close(l->ids_ours_fd);
	idhelper_done(&l->ids);
	host_done(&l->host);
	free(l);
}

int launch_plan(const struct spec *spec, struct launch **ret, struct err *err)
{
	struct launch *l = new_launch(spec, NULL);

	if (!l)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	int r = prepare(l, false, err);
	if (r < 0)
		launch_free(l);
	else
		*ret = l;
	return r;
}

int launch_start(const struct spec *spec, const struct spawnmsg *first, const struct launch_teller *teller, struct sandbox *ret,
		 struct err *err)
{
	struct launch *l = new_launch(spec, first);

	if (!l)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	int r = start(l, teller, ret, err);
	launch_free(l);
	/* The supervisor holds pipes and sockets of the sandbox: nobody of the same uid shall look into it. */
	IGNORE_RESULT(proc_hide());
	return r;
}
