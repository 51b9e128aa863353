/*
 * read_file: some lines of a text file. Runs on a worker thread.
 *
 * The file is streamed, never held as a whole: only the lines asked for are kept, and MAX_READ_SIZE_BYTES limits them,
 * not the file. (A default read of a larger file still answers with that limit's message when its first 100 lines are
 * more than the limit.)
 *
 * A line ends at LF; the CR of a CRLF is not shown, a lone CR is an ordinary character, and so are form feed, U+2028
 * and the like. A byte order mark is not shown. The text is the lines joined by LF and nothing else, so that a client
 * can compare it; what comes next is told in the result's _meta as "cloche/page". Only where the caller did not choose
 * a limit (it is the default, 100) and lines remain, or where the answer's own size cut the page short, a last line in
 * brackets tells so to the model.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcp/text.h"
#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/fd.h"
#include "runtime/base/utf8.h"

enum {
	READ_CHUNK = 64 * 1024,
	READ_LIMIT_DEFAULT = 100, /* lines; as in the schema */
	READ_NOTE_MAX = 256,      /* bytes kept free for the last line */
};

/* How far a file is read to find a line or to count them all. At memory speed this takes less than a second. */
static const uint64_t scan_max = UINT64_C(1) << 30;

struct page {
	struct tool_call *call;
	const char *path;
	int64_t first, end; /* lines wanted, from 0; @end is exclusive */
	int64_t line;       /* the line the reader is in */
	int64_t lines;      /* in the whole file, or -1 when it was not read to its end */
	bool within;        /* the reader is behind the beginning of a line */
	struct buf raw;     /* bytes of the wanted lines as they are in the file */
};

enum progress {
	GO_ON,
	ENOUGH, /* the page is complete, and there is at least one byte behind it */
};

/* Takes from the @*len bytes at @*data what belongs to the page or stands before it. */
static enum progress feed(struct page *p, const char **data, size_t *len)
{
	while (*len > 0) {
		if (p->line >= p->end)
			return ENOUGH;
		const char *newline = memchr(*data, '\n', *len);
		size_t n = newline ? (size_t) (newline - *data) + 1 : *len;
		if (p->line >= p->first)
			buf_add(&p->raw, *data, n);
		if (buf_error(&p->raw))
			return ENOUGH;
		p->within = !newline;
		p->line += newline != NULL;
		*data += n;
		*len -= n;
	}
	return GO_ON;
}

static void count(struct page *p, const char *data, size_t len)
{
	const char *end = data + len;

	for (const char *at = data; (at = memchr(at, '\n', (size_t) (end - at))) != NULL; at++)
		p->line++;
	if (len > 0)
		p->within = end[-1] != '\n';
}

/* Fails the call because reading did not go on. */
static int failed(struct page *p, int errnum)
{
	return ws_fail(p->call, "File", p->path, errnum);
}

/*
 * Reads from the beginning until the page is there, then (or, with @only_count, right away) counts lines. 0 or -errno
 * with the call failed. p->lines stays -1 when the file is too long to be read to its end.
 */
static int scan(struct page *p, int fd, bool only_count)
{
	char chunk[READ_CHUNK];
	uint64_t seen = 0;
	bool counting = only_count;

	p->line = 0;
	p->within = false;
	while (seen < scan_max) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t) seen);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(p, errno);
		if (tool_is_cancelled(p->call))
			return failed(p, ECANCELED);
		if (n == 0) {
			p->lines = p->line + p->within;
			return 0;
		}
		const char *data = chunk;
		size_t len = (size_t) n;
		size_t bom = seen == 0 ? utf8_bom_length(data, len) : 0;
		data += bom;
		len -= bom;
		if (!counting && feed(p, &data, &len) == ENOUGH)
			counting = true;
		if (buf_error(&p->raw))
			return 0;
		if (counting)
			count(p, data, len);
		seen += (uint64_t) n;
	}
	return 0;
}

static bool is_binary(int fd)
{
	char probe[TEXT_PROBE];
	ssize_t n = pread(fd, probe, sizeof(probe), 0);

	return n > 0 && text_is_binary(probe, (size_t) n);
}

