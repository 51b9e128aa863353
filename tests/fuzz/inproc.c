/*
 * Init and the client's reader inside a fuzz target: see inproc.h. Nothing is ever executed here.
 */
#include "tests/fuzz/inproc.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/out.h"
#include "mcp/scan.h"
#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"
#include "runtime/spec/initmsg.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/workspace.h"

/* --- init --------------------------------------------------------------------------------------------------------- */

static char packet[INITMSG_MAX];

/* Nobody may listen any more. */
static void tell(const struct inproc_init *i, const void *message, size_t len)
{
	int r = fdpass_send(i->source.fd, message, len, NULL, 0);
	(void) r;
}

static void tell_exited(const struct inproc_init *i, uint32_t id, int status, uint32_t killed, bool denied)
{
	struct initmsg_exited m = {
		.head = { INITMSG_EXITED, id },
		.wait_status = status,
		.killed = killed,
		.metrics = { .wall_us = 1000, .memory_peak = 1 << 20, .read_bytes = INITMSG_UNKNOWN, .written_bytes = INITMSG_UNKNOWN,
			     .throttled_us = INITMSG_UNKNOWN, .processes_peak = 1 },
		.sandbox = { .memory = 1 << 30, .cpu_milli = 2000, .pids = 100 },
	};

	if (denied)
		m.denials = (struct initmsg_denials) { .kinds = 1, .others = 3, .rows = { { 99999, 1, 7 } } };
	tell(i, &m, sizeof(m));
}

static void remember(struct inproc_init *i, uint32_t id)
{
	for (size_t k = 0; k < INPROC_COMMANDS; k++)
		if (i->running[k] == 0) {
			i->running[k] = id;
			return;
		}
	fuzz_need(false, "more commands at once than init allows");
}

static void spawn(struct inproc_init *i, uint32_t id, const char *strings, size_t len, int output)
{
	const char *last = strings + len - 1;

	fuzz_need(len > 1 && *last == '\0', "a request whose strings do not end");
	while (last > strings && last[-1] != '\0')
		last--;
	if (strstr(last, "die")) {
		(void) shutdown(i->source.fd, SHUT_RDWR);
		return;
	}
	if (strstr(last, "refuse")) {
		struct initmsg_refused m = { { INITMSG_REFUSED, id }, INITMSG_STEP_EXEC, ENOENT };
		tell(i, &m, sizeof(m));
		return;
	}
	struct initmsg_started started = { { INITMSG_STARTED, id } };
	tell(i, &started, sizeof(started));
	ssize_t n = write(output, last, MIN(strlen(last), (size_t) 4096));
	(void) n;
	if (strstr(last, "hang"))
		return;
	if (strstr(last, "stay"))
		remember(i, id);
	else if (strstr(last, "memory"))
		tell_exited(i, id, SIGKILL, INITMSG_KILLED_MEMORY, false);
	else
		tell_exited(i, id, (int) (strlen(last) % 3) << 8, INITMSG_NOT_KILLED, strstr(last, "denied") != NULL);
}

static void kill_command(struct inproc_init *i, uint32_t id)
{
	for (size_t k = 0; k < INPROC_COMMANDS; k++)
		if (i->running[k] == id) {
			i->running[k] = 0;
			tell_exited(i, id, SIGKILL, INITMSG_KILLED_ON_REQUEST, false);
		}
}

static void init_ready(struct loop_source *source, _unused_ uint32_t events)
{
	struct inproc_init *i = CONTAINER_OF(source, struct inproc_init, source);
	int fds[INITMSG_SPAWN_FDS];
	size_t nfds;
	ssize_t n = fdpass_recv(source->fd, packet, sizeof(packet), fds, INITMSG_SPAWN_FDS, &nfds);
	struct initmsg_spawn m = { .head = { 0 } };

	if (n <= 0) {
		fuzz_need(n == 0 || n == -EAGAIN || n == -ECONNRESET, "a message that init cannot take");
		if (n != -EAGAIN)
			loop_remove(i->loop, source);
		return;
	}
	fuzz_need((size_t) n >= sizeof(m.head), "a message without a head");
	memcpy(&m, packet, MIN((size_t) n, sizeof(m)));
	if (m.head.type == INITMSG_SPAWN) {
		fuzz_need((size_t) n == sizeof(m) + m.strings_size && nfds == INITMSG_SPAWN_FDS, "a request of the wrong size");
		spawn(i, m.head.id, packet + sizeof(m), m.strings_size, fds[1]);
	} else {
		fuzz_need(m.head.type == INITMSG_KILL && (size_t) n == sizeof(struct initmsg_kill), "a message of an unknown kind");
		kill_command(i, m.head.id);
	}
	for (size_t k = 0; k < nfds; k++)
		(void) fd_close(fds[k]);
}

