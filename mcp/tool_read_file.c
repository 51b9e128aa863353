/*
 * read_file: some lines of a text file, or a picture. Runs on a worker thread.
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
 *
 * A picture that clients can show to a model goes with the answer, whatever offset and limit say. One that is too large, or
 * not whole, is refused: what the model's provider cannot read may spoil the rest of the conversation.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcp/image.h"
#include "mcp/mime.h"
#include "mcp/text.h"
#include "mcp/tool.h"
#include "mcp/ws.h"
#include "runtime/base/fd.h"
#include "runtime/base/utf8.h"

enum {
	READ_CHUNK = 64 * 1024,
	READ_LIMIT_DEFAULT = 100, /* lines; as in the schema */
	READ_NOTE_MAX = 640,      /* bytes kept free for the last line */
	READ_IMAGE_MAX = 750000,  /* bytes of a picture: a million when encoded */
	READ_IMAGE_SIDE = 2000,   /* pixels */
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

/* Whether the file is binary; then *@ret_picture is the type of the picture that it seems to be, or NULL. */
static bool is_binary(int fd, const char **ret_picture)
{
	char probe[TEXT_PROBE];
	ssize_t n = pread(fd, probe, sizeof(probe), 0);

	*ret_picture = n > 0 ? mime_of_picture(probe, (size_t) n) : NULL;
	return n > 0 && text_is_binary(probe, (size_t) n);
}

#define SMALLER "Make a smaller copy with run_bash, such as with convert -resize (ImageMagick) or Pillow in Python, and read that."

/* Answers with the picture @fd. */
static void show_image(struct tool_call *call, const char *path, int fd, const struct stat *st, const char *type)
{
	long long size = (long long) st->st_size, most = (long long) MIN(call->config->max_read_bytes, (int64_t) READ_IMAGE_MAX);
	_cleanup_buf_ struct buf data = BUF_INIT(READ_IMAGE_MAX + 1); /* the file may have grown */
	struct image image;

	int r = size > most ? -EFBIG : buf_read_fd(&data, fd);
	if (r == -EFBIG && most < READ_IMAGE_MAX)
		tool_fail(call, "File '%s' (%s, %lld bytes) exceeds MAX_READ_SIZE_BYTES (%lld). " SMALLER, ws_show(path).s, type, size, most);
	else if (r == -EFBIG)
		tool_fail(call, "File '%s' (%s) has %lld bytes, but a picture may have %lld. " SMALLER, ws_show(path).s, type, size, most);
	else if (r < 0)
		(void) ws_fail(call, "File", path, -r);
	else if (image_read(data.p, data.len, &image) < 0)
		tool_fail(call, "File '%s' appears to be binary (%s), but is damaged or not complete, so it cannot be shown. Look at it with "
			  "run_bash and file or xxd, or make it again.", ws_show(path).s, type);
	else if (MAX(image.width, image.height) > (uint32_t) READ_IMAGE_SIDE)
		tool_fail(call, "File '%s' (%s) has %u x %u pixels, but a picture may have %d on each side. " SMALLER, ws_show(path).s, type,
			  image.width, image.height, READ_IMAGE_SIDE);
	else {
		call->image_type = image.type;
		call->image = data;
		data = (struct buf) BUF_INIT(0);
		buf_addf(&call->text, "%s, %u x %u pixels, %lld bytes", type, image.width, image.height, (long long) call->image.len);
		tool_summary(call, "picture of %lld bytes returned", (long long) call->image.len);
	}
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
	text_add_repaired(text, out, n);
}

/* Shortens a text that is longer than one answer to whole lines. Returns how many are left, or 0 when not even one fits. */
static int64_t fit(struct buf *text, size_t max)
{
	const char *first = buf_cstr(text);
	int64_t lines = 0;
	size_t end = 0;

	for (const char *at = first; (at = memchr(at, '\n', max - (size_t) (at - first))) != NULL; at++) {
		end = (size_t) (at - first);
		lines++;
	}
	if (lines > 0)
		buf_truncate(text, end);
	return lines;
}

/* Answers with the beginning of a line that is longer than one answer, and says how to get at the rest. */
static void show_part(struct page *p, const struct buf *whole, size_t max)
{
	struct buf *text = &p->call->text;
	const char *line_end = memchr(whole->p, '\n', whole->len);
	size_t line = line_end ? (size_t) (line_end - whole->p) : whole->len, shown = utf8_floor(whole->p, max);
	long long number = (long long) p->first + 1;

	buf_add(text, whole->p, shown);
	buf_addf(text, "\n[Line %lld has %zu bytes; its first %zu are shown.", number, line, shown);
	if (p->lines < 0 || number < p->lines)
		buf_addf(text, " The next line is at offset %lld.", number);
	buf_addf(text, " To see more of this one, call run_bash with: sed -n %lldp ", number);
	text_add_word(text, p->path);
	buf_addf(text, " | cut -b %zu-%zu]", shown + 1, 2 * shown);
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
	size_t max = (size_t) p->call->config->max_answer_chars - READ_NOTE_MAX;
	int64_t end = p->lines >= 0 ? MIN(p->end, p->lines) : p->end, fitting = 0;

	_cleanup_buf_ struct buf whole = BUF_INIT(3 * p->raw.len); /* the page may be more than an answer holds */
	make_text(p, &whole);
	bool cut = whole.len > max;
	if (cut) {
		fitting = fit(&whole, max);
		end = p->first + MAX(fitting, (int64_t) 1);
	}
	bool more = (cut && fitting > 0) || p->lines < 0 || end < p->lines;
	int64_t shown = MAX(end - p->first, (int64_t) 0);
	add_page_meta(p, more && shown > 0 ? end : -1);
	tool_summary(p->call, "%lld lines returned", (long long) shown);
	if (cut && fitting == 0)
		return show_part(p, &whole, max);
	buf_add(text, whole.p, whole.len);
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
	const char *picture;
	if (is_binary(fd, &picture)) {
		if (picture)
			return show_image(call, path, fd, &st, picture);
		return tool_fail(call, "File '%s' appears to be binary (it has a NUL byte). Use run_bash with file, xxd or strings to look at it.",
				 ws_show(path).s);
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
		"Reads lines of a text file in the workspace (the first 100 unless told otherwise), or shows a picture: PNG, JPEG, GIF or WebP. "
		"Text comes without line numbers and just as it is in the file (but CRLF as LF), so it can be copied into search_and_replace. "
		"When the usual limit or the size of an answer leaves lines out, the last line, in brackets, names the offset to go on with. "
		"Other binary files and directories are refused: use run_bash and list_directory.",
	.input_schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"filepath\":{\"type\":\"string\",\"description\":\"File, relative to the workspace, such as src/main.c.\"},"
		"\"offset\":{\"type\":\"integer\",\"default\":0,\"description\":\"Lines to skip: with 100 it begins at line 101. "
		"Negative numbers count from the end: -20 begins 20 lines before it.\"},"
		"\"limit\":{\"type\":\"integer\",\"default\":100,\"description\":\"Most lines to return; 0: all up to the end.\"}"
		"},\"required\":[\"filepath\"],\"additionalProperties\":false}",
	.read_only = true,
	.idempotent = true,
	.mode = TOOL_WORKER,
	.run = run,
};
