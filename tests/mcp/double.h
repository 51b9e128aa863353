/*
 * What a tool sees of the server, in the place of the server: for the unit tests of the tools and what they use.
 *
 * It defines the functions of mcp/tool.h, so include it in exactly one file of a program. tool_exec() really runs the
 * command, without any sandbox; tool_exec_async() only remembers what it was asked, and the test calls the handler's
 * callback itself.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/tool.h"
#include "runtime/base/fd.h"
#include "runtime/spec/initmsg.h"
#include "tests/harness/unit.h"

enum double_exec {
	DOUBLE_RUN,
	DOUBLE_MISSING,   /* as when the program is not in the sandbox */
	DOUBLE_TIMED_OUT,
	DOUBLE_KILLED,
	DOUBLE_NO_INIT,
};

struct double_state {
	char dir[64]; /* the workspace on this machine */
	struct mcp_config config;
	struct facts facts;
	struct tool_call call;
	atomic_bool cancelled;
	cJSON *args;
	enum double_exec exec;
	int execs; /* commands asked for */
	char command[300000];
	struct exec_request asked; /* by tool_exec_async(); pointers are stale */
	void (*done)(struct tool_call *call, const struct exec_result *res);
	int async_result;
};

static struct double_state d;

/* --- the functions of mcp/tool.h ---------------------------------------------------------------------------------- */

void tool_fail(struct tool_call *call, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&call->text);
	call->is_error = true;
	va_start(ap, fmt);
	buf_vaddf(&call->text, fmt, ap);
	va_end(ap);
}

void tool_summary(struct tool_call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(call->summary, sizeof(call->summary), fmt, ap);
	va_end(ap);
}

void tool_log(struct tool_call *call, enum mcp_log_level level, const char *fmt, ...)
{
	(void) call;
	(void) level;
	(void) fmt;
}

const cJSON *tool_arg(const struct tool_call *call, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(call->args, name);
}

const char *tool_arg_str(const struct tool_call *call, const char *name)
{
	const char *s = cJSON_GetStringValue(tool_arg(call, name));

	ck_assert_msg(s != NULL, "no string argument %s", name);
	return s ? s : "";
}

int64_t tool_arg_int(const struct tool_call *call, const char *name)
{
	const cJSON *arg = tool_arg(call, name);

	return cJSON_IsNumber(arg) ? (int64_t) arg->valuedouble : 0;
}

bool tool_arg_bool(const struct tool_call *call, const char *name)
{
	return cJSON_IsTrue(tool_arg(call, name));
}

void exec_result_done(struct exec_result *res)
{
	buf_done(&res->output);
	buf_done(&res->tail);
}

static int double_run(const struct exec_request *req, struct exec_result *res)
{
	int out[2];
	pid_t pid;
	posix_spawn_file_actions_t actions;
	_cleanup_fd_ int input = memfd_create("input", MFD_CLOEXEC);

	ck_assert_int_ge(input, 0);
	ck_assert_int_eq(fd_write_all(input, req->input, req->input_len), 0);
	ck_assert_int_eq(lseek(input, 0, SEEK_SET), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	posix_spawn_file_actions_adddup2(&actions, out[1], 2);
	char **argv = calloc(16, sizeof(*argv));
	ck_assert_ptr_nonnull(argv);
	for (size_t i = 0; req->argv[i]; i++)
		ck_assert_ptr_nonnull(argv[i] = strdup(req->argv[i]));
	int r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
	free(argv);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	res->output = (struct buf) BUF_INIT(req->output_max);
	for (char c; r == 0 && read(out[0], &c, 1) == 1; res->output_total++)
		if (res->output.len < req->output_max)
			buf_add_char(&res->output, c);
	close(out[0]);
	if (r == 0)
		ck_assert_int_eq(waitpid(pid, &res->wait_status, 0), pid);
	return -r;
}

int tool_exec(struct tool_call *call, const struct exec_request *req, struct exec_result *res)
{
	(void) call;
	*res = (struct exec_result) { .output = BUF_INIT(0), .tail = BUF_INIT(0) };
	d.execs++;
	switch (d.exec) {
	case DOUBLE_MISSING:
		res->refused_step = INITMSG_STEP_EXEC;
		res->refused_errnum = ENOENT;
		return 0;
	case DOUBLE_TIMED_OUT:
		res->timed_out = true;
		res->wait_status = SIGKILL;
		return 0;
	case DOUBLE_KILLED:
		res->wait_status = SIGSEGV;
		return 0;
	case DOUBLE_NO_INIT:
		return -EPIPE;
	case DOUBLE_RUN:
		break;
	}
	return double_run(req, res);
}

int tool_exec_async(struct tool_call *call, const struct exec_request *req,
		    void (*done)(struct tool_call *call, const struct exec_result *res))
{
	(void) call;
	d.execs++;
	d.asked = *req;
	d.done = d.async_result == 0 ? done : NULL;
	(void) snprintf(d.command, sizeof(d.command), "%s|%s|%s", req->argv[0], req->argv[1], req->argv[2]);
	return d.async_result;
}

/* --- for the tests ------------------------------------------------------------------------------------------------ */

static inline int double_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void) st;
	(void) type;
	(void) ftw;
	return remove(path);
}

