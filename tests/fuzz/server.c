/*
 * Fuzz target: a whole server, given a client's stream. Init, the reader and time are those of inproc.h; tools work on a small
 * workspace (workspace.h). What must hold: it ends, each line that goes out is a message that every client reads, nothing of what
 * lies outside the workspace is told, and no memory is left.
 */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/server.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/spec/spec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inproc.h"
#include "tests/fuzz/workspace.h"

enum { STREAM_MAX = 64 * 1024, TURNS_MAX = 10000, OUTPUT_ROOM = 4096 };

static struct server server;
static struct inproc_init init;
static struct inproc_reader reader;

static void make_pair(int type, int pair[2])
{
	fuzz_need(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0, "no pair of sockets");
}

static struct mcp_config config_for(const uint8_t *data, size_t size)
{
	return (struct mcp_config) {
		.root_name = SPEC_WORKSPACE,
		.command_timeout_s = 60,
		.command_timeout_max_s = 3600,
		.max_search_results = 50,
		.max_read_bytes = 64 * 1024,
		.max_write_bytes = 64 * 1024,
		.max_answer_chars = SPEC_ANSWER_CHARS_MIN,
		.log_level = MCP_LOG_OFF,
		.structured_output = size > 0 && data[size - 1] == ' ',
	};
}

/* Calls that were still running at the end are killed: their ends come. */
static void let_calls_end(void)
{
	for (int i = 0; server_busy(&server); i++) {
		fuzz_need(i < TURNS_MAX, "a call does not end");
		(void) initc_tick(&server.initc, INT64_MAX / 2);
		fuzz_need(loop_wait(&server.loop, 1) == 0, "the loop fails");
	}
}

static void serve(int root_fd, const struct mcp_config *config, int input, int output, int init_fd)
{
	const struct facts_files no_files = FACTS_NO_FILES;
	sigset_t signals;

	fuzz_need(server_init(&server, config, &no_files, root_fd, input, output, init_fd) == 0, "the server does not start");
	/* They end the fuzzer, not the server. */
	(void) sigemptyset(&signals);
	(void) sigaddset(&signals, SIGTERM);
	(void) sigaddset(&signals, SIGINT);
	(void) pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int in[2], out[2], control[2];
	int root_fd = workspace_fresh();
	struct mcp_config config = config_for(data, size);

	if (size > STREAM_MAX)
		return 0;
	log_init(MCP_LOG_OFF);
	make_pair(SOCK_STREAM, in);
	make_pair(SOCK_STREAM, out);
	make_pair(SOCK_SEQPACKET, control);
	/* So little that the server has to wait for its reader. */
	fuzz_need(setsockopt(out[0], SOL_SOCKET, SO_SNDBUF, &(int) { OUTPUT_ROOM }, sizeof(int)) == 0, "the output cannot be set");
	fuzz_need(fd_write_all(in[1], data, size) == 0 && shutdown(in[1], SHUT_WR) == 0, "the input cannot be written");
	fuzz_need(fd_set_nonblock(control[1], true) == 0, "init's socket cannot be set");
	inproc_clock_start(&server);
	serve(root_fd, &config, in[0], out[0], control[0]);
	inproc_init_start(&init, &server.loop, control[1]);
	inproc_reader_start(&reader, &server.loop, out[1]);
	int status = server_run(&server);
	fuzz_need(status == 0 || server.initc.gone, "the server fails");
	let_calls_end();
	server_done(&server);
	inproc_reader_finish(&reader);
	for (size_t i = 0; i < 2; i++) {
		(void) fd_close(in[i]);
		(void) fd_close(out[i]);
		(void) fd_close(control[i]);
	}
	return 0;
}