/* Works out which lines are wanted. 0 or -errno with the call failed. */
static int choose(struct page *p, int fd, int64_t offset, int64_t limit)
{
	if (offset < 0) { /* counted from the end */
		int r = scan(p, fd, true);
		if (r < 0)
			return r;
		if (p->lines < 0) {
			tool_fail(p->call,
				  "File '%s' is too long to count lines from its end. Use a positive offset, or "
				  "run_bash with tail.",
				  ws_show(p->path).s);
			return -EFBIG;
		}
		offset = MAX(p->lines + offset, (int64_t) 0);
	}
	p->first = offset;
	p->end = limit <= 0 || limit > INT64_MAX - offset ? INT64_MAX : offset + limit;
	return 0;
}

/* Turns the wanted bytes into text: line ends become LF, the last one goes, bad UTF-8 and NUL become U+FFFD. */
static void make_text(struct page *p, struct buf *text)
{
	char *out = p->raw.p;
	size_t len = p->raw.len, n = 0;

	for (size_t i = 0; i < len; i++)
		if (!(out[i] == '\r' && i + 1 < len && out[i + 1] == '\n'))
			out[n++] = out[i];
	if (n > 0 && out[n - 1] == '\n')
		n--;
	if (n == 0)
		return;
	const char *from = out, *end = out + n;
	while (from < end) {
		const char *nul = memchr(from, '\0', (size_t) (end - from));
		utf8_repair(text, from, (size_t) ((nul ? nul : end) - from));
		if (!nul)
			break;
		buf_add_str(text, UTF8_REPLACEMENT);
		from = nul + 1;
	}
}

/*
 * Shortens an answer that has become too long for one message to whole lines. Returns the number of lines that are
 * left, or 0 when not even one fits.
 */
static int64_t fit(struct buf *text, size_t max)
{
	const char *first = buf_cstr(text);
	int64_t lines = 0;
	size_t end = 0;

	for (const char *at = first; (at = memchr(at, '\n', max - (size_t) (at - first))) != NULL; at++) {
		end = (size_t) (at - first);
		lines++;
	}
	buf_truncate(text, end);
	return lines;
}

static void add_page_meta(struct page *p, int64_t next)
{
	cJSON *meta = p->call->meta ? p->call->meta : cJSON_CreateObject();
	cJSON *page = cJSON_AddObjectToObject(meta, "cloche/page");

	p->call->meta = meta;
	if (next >= 0)
		(void) cJSON_AddNumberToObject(page, "next_offset", (double) next);
	if (p->lines >= 0)
		(void) cJSON_AddNumberToObject(page, "total_lines", (double) p->lines);
}

static void too_large(struct page *p, const struct stat *st)
{
	long long max = (long long) p->call->config->max_read_bytes;

	if (p->line == p->first)
		tool_fail(p->call,
			  "File '%s' (%lld bytes): line %lld alone exceeds MAX_READ_SIZE_BYTES (%lld). Use run_bash "
			  "with cut, head -c or grep -o to see parts of it.",
			  ws_show(p->path).s, (long long) st->st_size, (long long) p->first + 1, max);
	else
		tool_fail(p->call,
			  "File '%s' (%lld bytes): what is asked for exceeds MAX_READ_SIZE_BYTES (%lld); only %lld "
			  "lines from offset %lld on fit. Use a smaller limit, or run_bash with head or grep.",
			  ws_show(p->path).s, (long long) st->st_size, max, (long long) (p->line - p->first),
			  (long long) p->first);
}

