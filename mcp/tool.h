/*
 * What a tool is, and what it may use while it serves one call.
 *
 * A tool is one file (mcp/tool_NAME.c) that ends in one `const struct mcp_tool`. The registry is an array of pointers
 * to these rows; tools/list, argument validation and dispatch all come from them. The arguments a handler sees have
 * been validated and coerced against input_schema: required members are there, types are right, defaults are filled in,
 * numbers are within their range, unknown members were refused.
 *
 * A failing tool is a result for the model (tool_fail()), never a protocol error.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "mcp/facts.h"
#include "mcp/log.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/spec/initmsg.h"

struct server;

enum {
	TOOL_TEXT_MAX = 256 * 1024, /* bytes of one answer's text; tools cap themselves far below it */
};

/* Settings of one server, fixed at its start. Names in comments are the environment variables of the contract. */
struct mcp_config {
	const char *root_name;     /* "/workspace": the workspace as the agent knows it */
	int64_t command_timeout_s; /* COMMAND_TIMEOUT, 60 */
	int64_t command_timeout_max_s; /* the longest timeout a call may ask for, 3600 */
	int64_t max_search_results;    /* MAX_SEARCH_RESULTS, 50 */
	int64_t max_read_bytes;        /* MAX_READ_SIZE_BYTES, 1048576 */
	int64_t max_write_bytes;       /* MAX_WRITE_SIZE_BYTES, 5242880 */
	int64_t max_answer_chars;      /* MAX_ANSWER_CHARS, 40000: bytes of the text of one answer */
	enum mcp_log_level log_level;  /* LOG_LEVEL: least level of lines on stderr */
	bool structured_output;        /* --structured-output: repeat the text as structuredContent {"result": …} */
	const char *limits;            /* how those of commands are held: "exact", "approximate", or NULL: not at all */
	const char *policy;            /* what this sandbox may and may not do, JSON text, or NULL: not known */
	int64_t open_files;            /* how many files a process of a command may have open, 0 = not known */
};

/* One call. Everything in it lives until the answer has been queued. */
struct tool_call {
	const cJSON *args;               /* an object, never NULL */
	const struct mcp_config *config; /* shared, read-only */
	const struct facts *facts;       /* about the sandbox, found out by the server itself; shared, read-only */
	int root_fd;                     /* O_PATH descriptor of the workspace; borrowed */
	struct buf text;                 /* the answer */
	struct buf image;                /* the bytes of a picture that goes with it, or empty */
	const char *image_type;          /* its MIME type */
	bool is_error;
	cJSON *meta;                     /* members for the result's _meta (object, owned), or NULL */
	const atomic_bool *cancelled;    /* long loops look at it now and then and return early */
	struct server *server;           /* opaque to tools */
	void *state;                     /* for the core */
	char summary[160];               /* see tool_summary() */
};

/* Whether the client has given the call up. Any thread. */
static inline bool tool_is_cancelled(const struct tool_call *call)
{
	return call->cancelled && atomic_load(call->cancelled);
}

/* Replaces the answer's text by a formatted one and marks it as an error. */
void tool_fail(struct tool_call *call, const char *fmt, ...) _printf_(2, 3);

/*
 * What came out, for the audit line only: "12 lines returned", "exit_code=0". Optional: default is the answer's first
 * line.
 */
void tool_summary(struct tool_call *call, const char *fmt, ...) _printf_(2, 3);

/* A log line for stderr and, where the client asked for it, a notifications/message. Any thread. */
void tool_log(struct tool_call *call, enum mcp_log_level level, const char *fmt, ...) _printf_(3, 4);

/* Typed getters for validated arguments: they cannot fail for members the schema requires or gives a default. */
const char *tool_arg_str(const struct tool_call *call, const char *name);
int64_t tool_arg_int(const struct tool_call *call, const char *name);
bool tool_arg_bool(const struct tool_call *call, const char *name);
const cJSON *tool_arg(const struct tool_call *call, const char *name); /* NULL when absent */

enum {
	EXEC_INPUT_MAX = 16 * 1024 * 1024,
	EXEC_TAIL_MAX = 64 * 1024,
};

/* A command to run in the sandbox on behalf of a tool. Everything in it is copied when the command is asked for. */
struct exec_request {
	const char *const *argv; /* NULL-terminated */
	const char *cwd;         /* absolute path inside the sandbox; NULL = the workspace */
	const void *input;       /* bytes for its standard input, at most EXEC_INPUT_MAX; NULL = /dev/null */
	size_t input_len;
	int64_t timeout_ms;
	size_t output_max;       /* bytes of merged stdout and stderr kept from the head; the rest is only counted */
	size_t tail_max;         /* bytes kept of the end beyond output_max (at most EXEC_TAIL_MAX), 0 = none */
	struct initmsg_limits limits; /* lower than the sandbox's; 0 = as the sandbox */
};

struct exec_result {
	int refused_step;   /* 0, or enum initmsg_step: it was never started, with … */
	int refused_errnum; /* … this errno */
	int wait_status;    /* as of waitpid(2) */
	bool timed_out;
	bool cancelled;
	struct buf output;  /* first output_max bytes, or all of it when at most output_max + tail_max were written */
	struct buf tail;    /* last tail_max bytes when more than output_max + tail_max were written, else empty */
	uint64_t output_total; /* bytes written by the command */
	uint64_t output_newlines; /* among them */
	uint32_t killed; /* enum initmsg_killed */
	struct initmsg_metrics metrics;
	struct initmsg_limits limits, sandbox; /* what it could use; what all commands together can */
	struct initmsg_denials denials; /* system calls that the filter refused */
};

/*
 * Runs a command to its end and returns 0, or -errno when init cannot be asked. For TOOL_WORKER handlers only: it
 * blocks its worker thread, while the event loop moves the output. Release @res with exec_result_done() in any case.
 */
int tool_exec(struct tool_call *call, const struct exec_request *req, struct exec_result *res) _must_check_;
void exec_result_done(struct exec_result *res);

/*
 * For TOOL_ASYNC handlers, on the event loop: starts a command and returns; @done is called on the event loop with the
 * result (borrowed), writes the answer into @call and returns; the core then sends it (or waits again, when @done asked
 * for another command). Cancellation and the timeout kill the whole command. The core adds the command's metrics to the
 * result's _meta as "cloche/metrics". 0 or -errno (then @done is never called and the handler answers itself): -E2BIG
 * when arguments or input are longer than a command may get.
 */
int tool_exec_async(struct tool_call *call, const struct exec_request *req,
		    void (*done)(struct tool_call *call, const struct exec_result *res)) _must_check_;

enum tool_mode {
	TOOL_WORKER, /* run() may block: it is called on a worker thread; when it returns the answer is sent */
	TOOL_ASYNC,  /* run() is called on the event loop, must not block, and calls tool_exec_async() or answers */
};

struct mcp_tool {
	const char *name;
	const char *title;
	const char *description;
	const char *input_schema; /* JSON Schema text: flat, type object, additionalProperties false */
	bool read_only, destructive, idempotent, open_world; /* the four annotation hints */
	enum tool_mode mode;
	bool tasks; /* it may take long: a call may become a task (task.h) */
	void (*run)(struct tool_call *call);
	/*
	 * Reduces the arguments for the audit line, e.g. without file contents; NULL = every argument cut at 200 bytes.
	 */
	void (*describe)(const struct tool_call *call, struct buf *line);
};

/* The rows, each at the end of its tool's file. */
extern const struct mcp_tool tool_list_directory, tool_read_file, tool_run_bash, tool_search_and_replace,
	tool_search_workspace, tool_write_file;
