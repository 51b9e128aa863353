/*
 * cloche-mcp: the MCP server inside the sandbox.
 *
 * cloche-init starts it with the client's streams on 0 and 1, a log stream on 2 and a socket to init on 3
 * (runtime/spec/initmsg.h). It has no capability from the start. Settings come from the command line only, never from
 * the environment; `cloche mcp` translates. Before the first byte of input is read it gives up what it does not need:
 * being traced, new privileges, and most system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "mcp/extra.h"
#include "mcp/log.h"
#include "mcp/server.h"
#include "runtime/base/err.h"
#include "runtime/base/fd.h"
#include "runtime/base/opt.h"
#include "runtime/base/proc.h"
#include "runtime/base/str.h"
#include "runtime/base/wall.h"
#include "runtime/kern/landlock.h"
#include "runtime/kern/seccomp.h"
#include "runtime/spec/initmsg.h"
#include "runtime/spec/spec.h"

enum {
	EXIT_USAGE = 125,
	POLICY_MAX = OUT_MESSAGE_MAX, /* what is larger could not be told */
};

/* The sanitizers' run time needs calls that the server does not, and to trace it. */
static const bool confined = !ATTR_SANITIZED;

struct settings {
	struct mcp_config config;
	int64_t init_fd;
	int64_t policy_fd; /* 0: none */
	bool help;
};

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Where a number goes and what it may be. */
struct number {
	size_t offset;
	uint64_t min, max;
};

static const struct number init_fd = { offsetof(struct settings, init_fd), STDERR_FILENO + 1, 1023 };
static const struct number policy_fd = { offsetof(struct settings, policy_fd), STDERR_FILENO + 1, 1023 };
static const struct number timeout = {
	offsetof(struct settings, config.command_timeout_s), 1, SPEC_COMMAND_TIMEOUT_MAX
};
static const struct number results = {
	offsetof(struct settings, config.max_search_results), 1, SPEC_SEARCH_RESULTS_MAX
};
static const struct number read_bytes = { offsetof(struct settings, config.max_read_bytes), 1, SPEC_FILE_BYTES_MAX };
static const struct number answer_chars = {
	offsetof(struct settings, config.max_answer_chars), SPEC_ANSWER_CHARS_MIN, SPEC_ANSWER_CHARS_MAX
};
static const struct number open_files = { offsetof(struct settings, config.open_files), 1, INT64_MAX };
static const struct number write_bytes = { offsetof(struct settings, config.max_write_bytes), 1, SPEC_FILE_BYTES_MAX };

static int set_number(void *target, const struct opt *opt, const char *value, struct err *err)
{
	const struct number *number = opt->data;
	uint64_t parsed;

	if (str_to_uint(value, number->min, number->max, &parsed) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--%s '%s' is not a number from %llu to %llu", opt->name, value,
			       (unsigned long long) number->min, (unsigned long long) number->max);
	int64_t signed_value = (int64_t) parsed;
	memcpy((char *) target + number->offset, &signed_value, sizeof(signed_value));
	return 0;
}

static int set_root(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct settings *settings = target;

	if (value[0] != '/')
		return err_set(err, ERR_USAGE, EINVAL, "--root '%s' is not an absolute path", value);
	settings->config.root_name = value;
	return 0;
}

static int set_log_level(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct settings *settings = target;

	if (log_level_from_name(value, &settings->config.log_level) < 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "--log-level '%s' is none of debug, info, notice, warning, error, critical", value);
	return 0;
}

static int set_limits(void *target, const struct opt *opt, const char *value, struct err *err)
{
	struct settings *settings = target;

	if (strcmp(value, "exact") != 0 && strcmp(value, "approximate") != 0)
		return err_set(err, ERR_USAGE, EINVAL, "--%s '%s' is neither exact nor approximate", opt->name, value);
	settings->config.limits = value;
	return 0;
}

static int set_structured(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	struct settings *settings = target;

	settings->config.structured_output = opt_is_true(value);
	return 0;
}

static int set_help(void *target, _unused_ const struct opt *opt, _unused_ const char *value, _unused_ struct err *err)
{
	struct settings *settings = target;

	settings->help = true;
	return 0;
}

