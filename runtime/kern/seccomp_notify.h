/*
 * The other end of a workload's filter: hears of each call that the filter refuses, and answers with the errno that the plain
 * filter would have given. The caller of the refused call waits meanwhile, so answer soon.
 *
 * Of a call only what the kernel hands over is looked at, its number and arguments as mere numbers. Nothing is read from the
 * caller's memory and no call is ever let through, so that there is nothing to win by changing anything while we look.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/kern/seccomp.h"

/* What was answered to whom. */
struct seccomp_answer {
	uint32_t nr;     /* of the system call */
	uint32_t errnum; /* positive */
};

/* Makes answers faster where the kernel knows how (6.6). Call it once for a new @listener. */
void seccomp_notify_prepare(int listener);

/*
 * Answers one call that waits on @listener; call it when poll(2) has told of one, and it does not block. 1 with *@ret filled;
 * 0 when the call was given up meanwhile (its caller was killed, or a signal interrupted it: then it is made again); -errno.
 * @program is what the listener's filter was loaded from.
 */
int seccomp_notify_answer(int listener, const struct seccomp_program *program, struct seccomp_answer *ret) _must_check_;

/*
 * Whether this host lets a filter have a listener, found out by loading one that allows everything: for a child that ends at once.
 * Sets no_new_privs. 0 or -errno.
 */
int seccomp_notify_try(void) _must_check_;

/*
 * Whether a process under @program can still send its listener away, with sendmsg(2), and close the door behind itself, with
 * seccomp(2). A user's own filter that refuses one of them must be loaded without a listener: the process would wait for itself.
 */
bool seccomp_notify_is_possible(const struct seccomp_program *program);

/*
 * Once a listener is there: keeps the caller and all that it starts from having one of their own (EBUSY, as the kernel would say
 * anyhow while ours is open). Of two listeners the younger decides, also to let a call through. When a shim is killed, its
 * listener closes a moment before the kernel kills the command: that moment must be worth nothing. 0 or -errno.
 */
int seccomp_notify_guard(void) _must_check_;
