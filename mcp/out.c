/*
 * The one writer of the client's stream: see out.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/utf8.h"

struct out_item {
	struct out_item *next;
	size_t len, written;
	char data[];
};

enum { OUT_FILE_CHUNK = 1024 * 1024 };

static void forget_queue(struct out *o)
{
	while (o->first) {
		struct out_item *item = o->first;
		o->first = item->next;
		free(item);
	}
	o->last = &o->first;
	o->queued = 0;
}

static void close_stream(struct out *o)
{
	o->closed = true;
	loop_remove(o->loop, &o->source);
	forget_queue(o);
}

/* Writes what fits now. Returns the number of bytes, -EAGAIN, or another -errno. */
static ssize_t write_some(struct out *o, const char *data, size_t len)
{
	int fd = o->source.fd;
	ssize_t n = -1;

	do {
		if (o->kind == OUT_SOCKET) {
			n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		} else if (o->kind == OUT_FILE) {
			n = write(fd, data, MIN(len, (size_t) OUT_FILE_CHUNK));
		} else {
			struct pollfd p = { .fd = fd, .events = POLLOUT };
			int ready = poll(&p, 1, 0);
			if (ready == 0)
				return -EAGAIN;
			if (ready > 0)
				n = write(fd, data, MIN(len, (size_t) PIPE_BUF));
		}
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void flush(struct out *o)
{
	while (o->first) {
		struct out_item *item = o->first;
		ssize_t n = write_some(o, item->data + item->written, item->len - item->written);
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			close_stream(o);
			return;
		}
		item->written += (size_t) n;
		o->queued -= (size_t) n;
		if (item->written < item->len)
			continue;
		o->first = item->next;
		if (!o->first)
			o->last = &o->first;
		free(item);
	}
	bool wait = o->first != NULL;
	if (wait == o->waiting)
		return;
	o->waiting = wait;
	if (loop_modify(o->loop, &o->source, wait ? EPOLLOUT : 0) < 0 && wait)
		close_stream(o);
}

static void ready(struct loop_source *source, uint32_t events)
{
	struct out *o = CONTAINER_OF(source, struct out, source);

	if (events & (EPOLLERR | EPOLLHUP))
		close_stream(o);
	else
		flush(o);
}

int out_init(struct out *o, struct loop *loop, int fd)
{
	struct stat st;

	memset(o, 0, sizeof(*o));
	o->loop = loop;
	o->last = &o->first;
	o->source = (struct loop_source) { .fd = fd, .ready = ready };
	if (fstat(fd, &st) < 0)
		return -errno;
	o->kind = S_ISSOCK(st.st_mode) ? OUT_SOCKET : OUT_PIPE;
	int r = loop_add(loop, &o->source, 0);
	if (r == -EPERM) {
		o->kind = OUT_FILE; /* a regular file or /dev/null: never full */
		r = 0;
	}
	return r;
}

void out_done(struct out *o)
{
	if (!o->closed)
		close_stream(o);
}

/* The length of what must not appear as it is at @p and, in *@ret_text, what replaces it; 0 when all is well. */
static size_t unwanted(const char *p, const char *end, size_t *ret_skip, const char **ret_text)
{
	static const struct {
		const char *from, *to;
	} lines[] = {
		{ "\x7f", "\\u007f" },
		{ "\xc2\x85", "\\u0085" },
		{ "\xe2\x80\xa8", "\\u2028" },
		{ "\xe2\x80\xa9", "\\u2029" },
	};
	size_t len = utf8_decode(p, (size_t) (end - p), NULL);

	*ret_text = NULL;
	*ret_skip = MAX(len, (size_t) 1);
	if (len == 0)
		*ret_text = UTF8_REPLACEMENT;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (len > 0 && strlen(lines[i].from) == len && memcmp(p, lines[i].from, len) == 0)
			*ret_text = lines[i].to;
	return *ret_text ? strlen(*ret_text) : 0;
}

/* Copies @len bytes to @to (NULL: only counts) in the form that goes out. Returns the length of that. */
static size_t sanitize(char *to, const char *p, size_t len)
{
	const char *end = p + len;
	size_t n = 0;

	while (p < end) {
		const char *run = p, *text = NULL;
		size_t skip = 0, text_len = 0;
		while (p < end && (unsigned char) *p < 0x7f)
			p++;
		if (p < end)
			text_len = unwanted(p, end, &skip, &text);
		size_t keep = (size_t) (p - run) + (text ? 0 : skip);
		if (to) {
			memcpy(to + n, run, keep);
			if (text)
				memcpy(to + n + keep, text, text_len);
		}
		n += keep + text_len;
		p += skip;
	}
	return n;
}

int out_message(struct out *o, struct buf *json)
{
	int r = buf_error(json);
	size_t len = r < 0 ? 0 : sanitize(NULL, json->p, json->len);

	if (r == 0 && len > OUT_MESSAGE_MAX)
		r = -EMSGSIZE;
	if (r < 0 || o->closed) {
		buf_clear(json);
		return r == -E2BIG ? -EMSGSIZE : r;
	}
	struct out_item *item = malloc(sizeof(*item) + len + 1);
	if (!item) {
		buf_clear(json);
		return -ENOMEM;
	}
	*item = (struct out_item) { .next = NULL, .len = len + 1, .written = 0 };
	(void) sanitize(item->data, json->p, json->len);
	item->data[len] = '\n';
	buf_clear(json);
	*o->last = item;
	o->last = &item->next;
	o->queued += item->len;
	if (!o->waiting)
		flush(o);
	return 0;
}
