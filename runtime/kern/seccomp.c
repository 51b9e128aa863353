/*
 * Loads system-call filters: see seccomp.h. Runs in cloche-init (its own filter), in its child between fork and exec (commands),
 * in cloche-mcp's main (the server) and in `cloche doctor` (the probe); needs no privilege but no_new_privs.
 *
 * libseccomp, which knows the calls' numbers, is used by the build and by cloche-compile. Nothing here includes it.
 */
#include "runtime/kern/seccomp.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gen/filter_debug.h"
#include "gen/filter_default.h"
#include "gen/filter_init.h"
#include "gen/filter_server.h"
#include "runtime/base/wall.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

static_assert(ARRAY_LEN(filter_default) <= BPF_MAXINSNS && ARRAY_LEN(filter_default_notify) <= BPF_MAXINSNS,
	      "the kernel takes no longer filter");
static_assert(ARRAY_LEN(filter_server) <= BPF_MAXINSNS, "the kernel takes no longer filter");

#define PROGRAM(name)                                                                                                  \
	{                                                                                                              \
		.plain = (name), .notify = name##_notify, .plain_len = ARRAY_LEN(name),                                \
		.notify_len = ARRAY_LEN(name##_notify)                                                                 \
	}

static const struct seccomp_program builtin[] = {
	[SECCOMP_DEFAULT] = PROGRAM(filter_default),
	[SECCOMP_DEBUG] = PROGRAM(filter_debug),
};

const struct seccomp_program *seccomp_builtin(enum seccomp_builtin which)
{
	return &builtin[which];
}

/* What the system call returns: 0, a listener, or -errno. */
static int seccomp(unsigned int op, unsigned long flags, void *args)
{
	long r = syscall(SYS_seccomp, op, flags, args);

	return r < 0 ? -errno : (int) r;
}

/*
 * Not TSYNC: the callers have one thread. Not SPEC_ALLOW: kernels before 5.16 then keep their speculation barriers for
 * filtered programs, and it is their administrators' choice, not ours, to trade them for speed.
 */
static int load(const struct sock_filter *program, size_t len, unsigned long flags)
{
	struct sock_fprog prog = {
		.len = (unsigned short) len,
		.filter = (struct sock_filter *) (uintptr_t) program, /* the kernel only reads it */
	};

	return seccomp(SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/*
 * From the most to the least wanted. With WAIT_KILLABLE_RECV a signal does not interrupt a call that is being answered (Go
 * sends itself many); before Linux 5.19 it may. When a program around us listens already (EBUSY), or on a kernel before 5.0,
 * denials are only answered.
 */
int seccomp_load_workload(const struct seccomp_program *program, int *ret_listener)
{
	static const unsigned long ways[] = {
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, SECCOMP_FILTER_FLAG_NEW_LISTENER,
	};

	if (ret_listener)
		*ret_listener = -EBADF;
	if (!wall_stands(WALL_SECCOMP))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(ways) && ret_listener; i++) {
		int r = load(program->notify, program->notify_len, ways[i]);
		if (r >= 0) {
			*ret_listener = r;
			return 0;
		}
	}
	return load(program->plain, program->plain_len, 0);
}

int seccomp_load_init(void)
{
	return wall_stands(WALL_SECCOMP_INIT) ? load(filter_init, ARRAY_LEN(filter_init), 0) : 0;
}

int seccomp_load_server(void)
{
	return wall_stands(WALL_SECCOMP_SERVER) ? load(filter_server, ARRAY_LEN(filter_server), 0) : 0;
}

int seccomp_probe(void)
{
	static const uint32_t actions[] = { SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_TRACE, SECCOMP_RET_KILL_PROCESS };

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		uint32_t action = actions[i];
		int r = seccomp(SECCOMP_GET_ACTION_AVAIL, 0, &action);

		if (r < 0)
			return r;
	}

	/* Where filters exist, a filter at address NULL is a bad address; where they do not, a bad operation. */
	int r = seccomp(SECCOMP_SET_MODE_FILTER, 0, NULL);

	return r == -EFAULT ? 0 : r < 0 ? r : -EINVAL;
}
