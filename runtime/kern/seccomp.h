/*
 * The two built-in system-call filters: one for commands, a much smaller one for the MCP server (docs/seccomp.md).
 *
 * They are programs that gen-filter made of profiles/seccomp/ (see there) while cloche was built, so loading one is
 * a single system call: no library, no allocation, fine between fork and exec. Compiling the rules at start would
 * cost 2.5 to 4 ms; loading the program costs a small fraction of one.
 *
 * The caller has set no_new_privs (prctl(PR_SET_NO_NEW_PRIVS)); without it the kernel answers -EACCES. A filter
 * holds for the calling thread and for everything it starts from then on, and can never be taken off.
 */
#pragma once

#include "runtime/base/attr.h"

/* The filter for commands. The last step before execve(2). 0 or -errno. */
int seccomp_load_workload(void) _must_check_;

/* The filter for cloche-mcp: before its first thread, and when all libraries are loaded. 0 or -errno. */
int seccomp_load_server(void) _must_check_;

/* Whether this kernel can do what the filters need, found out by asking it. 0 or -errno. */
int seccomp_probe(void) _must_check_;