void inproc_init_start(struct inproc_init *i, struct loop *loop, int fd)
{
	*i = (struct inproc_init) { .source = { .fd = fd, .ready = init_ready }, .loop = loop };
	fuzz_need(loop_add(loop, &i->source, EPOLLIN) == 0, "init cannot be watched");
}

/* --- the reader --------------------------------------------------------------------------------------------------- */

static void check_error(const cJSON *error)
{
	static const int codes[] = { -32700, -32600, -32601, -32602, -32603, -32002, -32021, -32022 };
	const cJSON *code = cJSON_GetObjectItemCaseSensitive(error, "code");
	const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
	bool known = false;

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		known = known || (cJSON_IsNumber(code) && code->valueint == codes[i]);
	fuzz_need(known, "an error with an unknown code");
	fuzz_need(message && message[0], "an error without a message");
}

static void check_message(const cJSON *m)
{
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(m, "id"), *error = cJSON_GetObjectItemCaseSensitive(m, "error");
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(m, "result");
	const char *version = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(m, "jsonrpc"));
	const char *method = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(m, "method"));

	fuzz_need(cJSON_IsObject(m) && version && strcmp(version, "2.0") == 0, "a message without jsonrpc 2.0");
	fuzz_need(!id || cJSON_IsString(id) || cJSON_IsNumber(id), "an id that is neither string nor number");
	fuzz_need((method != NULL) + (result != NULL) + (error != NULL) == 1, "a message that is not of exactly one kind");
	fuzz_need(!method || (!id && strncmp(method, "notifications/", 14) == 0), "a request to the client");
	fuzz_need(!result || (id && cJSON_IsObject(result)), "a result without id, or that is no object");
	if (error)
		check_error(error);
}

/* An id or token that is a number of any length goes back as it came, and then this reader comes no further. */
static bool has_long_number(enum scan_result result, const struct scan *scan)
{
	return result == SCAN_SYNTAX && strcmp(scan->problem, "a number has too many digits") == 0;
}

/*
 * Nothing of it may need repair: each reader shall see the one line that was meant. Only ids and tokens go back as they came, with
 * escapes that stand for no character; the pre-scan replaces these by others of the same length.
 */
static void check_line(const char *line, size_t len)
{
	static const char *const line_ends[] = { "\r", "\x7f", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9" };
	struct scan scan;

	fuzz_need(len > 0 && len <= OUT_MESSAGE_MAX, "a line that is empty or too long");
	for (size_t i = 0; i < ARRAY_LEN(line_ends); i++)
		fuzz_need(!memmem(line, len, line_ends[i], strlen(line_ends[i])), "a character that some take for the end of a line");
	fuzz_need(!workspace_tells_secret(line, len), "a file outside the workspace was read");
	enum scan_result result = scan_value(&scan, line, len);
	if (has_long_number(result, &scan)) {
		scan_done(&scan);
		return;
	}
	fuzz_need(result == SCAN_OK, "a line that is no JSON");
	fuzz_need(scan.text.len == len, "a line that needs repair");
	cJSON *tree = cJSON_ParseWithLength(scan.text.p, scan.text.len), *element;
	fuzz_need(tree, "a line that cJSON does not read");
	if (!cJSON_IsArray(tree))
		check_message(tree);
	else
		cJSON_ArrayForEach(element, tree)
			check_message(element);
	cJSON_Delete(tree);
	scan_done(&scan);
}

static void reader_ready(struct loop_source *source, _unused_ uint32_t events)
{
	struct inproc_reader *r = CONTAINER_OF(source, struct inproc_reader, source);

	for (;;) {
		char *to = buf_reserve(&r->line, 65536), *newline;
		fuzz_need(to, "a line without end");
		ssize_t n = recv(source->fd, to, 65536, MSG_DONTWAIT);
		if (n <= 0)
			return;
		r->line.len += (size_t) n;
		while ((newline = memchr(r->line.p, '\n', r->line.len)) != NULL) {
			check_line(r->line.p, (size_t) (newline - r->line.p));
			buf_consume(&r->line, (size_t) (newline - r->line.p) + 1);
			r->messages++;
		}
	}
}

void inproc_reader_start(struct inproc_reader *r, struct loop *loop, int fd)
{
	*r = (struct inproc_reader) { .source = { .fd = fd, .ready = reader_ready }, .line = BUF_INIT(2 * OUT_MESSAGE_MAX) };
	fuzz_need(loop_add(loop, &r->source, EPOLLIN) == 0, "the reader cannot be watched");
}

void inproc_reader_finish(struct inproc_reader *r)
{
	reader_ready(&r->source, 0);
	fuzz_need(r->line.len == 0, "the output ends within a line");
	buf_done(&r->line);
}
