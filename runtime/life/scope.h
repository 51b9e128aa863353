/*
 * Asks a systemd manager for a transient scope: a cgroup of the sandbox's own, with its controllers delegated to us.
 *
 * The asking is done by cloche-scope, a program of its own, since the library that speaks to the manager is a shared one and cloche is
 * static (docs/decisions/0018). Runs in the launcher. Order: scope_spawn() before the clone, so that the connection is made while
 * the child builds its root; scope_place() with the child's pid; scope_done() always.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/life/scope_socket.h"
#include "runtime/spec/scopemsg.h"

struct scope_request {
	bool system; /* ask the system manager, as real root; else the caller's own manager */
};

struct scope {
	int fd;    /* owned: the socket to cloche-scope, or -EBADF */
	pid_t pid; /* of cloche-scope, a child of ours; 0: none */
	char unit[SCOPEMSG_UNIT_MAX]; /* the scope's name, ours to choose */
	int holder_fd;    /* owned: what keeps the holder (scope_hold) going, or -EBADF */
	pid_t holder_pid; /* a child of ours; 0: none */
	struct scope_request request;
};

#define SCOPE_INIT { .fd = -EBADF, .holder_fd = -EBADF }

/*
 * Whether a manager can be there at all, without asking it: systemd runs this host, there is a socket to ask at, and cloche-scope
 * is installed. 0, or -errno with @err saying what is missing and what to do about it. Costs a few stat(2).
 */
int scope_is_likely(const struct scope_request *request, struct err *err) _must_check_;

/*
 * Starts cloche-scope, which connects to the manager meanwhile. With request->system to be called while still root: the helper keeps
 * that identity. It ends with this process, with its socket, or after SCOPEMSG_LIFE_S. 0, or -errno with @err filled.
 */
int scope_spawn(struct scope *s, const struct scope_request *request, struct err *err) _must_check_;

/* The same with another program in the place of cloche-scope and sockets that were found before; for tests. */
int scope_spawn_program(struct scope *s, const struct scope_request *request, const char *program, const struct scope_sockets *sockets,
			struct err *err) _must_check_;

/*
 * Has @pid, a child of ours that has started no other process yet, moved into a new scope, and waits until it is there, for
 * SCOPEMSG_WAIT_MS and a moment at most. @ret_path gets the scope's cgroup as the kernel tells it in /proc/PID/cgroup: it begins with
 * a slash, has no "..", and ends in the scope's name. 0, or -errno with @err saying why there is none and what to do; then @pid is
 * where it was, or in a scope that ends with it. The helper is over afterwards either way.
 */
int scope_place(struct scope *s, pid_t pid, char *ret_path, size_t size, struct err *err) _must_check_;

/*
 * The same with a process that does nothing, the holder, in place of the sandbox's first one. For real root, which has to make groups
 * in the scope before it gives root up, when there is no sandbox yet. The holder keeps root's identity and leaves at
 * scope_release(), at the latest with this process.
 */
int scope_hold(struct scope *s, char *ret_path, size_t size, struct err *err) _must_check_;

/* Lets the holder go, when others are in the scope. */
void scope_release(struct scope *s);

/* Ends the helper and the holder, and reaps them. A scope stays as long as processes are in it, and needs no removal. */
void scope_done(struct scope *s);
