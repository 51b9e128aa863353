/*
 * The server's surroundings inside the process of a fuzz target: time that passes only while nothing can happen, an init that
 * runs nothing, and a reader that insists on what every client may rely on. All of it lives on the server's own event loop.
 */
#pragma once

#include "mcp/loop.h"
#include "runtime/base/buf.h"

struct server;

enum { INPROC_COMMANDS = 64 };

/*
 * Init: it never executes anything. What happens to a command is told by words in its last argument: "refuse" is refused,
 * "stay" runs until it is killed, "hang" also outlives that, "die" ends init itself, "memory" is killed, "denied" was refused
 * calls; all others print their text and end.
 */
struct inproc_init {
	struct loop_source source;
	struct loop *loop;
	uint32_t running[INPROC_COMMANDS]; /* ids of commands that stay */
};

/* The client's end of the output. */
struct inproc_reader {
	struct loop_source source;
	struct buf line;
	size_t messages;
};

/* @fd: the other end of the server's socket or stream; non-blocking, and the caller's. */
void inproc_init_start(struct inproc_init *i, struct loop *loop, int fd);
void inproc_reader_start(struct inproc_reader *r, struct loop *loop, int fd);

/* Reads what is left. */
void inproc_reader_finish(struct inproc_reader *r);

/* Time and random numbers begin anew for @server: its calls of clock_gettime(2), epoll_wait(2) and getrandom(2) come here. */
void inproc_clock_start(struct server *server);
