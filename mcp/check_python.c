/*
 * Python's own opinion about a Python file: see check_python.h. Runs in cloche-mcp on a worker thread; the interpreter
 * runs as a command in the sandbox, with the bytes of the file on its standard input.
 *
 * The bytes are compiled as they are, so that a byte order mark and a coding line count; all the way to code, because
 * the parser alone accepts a `return` outside of a function. The answer is one line: STATE VERSION LINE COLUMN MESSAGE.
 * It is made by an interpreter the agent may have changed, so it is taken for what it is: text.
 */
#include "mcp/check_python.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include "mcp/text.h"
#include "mcp/tool.h"
#include "runtime/base/buf.h"
#include "runtime/base/str.h"
#include "runtime/base/utf8.h"
#include "runtime/spec/initmsg.h"

enum { PYTHON_ANSWER_MAX = 1024, PYTHON_FIELD_MAX = 16, PYTHON_MESSAGE_MAX = 250 };

static const char program[] =
	"import sys, warnings\n"
	"warnings.simplefilter('ignore')\n"
	"state, line, column, text = 'ok', 0, 0, ''\n"
	"try:\n"
	"    compile(sys.stdin.buffer.read(), '<file>', 'exec', dont_inherit=True)\n"
	"except SyntaxError as e:\n"
	"    state, line, column, text = 'bad', e.lineno or 0, e.offset or 0, e.msg\n"
	"except ValueError as e:\n"
	"    state, text = 'bad', e\n"
	"except BaseException as e:\n"
	"    state, text = 'unknown', type(e).__name__\n"
	"text = ' '.join(str(text).split())[:300]\n"
	"out = '%s %d.%d %d %d %s' % (state, *sys.version_info[:2], line, column, text)\n"
	"sys.stdout.buffer.write(out.encode('utf-8', 'replace'))\n";

static void unknown(struct check_result *res, const char *why)
{
	res->verdict = CHECK_UNKNOWN;
	text_format(res->text, sizeof(res->text), "%s", why);
}

/* Copies the word at *@p to @field and moves behind the blank that follows it. */
static bool take_field(const char **p, char field[static PYTHON_FIELD_MAX])
{
	size_t len = strcspn(*p, " ");

	if (len == 0 || len >= PYTHON_FIELD_MAX || (*p)[len] != ' ')
		return false;
	memcpy(field, *p, len);
	field[len] = '\0';
	*p += len + 1;
	return true;
}

/* Reads the interpreter's answer. False when it is not of the form. */
static bool parse(const char *answer, struct check_result *res)
{
	char state[PYTHON_FIELD_MAX], version[PYTHON_FIELD_MAX], field[PYTHON_FIELD_MAX];
	uint64_t line, column;

	if (!take_field(&answer, state) || !take_field(&answer, version) || !take_field(&answer, field) ||
	    str_to_uint(field, 0, UINT32_MAX, &line) < 0 || !take_field(&answer, field) ||
	    str_to_uint(field, 0, UINT32_MAX, &column) < 0)
		return false;
	if (strcmp(state, "ok") == 0) {
		res->verdict = CHECK_OK;
		return true;
	}
	if (strcmp(state, "unknown") == 0) {
		text_format(res->text, sizeof(res->text), "Python %s gave up on it (%.100s)", version, answer);
		return true;
	}
	if (strcmp(state, "bad") != 0)
		return false;
	res->verdict = CHECK_BAD;
	int len = (int) utf8_floor(answer, strnlen(answer, PYTHON_MESSAGE_MAX));
	if (line == 0)
		text_format(res->text, sizeof(res->text), "Python parsing error: %.*s (Python %s)", len, answer,
			    version);
	else
		text_format(res->text, sizeof(res->text),
			    "Python syntax error at line %llu: %.*s (column %llu, Python %s)",
			    (unsigned long long) line, len, answer, (unsigned long long) column, version);
	return true;
}

/* A program that never started, was stopped, or broke down, or whose answer makes no sense, is no verdict. */
static void judge(int asked, const struct exec_result *run, struct check_result *res)
{
	if (asked < 0 || run->refused_step)
		return unknown(res,
			       asked == 0 && run->refused_step == INITMSG_STEP_EXEC && run->refused_errnum == ENOENT
				       ? "there is no python3 in the sandbox"
				       : "python3 could not be started");
	if (run->timed_out)
		return unknown(res, "python3 did not finish in time");
	if (!WIFEXITED(run->wait_status) || WEXITSTATUS(run->wait_status) != 0)
		return unknown(res, "python3 broke down");
	_cleanup_buf_ struct buf answer = BUF_INIT(3 * PYTHON_ANSWER_MAX);
	utf8_repair(&answer, buf_cstr(&run->output), run->output.len);
	if (!parse(buf_cstr(&answer), res))
		unknown(res, "python3 gave no clear answer");
}

void check_python(struct tool_call *call, const char *data, size_t len, struct check_result *res)
{
	const char *const argv[] = { "python3", "-I", "-S", "-c", program, NULL };
	struct exec_request req = {
		.argv = argv,
		.input = data,
		.input_len = len,
		.timeout_ms = PYTHON_TIMEOUT_MS,
		.output_max = PYTHON_ANSWER_MAX,
	};
	struct exec_result run = { .refused_step = 0 };

	*res = (struct check_result) { .verdict = CHECK_UNKNOWN };
	if (len > EXEC_INPUT_MAX)
		return unknown(res, "it is too large to be checked");
	if (len == 0)
		req.input = ""; /* an empty file, not /dev/null's: the same to python, but never NULL with a length */
	judge(tool_exec(call, &req, &run), &run, res);
	exec_result_done(&run);
}