static const struct opt options[] = {
	{ .name = "help", .letter = 'h', .groups = 1, .set = set_help, .help = "print this help and exit" },
	{ .name = "root", .arg = "DIR", .groups = 1, .set = set_root, .help = "the workspace (/workspace)" },
	{ .name = "init-fd", .arg = "N", .groups = 1, .set = set_number, .data = &init_fd,
	  .help = "the socket to init (3)" },
	{ .name = "policy-fd", .arg = "N", .groups = 1, .set = set_number, .data = &policy_fd,
	  .help = "a file with the policy of the sandbox, JSON text" },
	{ .name = "command-timeout", .arg = "SECONDS", .groups = 1, .set = set_number, .data = &timeout,
	  .help = "default time limit of a command (60)" },
	{ .name = "max-search-results", .arg = "N", .groups = 1, .set = set_number, .data = &results,
	  .help = "most hits of a search (50)" },
	{ .name = "max-read-bytes", .arg = "N", .groups = 1, .set = set_number, .data = &read_bytes,
	  .help = "largest file that is read (1048576)" },
	{ .name = "max-write-bytes", .arg = "N", .groups = 1, .set = set_number, .data = &write_bytes,
	  .help = "largest file that is written (5242880)" },
	{ .name = "max-answer-chars", .arg = "N", .groups = 1, .set = set_number, .data = &answer_chars,
	  .help = "longest text of one answer (40000)" },
	{ .name = "limits", .arg = "HOW", .groups = 1, .set = set_limits,
	  .help = "how limits of commands are held: exact or approximate" },
	{ .name = "open-files", .arg = "N", .groups = 1, .set = set_number, .data = &open_files,
	  .help = "how many files a process of a command may have open" },
	{ .name = "log-level", .arg = "LEVEL", .groups = 1, .set = set_log_level,
	  .help = "least level of lines on standard error (error)" },
	{ .name = "structured-output", .groups = 1, .set = set_structured,
	  .help = "repeat each answer's text as structuredContent" },
	{ .name = NULL },
};