/* A fresh workspace; libcheck runs it in the test's own process. */
static inline void double_setup(void)
{
	memset(&d, 0, sizeof(d));
	(void) snprintf(d.dir, sizeof(d.dir), "/tmp/cloche-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(d.dir));
	d.config = (struct mcp_config) {
		.root_name = "/workspace",
		.command_timeout_s = 60,
		.command_timeout_max_s = 3600,
		.max_search_results = 50,
		.max_read_bytes = 1048576,
		.max_write_bytes = 5242880,
		.max_answer_chars = 40000,
	};
	d.call = (struct tool_call) { .config = &d.config, .facts = &d.facts, .cancelled = &d.cancelled, .text = BUF_INIT(TOOL_TEXT_MAX) };
	d.call.image = (struct buf) BUF_INIT(0);
	d.call.root_fd = open(d.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(d.call.root_fd, 0);
	ck_assert_int_eq(chdir(d.dir), 0);
}

static inline void double_teardown(void)
{
	buf_done(&d.call.text);
	buf_done(&d.call.image);
	cJSON_Delete(d.call.meta);
	cJSON_Delete(d.args);
	close(d.call.root_fd);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(nftw(d.dir, double_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Empties the answer for the next call. */
static inline void double_reset(void)
{
	buf_clear(&d.call.text);
	buf_done(&d.call.image);
	d.call.image_type = NULL;
	d.call.is_error = false;
	d.call.summary[0] = '\0';
	cJSON_Delete(d.call.meta);
	d.call.meta = NULL;
}

/*
 * Calls @tool with the arguments of the JSON text; absent ones get the defaults of the schema. Returns the answer's
 * text.
 */
static inline const char *double_call(const struct mcp_tool *tool, const char *json)
{
	cJSON *schema = cJSON_Parse(tool->input_schema), *property;

	double_reset();
	cJSON_Delete(d.args);
	d.args = cJSON_Parse(json);
	ck_assert_msg(d.args != NULL, "not JSON: %s", json);
	ck_assert_msg(schema != NULL, "the schema of %s is not JSON", tool->name);
	cJSON_ArrayForEach(property, cJSON_GetObjectItemCaseSensitive(schema, "properties")) {
		const cJSON *fallback = cJSON_GetObjectItemCaseSensitive(property, "default");
		if (fallback && !cJSON_GetObjectItemCaseSensitive(d.args, property->string))
			cJSON_AddItemToObject(d.args, property->string, cJSON_Duplicate(fallback, true));
	}
	cJSON_Delete(schema);
	d.call.args = d.args;
	tool->run(&d.call);
	ck_assert_int_eq(buf_error(&d.call.text), 0);
	ck_assert_uint_le(d.call.text.len, (size_t) d.config.max_answer_chars);
	return buf_cstr(&d.call.text);
}

static inline void double_put(const char *path, const void *data, size_t len)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, data, len), 0);
}

static inline void double_put_str(const char *path, const char *text)
{
	double_put(path, text, strlen(text));
}

/* The whole content of a file, in a buffer that the next call overwrites. */
static inline const struct buf *double_get(const char *path)
{
	static struct buf content = BUF_INIT(64 * 1024 * 1024);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s is not there", path);
	buf_done(&content);
	for (ssize_t n = 1; n > 0;) {
		char chunk[65536];
		n = read(fd, chunk, sizeof(chunk));
		ck_assert_int_ge(n, 0);
		buf_add(&content, chunk, (size_t) n);
	}
	return &content;
}

#define ck_assert_file(path, text) ck_assert_str_eq(buf_cstr(double_get(path)), text)
#define ck_assert_has(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text)
#define ck_assert_has_not(text, part) ck_assert_msg(strstr(text, part) == NULL, "\"%s\" in: %s", part, text)
#define ck_assert_failed(text, part)                                                                                   \
	do {                                                                                                           \
		const char *failed_text_ = (text);                                                                     \
		ck_assert_msg(d.call.is_error, "no error but: %s", failed_text_);                                      \
		ck_assert_has(failed_text_, part);                                                                     \
	} while (0)
#define ck_assert_worked(text, part)                                                                                   \
	do {                                                                                                           \
		const char *worked_text_ = (text);                                                                     \
		ck_assert_msg(!d.call.is_error, "error: %s", worked_text_);                                            \
		ck_assert_has(worked_text_, part);                                                                     \
	} while (0)

/* How many entries @dir has, for "nothing is left behind". */
static inline size_t double_entries(const char *dir)
{
	char command[200], text[32] = "";

	(void) snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	FILE *f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	pclose(f);
	return (size_t) strtoul(text, NULL, 10);
}
