/*
 * System-call filters in the kernel: the built-in ones, a user's own, and what a filter says about a call (docs/seccomp.md).
 *
 * The built-in ones are programs that gen-filter made of profiles/seccomp/ while cloche was built; a user's own was made by
 * cloche-compile. Loading one is a single system call: no library, no allocation, fine between fork and exec. Compiling the
 * rules at start would cost 2.5 to 4 ms; loading the program costs a small fraction of one.
 *
 * The caller has set no_new_privs (prctl(PR_SET_NO_NEW_PRIVS)); without it the kernel answers -EACCES. A filter holds for the
 * calling thread and for everything it starts from then on, and can never be taken off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

struct sock_filter;  /* <linux/filter.h> */
struct seccomp_data; /* <linux/seccomp.h> */

/*
 * A filter for commands, in two forms of the same meaning. Where `plain` answers EPERM or EAFNOSUPPORT, `notify` asks the
 * holder of its listener, who answers that errno and can tell the agent why. Pointers are borrowed.
 */
struct seccomp_program {
	const struct sock_filter *plain, *notify;
	uint16_t plain_len, notify_len; /* instructions */
};

enum seccomp_builtin {
	SECCOMP_DEFAULT,
	SECCOMP_DEBUG, /* the default with what debuggers need */
};

/* A built-in filter for commands. Never NULL. */
const struct seccomp_program *seccomp_builtin(enum seccomp_builtin which);

/*
 * Takes the compiled form of a user's own filter apart (runtime/spec/filterform.h): @ret points into @bytes, which are
 * aligned for uint32_t. Every instruction is checked, so that seccomp_judge() needs no more checks. 0, or -EBADMSG.
 */
int seccomp_program_parse(const void *bytes, size_t len, struct seccomp_program *ret) _must_check_;

/*
 * Appends to @out the compiled form of the filter in @bytes (as above) with the floor under it: what no filter of a user
 * opens, except for debuggers with @debug. 0, -EBADMSG, -E2BIG when there are too many instructions, or -ENOMEM.
 */
int seccomp_program_link(const void *bytes, size_t len, bool debug, struct buf *out) _must_check_;

/*
 * Loads @program, as the last step before execve(2). With @ret_listener the `notify` form and its listener (owned by the
 * caller, close-on-exec); where the kernel has no listener for us, the `plain` form and -EBADF. Without it (NULL) the `plain`
 * form. 0 or -errno.
 */
int seccomp_load_workload(const struct seccomp_program *program, int *ret_listener) _must_check_;

/*
 * The verdict (SECCOMP_RET_*) of the `plain` form about the call @data. Bounded, since a program only jumps forward;
 * async-signal-safe.
 */
uint32_t seccomp_judge(const struct seccomp_program *program, const struct seccomp_data *data);

/* Whether @program lets the call @nr pass, with all its arguments 0. */
bool seccomp_allows(const struct seccomp_program *program, uint32_t nr);

/* The filter for cloche-init and everything it starts: a command's own filter comes on top. 0 or -errno. */
int seccomp_load_init(void) _must_check_;

/* The filter for cloche-mcp: before its first thread, and when all libraries are loaded. 0 or -errno. */
int seccomp_load_server(void) _must_check_;

/* Whether this kernel can do what the filters need, found out by asking it. 0 or -errno. */
int seccomp_probe(void) _must_check_;