static void answer(struct page *p, int64_t limit)
{
	struct buf *text = &p->call->text;
	size_t max = text->max - READ_NOTE_MAX;
	int64_t end = p->lines >= 0 ? MIN(p->end, p->lines) : p->end;
	bool cut = false;

	_cleanup_buf_ struct buf whole = BUF_INIT(3 * p->raw.len); /* the page may be more than a message holds */
	make_text(p, &whole);
	if (whole.len > max) {
		int64_t lines = fit(&whole, max);
		if (lines == 0) {
			tool_fail(p->call,
				  "File '%s': line %lld alone is too long for one answer. Use run_bash with cut, head "
				  "-c or grep -o to see parts of it.",
				  ws_show(p->path).s, (long long) p->first + 1);
			return;
		}
		end = p->first + lines;
		cut = true;
	}
	buf_add(text, whole.p, whole.len);
	bool more = cut || p->lines < 0 || end < p->lines;
	int64_t shown = MAX(end - p->first, (int64_t) 0);
	add_page_meta(p, more && shown > 0 ? end : -1);
	tool_summary(p->call, "%lld lines returned", (long long) shown);
	if (more && shown > 0 && (cut || limit == READ_LIMIT_DEFAULT)) {
		buf_addf(text, "\n[Lines %lld to %lld of ", (long long) p->first + 1, (long long) end);
		if (p->lines >= 0)
			buf_addf(text, "%lld", (long long) p->lines);
		else
			buf_add_str(text, "a very long file");
		buf_addf(text, " are shown. To go on, call read_file with offset %lld.]", (long long) end);
	}
}

static void run(struct tool_call *call)
{
	const char *path = tool_arg_str(call, "filepath");
	int64_t limit = tool_arg_int(call, "limit"), cap = MAX(call->config->max_read_bytes, (int64_t) 1);
	struct stat st;

	_cleanup_fd_ int fd = ws_open_file(call, path, &st);
	if (fd < 0)
		return;
	if (is_binary(fd)) {
		tool_fail(call,
			  "File '%s' appears to be binary (it has a NUL byte). Use run_bash with file, xxd or strings "
			  "to look at it.",
			  ws_show(path).s);
		return;
	}
	struct page p = { .call = call, .path = path, .lines = -1, .raw = BUF_INIT((size_t) cap) };
	int r = choose(&p, fd, tool_arg_int(call, "offset"), limit);
	p.lines = -1;
	if (r == 0)
		r = scan(&p, fd, false);
	if (r == 0 && buf_error(&p.raw) == -E2BIG)
		too_large(&p, &st);
	else if (r == 0 && buf_error(&p.raw))
		(void) failed(&p, ENOMEM);
	else if (r == 0 && p.lines < 0 && p.line < p.end)
		tool_fail(call,
			  "File '%s': the lines from offset %lld on lie behind the first GiB, which read_file does not "
			  "reach. Use run_bash with tail or sed -n.",
			  ws_show(path).s, (long long) p.first);
	else if (r == 0)
		answer(&p, limit);
	buf_done(&p.raw);
}

const struct mcp_tool tool_read_file = {
	.name = "read_file",
	.title = "Read File",
	.description =
		"Reads lines of a text file in the workspace, by default the first 100. "
		"Use offset and limit to page through longer files: a last line in brackets tells when the default "
		"limit left lines out and which offset comes next. "
		"The text comes without line numbers, exactly as it is in the file (CRLF line ends are shown as LF), "
		"so it can be copied into search_and_replace. "
		"Files of any size can be paged, but one answer holds at most MAX_READ_SIZE_BYTES (1 MiB unless "
		"configured). "
		"Binary files and directories are refused: use run_bash and list_directory for these.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"filepath\":{\"type\":\"string\",\"description\":\"File to read, relative to the workspace, such "
		"as src/main.c.\"},"
		"\"offset\":{\"type\":\"integer\",\"default\":0,\"description\":\"Lines to skip: 0 begins at the "
		"first line, 100 at line 101. A negative number counts from the end: -20 begins 20 lines before it. "
		"Default: 0.\"},"
		"\"limit\":{\"type\":\"integer\",\"default\":100,\"description\":\"Most lines to return; 0 or less "
		"means all up to the end of the file. Default: 100.\"}"
		"},\"required\":[\"filepath\"],\"additionalProperties\":false}",
	.read_only = true,
	.idempotent = true,
	.mode = TOOL_WORKER,
	.run = run,
};