static int print_help(void)
{
	_cleanup_buf_ struct buf help = BUF_INIT(8192);

	buf_add_str(&help, "cloche-mcp is started by cloche-init inside a sandbox; you want `cloche mcp`.\n\n");
	opt_help(options, 1, &help);
	return buf_error(&help) || fd_write_all(STDOUT_FILENO, help.p, help.len) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- start -------------------------------------------------------------------------------------------------------- */

/*
 * Moves the client's stream away from 1, which becomes a second standard error: stray output cannot corrupt the
 * protocol.
 */
static int steal_output(struct err *err)
{
	_cleanup_fd_ int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_set(err, ERR_SYSTEM, errno, "standard output or error is not usable: %m");
	return TAKE_FD(out);
}

static int open_root(const char *name, struct err *err)
{
	int fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_set(err, ERR_SYSTEM, errno, "the workspace '%s' cannot be opened: %m", name) : fd;
}

/*
 * Reads what is to be told of the sandbox, a JSON object, whole and once: nothing has to stay open for it. It was written before the
 * start; how limits are held in the end is put in front.
 */
static int read_policy(int fd, const char *limits, struct buf *ret, struct err *err)
{
	const char *quote = limits ? "\"" : "";

	buf_addf(ret, "{\"limits_held\":%s%s%s", quote, limits ? limits : "null", quote);
	size_t start = ret->len;
	int r = buf_read_fd(ret, fd);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the policy in descriptor %d cannot be read: %m", fd);
	(void) fd_close(fd);
	if (ret->len < start + 2 || ret->p[start] != '{')
		return err_set(err, ERR_USAGE, EINVAL, "--policy-fd %d: there is no JSON object in it", fd);
	ret->p[start] = ',';
	ret->p[ret->len] = '\0';
	return 0;
}

/*
 * Nothing can be opened from now on but the workspace, whose files can be read, made and replaced, and /dev/null, the input of
 * commands. (Only looked up, yes, as with stat(2) or for the room in a folder.) Nothing is executed here: that is init's business.
 */
static int confine_files(int root_fd)
{
	_cleanup_fd_ int null = open("/dev/null", O_PATH | O_CLOEXEC);
	const struct landlock_rule rules[] = {
		{ .fd = root_fd, .access = LANDLOCK_MAY_READ | LANDLOCK_MAY_EDIT },
		{ .fd = null, .access = LANDLOCK_MAY_READ },
	};

	return landlock_restrict(rules, ARRAY_LEN(rules), true);
}

static int confine(int root_fd, struct err *err)
{
	if (!confined)
		return 0;
	if (proc_hide() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, ERR_SYSTEM, errno, "privileges cannot be given up: %m");
	int r = confine_files(root_fd);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the files that the server may open cannot be limited: %m");
	r = seccomp_load_server();
	return r < 0 ? err_set(err, ERR_SYSTEM, -r, "the system-call filter of the server cannot be loaded: %m") : 0;
}

/* Returns the exit status, or -errno with @err filled when the server could not start. */
static int serve(struct settings *settings, struct err *err)
{
	_cleanup_buf_ struct buf policy = BUF_INIT(POLICY_MAX);
	_cleanup_fd_ int out_fd = steal_output(err);
	if (out_fd < 0)
		return out_fd;
	_cleanup_fd_ int root_fd = open_root(settings->config.root_name, err);
	if (root_fd < 0)
		return root_fd;
	int r = settings->policy_fd ? read_policy((int) settings->policy_fd, settings->config.limits, &policy, err) : 0;
	if (r < 0)
		return r;
	settings->config.policy = policy.p;
	struct facts_files files;
	facts_open(&files);
	r = confine(root_fd, err);
	if (r < 0)
		return r;
	(void) signal(SIGPIPE, SIG_IGN);

	static struct server server;
	r = server_init(&server, &settings->config, &files, root_fd, STDIN_FILENO, out_fd, (int) settings->init_fd);
	if (r < 0)
		return err_set(err, ERR_SYSTEM, -r, "the server cannot watch its streams and the socket %d to init: %m",
			       (int) settings->init_fd);
	log_line(MCP_LOG_INFO, "server starting: cloche " CLOCHE_VERSION ", transport stdio, root %s, log level %s, limits %s",
		 settings->config.root_name, log_level_name(settings->config.log_level),
		 settings->config.limits ? settings->config.limits : "none");
	int status = server_run(&server);
	if (server_busy(&server))
		_exit(status); /* threads still work: there is nothing left that they could harm */
	server_done(&server);
	return status;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.config = {
			.root_name = SPEC_WORKSPACE,
			.command_timeout_s = 60,
			.command_timeout_max_s = 3600,
			.max_search_results = 50,
			.max_read_bytes = 1024 * 1024,
			.max_write_bytes = 5 * 1024 * 1024,
			.max_answer_chars = SPEC_ANSWER_CHARS,
			/* A failed call is a warning, and ordinary: clients show whatever is on standard error. */
			.log_level = MCP_LOG_ERROR,
		},
		.init_fd = INITMSG_SERVER_FD,
	};
	struct err err = { .code = ERR_NONE };

	wall_from_arguments(&argc, &argv);
	extra_arguments(&argc, argv);
	int r = fd_ensure_stdio();
	if (r < 0)
		return EXIT_USAGE;
	r = opt_parse(options, 1, OPT_STOP_AT_OPERAND, &settings, argc - 1, argv + 1, &err);
	if (r > 0)
		r = err_set(&err, ERR_USAGE, EINVAL, "unexpected word '%s': the server takes options only", argv[1]);
	if (r == 0 && settings.help)
		return print_help();
	settings.config.command_timeout_max_s =
		MAX(settings.config.command_timeout_max_s, settings.config.command_timeout_s);
	log_init(settings.config.log_level);
	if (r == 0)
		r = serve(&settings, &err);
	if (r >= 0)
		return r;
	log_line(MCP_LOG_CRITICAL, "%s", err.text);
	return err.code == ERR_USAGE ? EXIT_USAGE : EXIT_FAILURE;
}
