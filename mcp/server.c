/*
 * One MCP server on one stream: see server.h. Runs in cloche-mcp, without any capability, on the event loop's thread.
 */
#include "mcp/server.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/answer.h"
#include "mcp/batch.h"
#include "mcp/call.h"
#include "mcp/extra.h"
#include "mcp/listen.h"
#include "mcp/log.h"
#include "mcp/method.h"
#include "mcp/offload.h"
#include "mcp/registry.h"
#include "mcp/task.h"
#include "mcp/text.h"
#include "mcp/waiting.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Whether @req has to wait for others to end or for the reader of our output. */
static bool must_wait(const struct server *s, const struct request *req)
{
	if (out_congested(&s->out))
		return true;
	if (!method_is_call(&req->rpc))
		return false;
	return s->call_count >= SERVER_CALLS_MAX || (s->call_count > 0 && s->held > SERVER_HELD_MAX);
}

static bool id_in_use(const struct server *s, const char *id)
{
	return waiting_has(s, id) || call_find(s, id) != NULL || offload_has(s, id) || task_reader_has(s, id) ||
	       subscribe_has(s, id);
}

static void serve_or_queue(struct server *s, struct request *req)
{
	if (!must_wait(s, req) && !(s->waiting && method_is_call(&req->rpc)))
		method_serve(s, req);
	else
		waiting_add(s, req);
}

static void serve_waiting(struct server *s)
{
	while (s->waiting && !must_wait(s, s->waiting))
		method_serve(s, waiting_take(s));
}

/* Answers what is no message; a stream of nothing else is not worth an answer each. */
static void answer_bad(struct server *s, const struct request *req)
{
	if (req->rpc.code == RPC_INVALID_PARAMS || s->bad_lines < SERVER_BAD_LINES_MAX)
		answer_error(s, req, req->rpc.code, req->rpc.problem, NULL);
	else if (s->bad_lines == SERVER_BAD_LINES_MAX)
		log_line(MCP_LOG_WARNING, "%d lines in a row were no messages; further ones are not answered",
			 s->bad_lines);
	if (s->bad_lines <= SERVER_BAD_LINES_MAX)
		s->bad_lines++;
}

static void handle(struct server *s, struct request *req)
{
	switch (req->rpc.kind) {
	case RPC_REQUEST:
		s->bad_lines = 0;
		if (id_in_use(s, req->rpc.id)) {
			/* An answer with this id would settle the request that is running. */
			free(req->rpc.id);
			req->rpc.id = NULL;
			answer_error(s, req, RPC_INVALID_REQUEST,
				     "The id of this request belongs to one that is still running.", NULL);
			break;
		}
		serve_or_queue(s, req);
		return;
	case RPC_NOTIFICATION:
		s->bad_lines = 0;
		method_notify(s, &req->rpc);
		break;
	case RPC_BAD:
		answer_bad(s, req);
		break;
	case RPC_RESPONSE:
		if (extra_response(s, &req->rpc))
			break;
		/* fall through */
	case RPC_SILENT:
		log_line(MCP_LOG_DEBUG, "ignored a message that wants no answer");
		break;
	}
	request_free(s, req);
}

static void handle_line(struct server *s, const char *line, size_t len, struct batch *batch)
{
	struct request *req = request_new(s, batch);

	if (!req)
		return;
	rpc_parse(&req->rpc, line, len);
	s->held += req->rpc.size;
	handle(s, req);
}

static void refuse_line(struct server *s, enum rpc_code code, const char *problem)
{
	struct request *req = request_new(s, NULL);

	if (!req)
		return;
	req->rpc.kind = RPC_BAD;
	req->rpc.code = code;
	text_format(req->rpc.problem, sizeof(req->rpc.problem), "%s", problem);
	handle(s, req);
}

static_assert(SERVER_BATCH_MAX == 100, "a message below names this number");

static void handle_array(struct server *s, const char *line, size_t len)
{
	struct scan_slice slices[SERVER_BATCH_MAX];
	struct scan scan;
	size_t count;
	enum scan_result result = scan_split(&scan, line, len, slices, SERVER_BATCH_MAX, &count);

	if (result == SCAN_SYNTAX)
		return refuse_line(s, RPC_PARSE_ERROR, "This line is not one JSON value.");
	if (result == SCAN_SIZE || count > SERVER_BATCH_MAX)
		return refuse_line(s, RPC_INVALID_REQUEST, "A batch holds at most 100 messages.");
	if (count == 0)
		return refuse_line(s, RPC_INVALID_REQUEST, "A batch must not be empty.");
	if (s->session.version != MCP_2025_03_26)
		return refuse_line(s, RPC_INVALID_REQUEST, "Batches exist in protocol version 2025-03-26 only.");
	struct batch *batch = batch_new(&s->out);
	if (!batch)
		return refuse_line(s, RPC_INTERNAL_ERROR, "Out of memory.");
	for (size_t i = 0; i < count; i++)
		handle_line(s, slices[i].p, slices[i].len, batch);
	batch_unref(batch);
}

static void handle_too_long(struct server *s, const char *head, size_t len)
{
	struct request *req = request_new(s, NULL);

	if (!req)
		return;
	rpc_too_long(&req->rpc, head, len, s->frame.max);
	handle(s, req);
}

/* --- input -------------------------------------------------------------------------------------------------------- */

static bool input_paused(const struct server *s)
{
	return s->waiting_count >= SERVER_WAITING_MAX || (s->waiting && s->held > SERVER_HELD_MAX);
}

static void consume(struct server *s)
{
	while (s->chunk_len > 0 && !input_paused(s) && !s->out.closed) {
		const char *line;
		size_t len;
		enum frame_event event = frame_take(&s->frame, &s->chunk_next, &s->chunk_len, &line, &len);
		if (event == FRAME_MORE)
			return;
		scan_trim(&line, &len);
		if (event == FRAME_TOO_LONG)
			handle_too_long(s, line, len);
		else if (len > 0 && line[0] == '[')
			handle_array(s, line, len);
		else if (len > 0)
			handle_line(s, line, len, NULL);
	}
}

static void watch_input(struct server *s, bool on)
{
	if (s->input_is_file || s->input_watched == on)
		return;
	if (!on)
		loop_remove(&s->loop, &s->input);
	else if (loop_add(&s->loop, &s->input, EPOLLIN) == -EPERM)
		s->input_is_file = true;
	s->input_watched = on && !s->input_is_file;
}

static void stop(struct server *s, const char *why)
{
	if (s->stopping)
		return;
	log_line(MCP_LOG_INFO, "server stopping: %s", why);
	s->stopping = true;
	s->stop_deadline_ms = clock_now_ms() + SERVER_GRACE_MS;
}

static void end_input(struct server *s, const char *why)
{
	watch_input(s, false);
	s->input_open = false;
	stop(s, why);
}

/* Readiness has been seen, so this does not block; a socket shared with others could still disappoint us. */
static ssize_t read_some(int fd, char *to, size_t size)
{
	ssize_t n = recv(fd, to, size, MSG_DONTWAIT);

	return n < 0 && errno == ENOTSOCK ? read(fd, to, size) : n;
}

static void read_input(struct server *s)
{
	if (s->chunk_len > 0 || !s->input_open)
		return;
	ssize_t n = read_some(s->input_fd, s->chunk, SERVER_READ_SIZE);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_input(s, n == 0 ? "end of input" : "the input cannot be read");
		return;
	}
	s->chunk_next = s->chunk;
	s->chunk_len = (size_t) n;
	consume(s);
}

static void input_ready(struct loop_source *source, _unused_ uint32_t events)
{
	read_input(CONTAINER_OF(source, struct server, input));
}

static void signal_ready(struct loop_source *source, _unused_ uint32_t events)
{
	struct server *s = CONTAINER_OF(source, struct server, signals);
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (s->stopping)
		s->stop_deadline_ms = 0; /* asked twice: at once */
	listen_end_all(s, true);
	end_input(s, "asked by a signal");
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

bool server_busy(const struct server *s)
{
	return s->calls || s->offloads || s->subscribe.watcher.busy;
}

static bool over(const struct server *s, int64_t now_ms)
{
	bool idle = !server_busy(s) && !s->waiting && s->chunk_len == 0 && s->out.queued == 0;

	if (s->initc.gone && s->out.queued == 0)
		return true; /* no command ever ends any more, but what was said before is still to be read */
	return s->out.closed || (s->stopping && (idle || now_ms >= s->stop_deadline_ms));
}

/* Does what became possible; returns how long to wait for more, or -1. */
static int64_t tick(struct server *s)
{
	int64_t now_ms = clock_now_ms(), next = MIN(initc_tick(&s->initc, now_ms), call_tick(s, now_ms));

	next = MIN(next, extra_tick(s, now_ms));
	next = MIN(next, task_tick(s, now_ms));
	if (s->initc.gone)
		end_input(s, "the sandbox's init has ended");
	serve_waiting(s);
	consume(s);
	offload_tick(s);
	if (s->stopping && !s->waiting && s->chunk_len == 0)
		task_stop(s);
	next = MIN(next, subscribe_tick(s, now_ms)); /* behind all that subscribes or changes something */
	watch_input(s, s->input_open && !input_paused(s) && s->chunk_len == 0);
	if (s->input_is_file && s->input_open && !input_paused(s)) {
		read_input(s);
		next = 0;
	}
	if (s->stopping)
		next = MIN(next, s->stop_deadline_ms);
	return next == INT64_MAX ? -1 : MAX(next - now_ms, (int64_t) 0);
}

int server_run(struct server *s)
{
	int64_t timeout_ms = tick(s);
	int r = 0;

	while (r == 0 && !over(s, clock_now_ms())) {
		r = loop_wait(&s->loop, timeout_ms);
		timeout_ms = tick(s);
	}
	initc_kill_all(&s->initc);
	offload_stop(s);
	if (s->initc.gone && !s->out.closed) {
		log_line(MCP_LOG_ERROR,
			 "The sandbox's init has ended, and no command can run without it. The server ends as well; start "
			 "it again for a new sandbox.");
		return 1;
	}
	if (r < 0) {
		log_line(MCP_LOG_ERROR, "The server cannot wait for events (errno %d) and ends.", -r);
		return 1;
	}
	return 0;
}

static int watch_signals(struct server *s)
{
	sigset_t set;

	(void) sigemptyset(&set);
	(void) sigaddset(&set, SIGTERM);
	(void) sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	s->signals =
		(struct loop_source) { .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signal_ready };
	return s->signals.fd < 0 ? -errno : loop_add(&s->loop, &s->signals, EPOLLIN);
}

int server_init(struct server *s, const struct mcp_config *config, const struct facts_files *files, int root_fd, int input_fd,
		int output_fd, int init_fd)
{
	memset(s, 0, sizeof(*s));
	s->config = config;
	s->facts_files = *files;
	s->root_fd = root_fd;
	s->input_fd = input_fd;
	s->input = (struct loop_source) { .fd = input_fd, .ready = input_ready };
	s->signals.fd = -EBADF;
	s->input_open = true;
	s->waiting_last = &s->waiting;
	session_init(&s->session);
	frame_init(&s->frame, FRAME_LINE_MAX);
	work_init(&s->work, &s->loop);
	subscribe_init(s);
	s->chunk = malloc(SERVER_READ_SIZE);
	int r = s->chunk ? loop_init(&s->loop) : -ENOMEM;
	if (r == 0)
		r = out_init(&s->out, &s->loop, output_fd);
	if (r == 0)
		r = initc_init(&s->initc, &s->loop, init_fd);
	if (r == 0)
		r = watch_signals(s);
	return r;
}

void server_done(struct server *s)
{
	work_done(&s->work);
	while (s->waiting)
		request_free(s, waiting_take(s));
	extra_done(s);
	task_done(s);
	subscribe_done(s);
	initc_done(&s->initc);
	out_done(&s->out);
	registry_done();
	(void) fd_close(s->signals.fd);
	loop_done(&s->loop);
	frame_done(&s->frame);
	free(s->chunk);
}
